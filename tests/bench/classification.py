"""Classifying one TrainJob with 512 pods, as it runs and as it failed, beside decoding the same pods."""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from classifier.objects import JobSet, Node, Pod, TrainJob, Workload
from classifier.state import Mode, Settings, classify
from classifier.state.case import Case
from classifier.state.kinds import view_for
from tests.bench import Figure, Say
from tests.bench.pods import pod

PODS: Final = 512
ROUNDS: Final = 50
#: Milliseconds for one classification.
BAR: Final = 5.0


def run(say: Say) -> Iterator[Figure]:
    for mode in Mode:
        for name, exit_code, condition in (("running", None, None), ("failed in every pod", 1, "Failed")):
            raw = msgspec.json.encode([pod(index, exit_code=exit_code) for index in range(PODS)])
            decoder = msgspec.json.Decoder(list[Pod])
            case = _case(decoder.decode(raw), condition)
            settings = Settings(mode=mode)
            decoding = _millis(partial(decoder.decode, raw))
            classifying = _millis(partial(classify, case, settings, 0))
            label = f"classify {PODS} pods, {name}, {mode} mode"
            median = statistics.median(classifying)
            yield Figure(f"{label}: median of {ROUNDS}", median, "ms", most=BAR)
            yield Figure(f"{label}: worst", max(classifying), "ms")
            yield Figure(f"{label}: median", median / statistics.median(decoding), "", "their decode")


def _case(pods: list[Pod], condition: str | None) -> Case:
    owner = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "train-3", "uid": "tj-1"}
    controlled = {"namespace": "team", "ownerReferences": [owner | {"controller": True}]}
    conditions: list[dict[str, Any]] = []
    if condition:
        conditions = [{"type": condition, "status": "True", "reason": "FailedJobs", "message": "jobset failed"}]
    job = msgspec.convert(
        {
            "apiVersion": owner["apiVersion"],
            "kind": "TrainJob",
            "metadata": {"name": "train-3", "namespace": "team", "uid": "tj-1"},
            "status": {"conditions": conditions},
        },
        TrainJob,
    )
    jobset = msgspec.convert({"kind": "JobSet", "metadata": {"name": "train-3", "uid": "js-1"} | controlled}, JobSet)
    admitted = [{"type": type_, "status": "True"} for type_ in ("QuotaReserved", "Admitted")]
    workload = msgspec.convert(
        {"metadata": {"name": "trainjob-train-3", "uid": "wl-1"} | controlled, "status": {"conditions": admitted}},
        Workload,
    )
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    nodes = {f"n{n}": msgspec.convert({"metadata": {"name": f"n{n}"}} | ready, Node) for n in range(64)}
    view = view_for(job)
    if view is None:
        raise LookupError("TrainJob has no view")
    return Case(
        job=job, view=view, children=(jobset,), workloads=(workload,), pods=tuple(pods), captured=(), nodes=nodes
    )


def _millis(call: Callable[[], object]) -> list[float]:
    """CPU time of each round: what else the machine does is no matter here."""
    call()
    found = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        call()
        found.append((time.thread_time() - began) * 1000)
    return found
