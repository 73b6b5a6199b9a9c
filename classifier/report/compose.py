"""``report``: a picture, a verdict and the time become phases (design §6)."""

from enum import StrEnum

import msgspec

from classifier import api
from classifier.clock import committed
from classifier.fit import Verdict
from classifier.report.capacity import capacity
from classifier.report.deadline import Deadline, deadline_of
from classifier.report.phase import Phase, State
from classifier.report.picture import Picture
from classifier.report.pools import PoolCount, count_pools
from classifier.report.profiles import ProvisioningReady, provisioning_ready
from classifier.report.scheduling import nodes_placed, running, scheduling
from classifier.report.submitted import deactivated, quota, submitted
from classifier.state.observation import Observation


class Result(StrEnum):
    """How far the job is, in one word: what ``muster status -w`` waits for and exits by."""

    WAITING = "waiting"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed-out"


class ProfileState(msgspec.Struct, frozen=True):
    profile: str
    provisioning: ProvisioningReady


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to say about one job at ``now`` (milliseconds)."""

    now: int
    picture: Picture
    verdict: Verdict | None
    result: Result
    profiles: tuple[ProfileState, ...]
    phases: tuple[Phase, ...]
    deadline: Deadline
    pools: tuple[PoolCount, ...]
    #: The classification; None where what it rests on may not be read.
    observation: Observation | None = None


def report(picture: Picture, verdict: Verdict | None, now: int, observation: Observation | None = None) -> Report:
    """Pure. ``verdict`` None: there is no preflight to show."""
    deadline = deadline_of(picture.owner.meta, picture.workload, picture.policies, now)
    pools = count_pools(verdict, picture.profiles, picture.nodes, picture.sources, now)
    phases = (
        submitted(picture),
        quota(picture, deadline, now),
        capacity(picture, pools, deadline, nodes_placed(picture), now),
        scheduling(picture, now),
        running(picture),
    )
    queues = (picture.cluster_queue,) if picture.cluster_queue else ()
    profiles = tuple(
        ProfileState(p.name, provisioning_ready(p, picture.checks, picture.configs, queues)) for p in picture.profiles
    )
    return Report(
        now=now,
        picture=picture,
        verdict=verdict,
        result=_result(picture, phases),
        profiles=profiles,
        phases=phases,
        deadline=deadline,
        pools=pools,
        observation=observation,
    )


def _result(picture: Picture, phases: tuple[Phase, ...]) -> Result:
    if picture.owner.finish is not None:
        return Result.SUCCEEDED if picture.owner.finish.succeeded else Result.FAILED
    workload = picture.workload
    if workload is not None and committed(workload) is not None:
        return Result.TIMED_OUT
    stopped = deactivated(picture)
    if stopped is not None:
        return Result.FAILED if stopped[0] is State.FAILED else Result.WAITING
    started = workload.is_true(api.ADMITTED) if workload is not None else not picture.owner.suspended
    return Result.STARTED if started and phases[-1].state is State.ACTIVE else Result.WAITING
