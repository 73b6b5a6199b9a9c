"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# A busy machine is no failure: no assertion is about time, not even hypothesis' own.
settings.register_profile("muster", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("muster")
