"""What holds for all tests."""

import os

from hypothesis import HealthCheck, settings

# A busy machine is no failure: no assertion is about time, not even hypothesis' own.
settings.register_profile("muster", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("muster")


def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: one more than there are processors, for some tests wait for programs they start."""
    return (os.cpu_count() or 1) + 1
