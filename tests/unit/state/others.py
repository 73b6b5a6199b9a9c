"""Jobs of any kind, as few words as they need, and what is said of one."""

from typing import Any

import msgspec

from classifier.objects import Job, JobSet, Meta, Pod, PodGroup, RayCluster, Workload
from classifier.state import Case, Mode, Observation, Settings, classify
from classifier.state.kinds import KINDS
from classifier.state.kinds.podgroup import VIEW as POD_GROUP
from tests.builders import T0


def observe(job: Meta, *others: Any, mode: Mode = Mode.PLAIN, nodes: Any = None) -> Observation:
    """Of a job of any kind, with its children, Workloads and pods."""
    view = POD_GROUP if isinstance(job, PodGroup) else next(v for v in KINDS.values() if v.type_ is type(job))
    case = Case(
        job=job,
        view=view,
        children=tuple(o for o in others if isinstance(o, Job | JobSet | RayCluster)),
        workloads=tuple(o for o in others if isinstance(o, Workload)),
        pods=tuple(o for o in others if isinstance(o, Pod)),
        nodes=nodes,
    )
    return classify(case, Settings(mode=mode), T0)


def of(type_: Any, name: str = "a", uid: str = "u1", spec: Any = None, status: Any = None, **meta: Any) -> Any:
    raw = {"metadata": {"name": name, "namespace": "ns", "uid": uid} | meta, "spec": spec or {}, "status": status or {}}
    return msgspec.convert(raw, type_)


def condition(type_: str, status: str = "True", reason: str = "Why", message: str = "") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def owned(uid: str, controller: bool = True, kind: str = "RayJob") -> list[dict[str, Any]]:
    return [{"apiVersion": "x/v1", "kind": kind, "name": "a", "uid": uid, "controller": controller}]
