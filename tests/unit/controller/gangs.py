"""Gangs of pods, and a RayJob, as Kueue leaves them: for the tests of the engine."""

from typing import Any

from classifier import api, clock
from classifier.clock import Ledger
from classifier.instant import HOUR, MINUTE, format_instant
from classifier.objects import Pod
from tests.builders import Builder, WorkloadBuilder, workload
from tests.unit.controller.inmemory import Cluster, now

GROUP = "kueue.x-k8s.io/pod-group-name"
GANG = api.WORKLOADS.path("team", "gang")
GATE = {"name": "kueue.x-k8s.io/admission"}
RAY = api.RAY_JOBS.path("team", "ray")
RAY_WORKLOAD = api.WORKLOADS.path("team", "rayjob-ray")


def pod(name: str, group: str = "gang", created: int = 0) -> Builder[Pod]:
    """A gated pod of a group, as Kueue leaves it when it is created."""
    builder = Builder(Pod, api.PODS, name, "team").label("kueue.x-k8s.io/managed", "true").created(created)
    builder.spec["schedulingGates"] = [GATE]
    return builder.label(GROUP, group) if group else builder


def gang(*names: str, name: str = "gang") -> WorkloadBuilder:
    """The Workload Kueue makes of these pods."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": each, "uid": f"uid-of-{each}"} for each in names]
    return workload(name).metadata(ownerReferences=owners).annotate("kueue.x-k8s.io/is-group-workload", "true")


def ledger(name: str, origin: int, **fields: Any) -> str:
    return clock.format_ledger(Ledger(f"uid-of-{name}", origin, **fields))


def at(name: str) -> str:
    return api.PODS.path("team", name)


def waiting(cluster: Cluster, *names: str) -> None:
    """A gang whose bound of 30 min ran out half an hour ago; all is announced."""
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    for name in names:
        builder = pod(name, created=since).annotate(api.ADMISSION_CLOCK, ledger(name, since))
        cluster.put(at(name), builder.annotate(api.ADMISSION_DEADLINE, deadline).raw())
    cluster.put(GANG, gang(*names).created(since).annotate(api.ADMISSION_DEADLINE, deadline).raw())


def mirrors(cluster: Cluster, *names: str) -> set[str | None]:
    return {cluster.annotations(at(name)).get(api.ADMISSION_OUTCOME_OF) for name in names}


def ray(cluster: Cluster, **spec: Any) -> None:
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    job = Builder(Pod, api.RAY_JOBS, "ray", "team").created(since).annotate(api.ADMISSION_CLOCK, ledger("ray", since))
    job.spec.update({"suspend": True, **spec})
    cluster.put(RAY, job.annotate(api.ADMISSION_DEADLINE, deadline).raw())
    its = workload("rayjob-ray").made_of("RayJob", "ray.io/v1", "ray").created(since)
    cluster.put(RAY_WORKLOAD, its.annotate(api.ADMISSION_DEADLINE, deadline).raw())
