"""Verdicts as they are printed: one in full, several as a table, and as data."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from classifier import api
from classifier.cli.output import table
from classifier.cluster.snapshot import Snapshot
from classifier.fit import Outcome, PodSetVerdict, Verdict
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    Meta,
    PodGroup,
    ProvisioningRequestConfig,
)
from classifier.report import provisioning_ready
from classifier.report.encode import verdict_json
from classifier.report.screen import profile_line
from classifier.scope import queue_of
from classifier.state.kinds.podgroup import group_name

_PODSETS = ("PODSET", "COUNT", "VERDICT", "BINDING", "POOL", "FLAVOR", "RESOURCE", "NEEDS", "LIMIT", "SOURCE")


class Judged(NamedTuple):
    job: Meta
    verdict: Verdict


def data(judged: Sequence[Judged]) -> Any:
    """The contract (docs/schema/preflight.json): one object, or a list of several."""
    found = [{"ref": _ref(job), **verdict_json(verdict)} for job, verdict in judged]
    return found[0] if len(found) == 1 else found


def lines(judged: Sequence[Judged], snapshot: Snapshot, *, wide: bool) -> Iterator[str]:
    yield from _profile_lines(judged, snapshot)
    if len(judged) == 1:
        yield from _in_full(judged[0].verdict, wide=wide)
    else:
        yield from _table(judged, wide=wide)


def _ref(job: Meta) -> dict[str, str]:
    name = job.name or f"{job.metadata.generate_name}*"
    if isinstance(job, PodGroup):
        # No kind of Kubernetes, but what a file of its pods is about; its name is what they share.
        return {"kind": "PodGroup", "namespace": job.namespace, "name": group_name(job) or name, "uid": ""}
    return {"kind": job.kind or "", "namespace": job.namespace, "name": name, "uid": job.uid}


def _in_full(verdict: Verdict, *, wide: bool) -> Iterator[str]:
    yield verdict.line
    if verdict.reason not in verdict.line:
        yield f"  {verdict.reason}"
    if verdict.advice and verdict.advice not in verdict.line:
        yield f"  tip: {verdict.advice}"
    for warning in verdict.warnings:
        if warning.removesuffix("…") not in verdict.line:
            yield f"  warning: {warning}"
    if wide and verdict.pod_sets:
        rows = [
            [_cell(v) for v in (p.name, p.count, p.verdict, p.binding, p.pool, p.flavor, p.resource)]
            + [_cell(v) for v in (p.needs, p.limit, p.source)]
            for p in verdict.pod_sets
        ]
        yield from table(_PODSETS, rows)


def _table(judged: Sequence[Judged], *, wide: bool) -> list[str]:
    """A line each; with ``wide`` also which podset binds, where, and by which number."""
    more = ("QUEUE", "PROFILE", "PODSET", "BINDING", "NEEDS", "LIMIT", "SOURCE") if wide else ()
    rows = []
    for job, verdict in judged:
        ref = _ref(job)
        row = [ref["namespace"], ref["kind"], ref["name"], str(verdict.outcome)]
        if wide:
            one = _binding(verdict)
            row += [queue_of(job) or "-", verdict.profile or "-"]
            row += [_cell(value) for value in _of(one)]
        rows.append([*row, _why(verdict)])
    return table(("NAMESPACE", "KIND", "NAME", "VERDICT", *more, "WHY"), rows)


def _binding(verdict: Verdict) -> PodSetVerdict | None:
    """The podset that decided, the largest of several; None where only all of them together did."""
    deciding = [p for p in verdict.pod_sets if p.verdict is verdict.outcome]
    return max(deciding, key=lambda p: p.needs if isinstance(p.needs, int) else 0, default=None)


def _of(one: PodSetVerdict | None) -> tuple[object, ...]:
    return (one.name, one.binding, one.needs, one.limit, one.source) if one is not None else (None,) * 5


def _why(verdict: Verdict) -> str:
    advice = verdict.advice if verdict.outcome in (Outcome.NEVER_FITS, Outcome.MISCONFIGURED) else None
    return f"{verdict.reason}; {advice}" if advice and advice not in verdict.reason else verdict.reason


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _profile_lines(judged: Sequence[Judged], snapshot: Snapshot) -> Iterator[str]:
    profiles = snapshot.of(api.CAPACITY_PROFILES, CapacityProfile)
    names = dict.fromkeys(n.strip() for _, v in judged if v.profile for n in v.profile.split(","))
    for name in names:
        if name in profiles:
            yield profile_line(
                name,
                provisioning_ready(
                    profiles[name],
                    snapshot.readable(api.ADMISSION_CHECKS, AdmissionCheck),
                    snapshot.readable(api.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig),
                    snapshot.of(api.CLUSTER_QUEUES, ClusterQueue).values(),
                ),
            )
