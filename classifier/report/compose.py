"""``report``: an observation, a verdict and the time become phases (design §6)."""

from enum import StrEnum

import msgspec

from classifier import api
from classifier.clock import committed
from classifier.fit import Verdict
from classifier.report.capacity import capacity
from classifier.report.deadline import Deadline, deadline_of
from classifier.report.observation import Observation
from classifier.report.phase import Phase, State
from classifier.report.pools import PoolCount, count_pools
from classifier.report.profiles import ProvisioningReady, provisioning_ready
from classifier.report.scheduling import nodes_placed, running, scheduling
from classifier.report.submitted import deactivated, quota, submitted


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
    observation: Observation
    verdict: Verdict | None
    result: Result
    profiles: tuple[ProfileState, ...]
    phases: tuple[Phase, ...]
    deadline: Deadline
    pools: tuple[PoolCount, ...]


def report(obs: Observation, verdict: Verdict | None, now: int) -> Report:
    """Pure. ``verdict`` None: there is no preflight to show."""
    deadline = deadline_of(obs.owner.meta, obs.workload, obs.policies, now)
    pools = count_pools(verdict, obs.profiles, obs.nodes)
    phases = (
        submitted(obs),
        quota(obs, deadline, now),
        capacity(obs, pools, deadline, nodes_placed(obs), now),
        scheduling(obs, now),
        running(obs),
    )
    queues = (obs.cluster_queue,) if obs.cluster_queue else ()
    profiles = tuple(ProfileState(p.name, provisioning_ready(p, obs.checks, obs.configs, queues)) for p in obs.profiles)
    return Report(
        now=now,
        observation=obs,
        verdict=verdict,
        result=_result(obs, phases),
        profiles=profiles,
        phases=phases,
        deadline=deadline,
        pools=pools,
    )


def _result(obs: Observation, phases: tuple[Phase, ...]) -> Result:
    if obs.owner.finish is not None:
        return Result.SUCCEEDED if obs.owner.finish.succeeded else Result.FAILED
    workload = obs.workload
    if workload is not None and committed(workload) is not None:
        return Result.TIMED_OUT
    stopped = deactivated(obs)
    if stopped is not None:
        return Result.FAILED if stopped[0] is State.FAILED else Result.WAITING
    started = workload.is_true(api.ADMITTED) if workload is not None else not obs.owner.suspended
    return Result.STARTED if started and phases[-1].state is State.ACTIVE else Result.WAITING
