"""What the status of a CapacityProfile ought to be, and whether writing it would tell anybody anything. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from classifier import api
from classifier.instant import MINUTE, SECOND, format_instant, instant_or_none
from classifier.objects import CapacityProfile, CapacityProfileStatus, Condition, PoolStatus
from classifier.report.profiles import ProfileCondition
from controller.fence import FenceState

#: A newer ``observedAt`` alone is worth a write this often, ms.
REFRESH: Final = 5 * MINUTE

#: What the API server takes (charts/muster/templates/crd/_status.tpl): for one text or figure beyond it the whole
#: status would be refused, again and again. Others write what these are made of: names of queues, messages of checks.
MESSAGE_LIMIT: Final = 32768
COUNT_LIMIT: Final = 2**31 - 1


@dataclass(frozen=True)
class Known:
    """What the world says of one profile."""

    drift: ProfileCondition
    #: What is wrong with how it is set up, each naming the object to change.
    faults: Sequence[str]
    pools: list[PoolStatus]


def status_of(
    profile: CapacityProfile, provisioning: ProfileCondition, fence: FenceState, known: Known | None, now: int
) -> CapacityProfileStatus:
    """The status a profile ought to show. ``known`` None: what it shows of the world stays as it is.

    Transition times are kept where a condition's status is the same, and conditions of types that are not ours too.
    """
    faults = "; ".join(known.faults) if known is not None else None
    wanted = [(api.PROFILE_READY, _ready(provisioning, fence, faults)), (api.PROVISIONING_READY, provisioning)]
    if known is not None:
        wanted += [(api.PROFILE_DRIFT, known.drift), (api.PROFILE_MISCONFIGURED, _misconfigured(faults))]
    shown = profile.status or CapacityProfileStatus()
    ours = {type_ for type_, _ in wanted}
    return CapacityProfileStatus(
        conditions=[
            *(_condition(profile, type_, condition, now) for type_, condition in wanted),
            *(condition for condition in shown.conditions or () if condition.type not in ours),
        ],
        pools=[_storable(pool) for pool in known.pools] if known is not None else shown.pools,
    )


def tells_more(shown: CapacityProfileStatus | None, wanted: CapacityProfileStatus) -> bool:
    """Whether a person would see a difference; the time of an unchanged observation is none for a while."""
    if shown is None or (shown.conditions or []) != (wanted.conditions or []):
        return True
    before, after = shown.pools or [], wanted.pools or []
    if [_timeless(pool) for pool in before] != [_timeless(pool) for pool in after]:
        return True
    return any(
        (instant_or_none(new.observed_at) or 0) - (instant_or_none(old.observed_at) or 0) >= REFRESH
        for old, new in zip(before, after, strict=True)
    )


def fault_to_tell(shown: CapacityProfileStatus | None, wanted: CapacityProfileStatus) -> str | None:
    """The faults of the setup, where they are others than those that are shown."""
    new = wanted.condition(api.PROFILE_MISCONFIGURED)
    old = shown.condition(api.PROFILE_MISCONFIGURED) if shown else None
    if new is None or not new.true or (old is not None and old.true and old.message == new.message):
        return None
    return new.message


def _ready(provisioning: ProfileCondition, fence: FenceState, faults: str | None) -> ProfileCondition:
    """The fence first: the command line reads here whether deadlines are enforced at all."""
    if not fence.in_force:
        return ProfileCondition("False", "FenceNotInForce", f"deadlines are reported, not enforced: {fence.reason}")
    if faults:
        return _misconfigured(faults, "False")
    if provisioning.status == "False":
        return ProfileCondition("False", provisioning.reason, provisioning.message)
    return ProfileCondition("True", "Ready", "jobs are preflighted and deadlines enforced")


def _misconfigured(faults: str | None, status: str = "True") -> ProfileCondition:
    if not faults:
        return ProfileCondition("False", "SetupSound", "profile, flavor and queues fit together")
    return ProfileCondition(status, "Misconfigured", faults)


def _condition(profile: CapacityProfile, type_: str, wanted: ProfileCondition, now: int) -> Condition:
    old = profile.status.condition(type_) if profile.status else None
    since = old.last_transition_time if old is not None and old.status == wanted.status else None
    return Condition(
        type=type_,
        status=wanted.status,
        reason=wanted.reason,
        message=_cut(wanted.message),
        last_transition_time=since or format_instant(now // SECOND * SECOND),
        observed_generation=profile.metadata.generation,
    )


def _cut(text: str) -> str:
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"


def _storable(pool: PoolStatus) -> PoolStatus:
    counts = {name: getattr(pool, name) for name in ("nodes", "ready_nodes", "target_nodes", "max_nodes")}
    capped = {name: COUNT_LIMIT for name, count in counts.items() if count is not None and count > COUNT_LIMIT}
    return msgspec.structs.replace(pool, **capped) if capped else pool


def _timeless(pool: PoolStatus) -> PoolStatus:
    return msgspec.structs.replace(pool, observed_at=None)
