"""What a profile's status ought to say, and when writing it tells anybody anything."""

import msgspec
import pytest

from classifier import api
from classifier.instant import HOUR, MINUTE, format_instant
from classifier.objects import CapacityProfile, CapacityProfileStatus, Condition, PoolStatus
from classifier.report.profiles import ProfileCondition
from controller.fence import FenceState
from controller.profile_status import Known, fault_to_tell, status_of, tells_more
from tests.builders import T0, profile

IN_FORCE = FenceState(True, "")
DOWN = FenceState(False, "ValidatingAdmissionPolicy muster-fence does not exist; upgrade the chart")
GOOD = ProfileCondition("True", "Verified", "all there")
BAD = ProfileCondition("False", "AdmissionCheckNotFound", "AdmissionCheck capacity does not exist")
UNKNOWN = ProfileCondition("Unknown", "NothingNamed", "the profile names no provisioning")
AGREES = ProfileCondition("False", "NothingDiffers", "nothing contradicts the profile")
FAULT = "ClusterQueue gone does not exist; create it or correct spec.clusterQueues"
NOW = T0 + HOUR


def pool(at: int = NOW, nodes: int = 1) -> PoolStatus:
    return PoolStatus(name="gpupool", nodes=nodes, source="Nodes", observed_at=format_instant(at))


def known(*faults: str, pools: tuple[PoolStatus, ...] = ()) -> Known:
    return Known(AGREES, faults, list(pools))


def status(
    shown: CapacityProfile | None = None,
    provisioning: ProfileCondition = GOOD,
    fence: FenceState = IN_FORCE,
    of: Known | None = None,
    now: int = NOW,
) -> CapacityProfileStatus:
    return status_of(shown or profile().done(), provisioning, fence, of, now)


def condition(of: CapacityProfileStatus, type_: str) -> Condition:
    found = of.condition(type_)
    assert found is not None
    return found


def showing(of: CapacityProfileStatus) -> CapacityProfile:
    """The profile that shows this status, read back from the API server."""
    made = profile()
    made._raw["status"] = msgspec.to_builtins(of)
    return made.done()


@pytest.mark.parametrize(
    ("provisioning", "fence", "faults", "ready", "reason"),
    [
        (GOOD, IN_FORCE, (), "True", "Ready"),
        (UNKNOWN, IN_FORCE, (), "True", "Ready"),
        (BAD, IN_FORCE, (), "False", "AdmissionCheckNotFound"),
        (GOOD, DOWN, (), "False", "FenceNotInForce"),
        (BAD, DOWN, (), "False", "FenceNotInForce"),
        (GOOD, IN_FORCE, (FAULT,), "False", "Misconfigured"),
        (BAD, IN_FORCE, (FAULT,), "False", "Misconfigured"),
        (BAD, DOWN, (FAULT,), "False", "FenceNotInForce"),
    ],
)
def test_ready_needs_the_fence_a_sound_setup_and_what_the_profile_names(
    provisioning: ProfileCondition, fence: FenceState, faults: tuple[str, ...], ready: str, reason: str
) -> None:
    found = status(provisioning=provisioning, fence=fence, of=known(*faults))
    first = condition(found, api.PROFILE_READY)
    assert (first.status, first.reason) == (ready, reason)
    second = condition(found, api.PROVISIONING_READY)
    assert (second.status, second.reason, second.message) == (
        provisioning.status,
        provisioning.reason,
        provisioning.message,
    )
    if not fence.in_force:
        assert fence.reason in (first.message or "")


def test_a_setup_that_cannot_work_says_what_to_change_whatever_else_is_wrong() -> None:
    found = condition(status(fence=DOWN, of=known(FAULT, "second")), api.PROFILE_MISCONFIGURED)
    assert (found.status, found.reason, found.message) == ("True", "Misconfigured", f"{FAULT}; second")
    assert condition(status(of=known()), api.PROFILE_MISCONFIGURED).status == "False"


def test_drift_is_shown_and_makes_nothing_unready() -> None:
    differs = Known(ProfileCondition("True", "PoolsDiffer", "pool gpupool: maxNodes is 2, a says 3"), (), [])
    found = status(of=differs)
    assert condition(found, api.PROFILE_DRIFT).true
    assert condition(found, api.PROFILE_READY).true


def test_a_transition_time_moves_only_with_the_status() -> None:
    found = status(now=NOW + 999)
    assert {c.last_transition_time for c in found.conditions or ()} == {format_instant(NOW)}
    shown = profile().condition(api.PROFILE_READY, True, at=T0).condition(api.PROVISIONING_READY, True, at=T0).done()
    moved = status(shown, ProfileCondition("True", "Other", "other words"), DOWN)
    assert condition(moved, api.PROFILE_READY).last_transition_time == format_instant(NOW)
    provisioning = condition(moved, api.PROVISIONING_READY)
    assert (provisioning.reason, provisioning.last_transition_time) == ("Other", format_instant(T0))


def test_conditions_name_the_generation_they_speak_of() -> None:
    found = status(profile().metadata(generation=7).done(), of=known())
    assert {c.observed_generation for c in found.conditions or ()} == {7}


def test_conditions_of_others_stay() -> None:
    shown = profile().condition("OwnershipConflict", True, "Taken", T0).done()
    assert condition(status(shown, of=known()), "OwnershipConflict").reason == "Taken"


def test_what_the_world_said_stays_while_it_is_not_heard() -> None:
    before = showing(status(of=known(FAULT, pools=(pool(),))))
    after = status(before, now=NOW + HOUR)
    assert after.pools == [pool()]
    assert condition(after, api.PROFILE_MISCONFIGURED).message == FAULT
    assert condition(after, api.PROFILE_DRIFT) == condition(before.status or after, api.PROFILE_DRIFT)


# --- is it worth a write? ------------------------------------------------------------------------------------------


def test_what_was_written_once_is_not_written_again() -> None:
    shown = showing(status(of=known(FAULT, pools=(pool(),))))
    assert not tells_more(shown.status, status(shown, of=known(FAULT, pools=(pool(),)), now=NOW + HOUR))
    assert tells_more(None, status())
    assert not tells_more(showing(status(of=known())).status, status(of=known()))


@pytest.mark.parametrize(("later", "worth"), [(1000, False), (5 * MINUTE - 1000, False), (5 * MINUTE, True)])
def test_a_newer_observation_alone_is_worth_a_write_every_five_minutes(later: int, worth: bool) -> None:
    shown = showing(status(of=known(pools=(pool(),))))
    assert tells_more(shown.status, status(shown, of=known(pools=(pool(NOW + later),)))) is worth


def test_another_figure_is_worth_a_write_at_once() -> None:
    shown = showing(status(of=known(pools=(pool(),))))
    assert tells_more(shown.status, status(shown, of=known(pools=(pool(nodes=2),))))
    assert tells_more(shown.status, status(shown, of=known()))
    assert tells_more(shown.status, status(shown, of=known(FAULT, pools=(pool(),))))


def test_a_fault_is_told_once_and_another_again() -> None:
    sound, broken = status(of=known()), status(of=known(FAULT))
    assert fault_to_tell(None, broken) == FAULT
    assert fault_to_tell(sound, broken) == FAULT
    assert fault_to_tell(broken, broken) is None
    assert fault_to_tell(broken, status(of=known(FAULT, "second"))) == f"{FAULT}; second"
    assert fault_to_tell(broken, sound) is None
    assert fault_to_tell(None, status()) is None
