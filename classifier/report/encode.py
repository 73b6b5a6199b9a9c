"""Reports and findings as JSON: the contract of design §8, with docs/schema/*.json as its schema."""

from typing import Any

import msgspec

from classifier.fit import Verdict
from classifier.instant import format_instant
from classifier.report.audit import Finding
from classifier.report.compose import Report
from classifier.report.deadline import Deadline, go_duration, source_of
from classifier.report.subject import kind_in_api
from classifier.state.observation import Observation


def instant(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The preflight object: every key of the contract is there, null where it says nothing."""
    built: dict[str, Any] = msgspec.to_builtins(verdict)
    return built


def deadline_json(deadline: Deadline) -> dict[str, Any]:
    return {
        "at": instant(deadline.at),
        "startedAt": instant(deadline.started_at),
        "timeout": go_duration(deadline.timeout.millis) if deadline.timeout else None,
        "source": source_of(deadline.timeout) if deadline.timeout else None,
        "committedAt": instant(deadline.committed_at),
    }


def observation_json(observation: Observation) -> dict[str, Any]:
    """The explain object. ``restart`` is J of reference/classification.md §C10."""
    cause, run = observation.cause, observation.execution
    return {
        # A group of pods is no kind of Kubernetes: its name and UID are those of its oldest pod.
        "ref": msgspec.to_builtins(observation.ref) | {"kind": kind_in_api(observation.ref.kind)},
        "state": str(observation.state),
        "adminHeld": observation.admin_held,
        "holdInstance": observation.hold_instance,
        "cause": {"kind": str(cause.kind), "provenance": cause.provenance, "detail": cause.detail},
        "execution": {"admission": run.admission, "restart": run.restart} if run else None,
        "foreign": observation.foreign,
        "submission": observation.submission,
        "seenAt": format_instant(observation.seen_at),
    }


def status_json(report: Report) -> dict[str, Any]:
    """``observation`` is the explain object of the same moment; null where what it rests on may not be read."""
    picture = report.picture
    owner = picture.owner
    return {
        "ref": {"kind": owner.kind, "namespace": owner.namespace, "name": owner.name, "uid": owner.uid},
        "result": str(report.result),
        "phases": [
            {"name": p.name, "state": str(p.state), "since": instant(p.since), "text": p.text} for p in report.phases
        ],
        "preflight": verdict_json(report.verdict) if report.verdict else None,
        "deadline": deadline_json(report.deadline),
        "observation": observation_json(report.observation) if report.observation else None,
        "profiles": [
            {"name": s.profile, "provisioningReady": msgspec.to_builtins(s.provisioning)} for s in report.profiles
        ],
        "pools": [
            {"name": p.name, "nodes": p.nodes, "readyNodes": p.ready, "maxNodes": p.max_nodes, "needed": p.needed}
            for p in report.pools
        ],
        "fence": {"name": picture.fence.name, "state": str(picture.fence.state), "why": picture.fence.why},
        "notes": list(picture.notes),
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "workload": finding.workload,
        "owner": finding.owner,
        "queue": finding.queue,
        "problem": str(finding.problem),
        "since": instant(finding.since),
        "until": instant(finding.until),
        "why": finding.why,
        "advice": finding.advice,
    }
