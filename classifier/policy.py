"""How long a job may wait for admission: the first source that says so, capped by the smallest maximum (design §3);
and how long it stays after its wait was ended.

Pure. A value that is no duration is skipped with a warning that names the object, the key and the value: a typo in a
policy must neither end a job early nor pass in silence. Nor may it delete a job: there it ends the search.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from classifier import api
from classifier.instant import format_duration, parse_duration
from classifier.objects import CapacityProfile, ClusterQueue, LocalQueue, Meta, Namespace

#: Where a timeout came from, for people: ``job``, ``LocalQueue/gpu``, ``CapacityProfile/gpu-a100-8``, ``default``.
JOB_SOURCE = "job"
DEFAULT_SOURCE = "default"
#: ``spec.admission.requeue`` of a profile that bounds a gang again after its start; otherwise it says None.
RESTART = "Restart"


class Timeout(NamedTuple):
    """A bound on the wait for admission. ``millis`` is after the cap."""

    millis: int
    source: str
    capped_by: str | None = None


class Resolved(NamedTuple):
    """``timeout`` is None where nothing bounds the wait."""

    timeout: Timeout | None
    warnings: tuple[str, ...] = ()


class Ttl(NamedTuple):
    """After the end of its wait a job is deleted. ``millis`` is at least the minimum."""

    millis: int
    source: str


class ResolvedTtl(NamedTuple):
    """``ttl`` is None where nothing is ever deleted."""

    ttl: Ttl | None
    warnings: tuple[str, ...] = ()


class Policies(msgspec.Struct, frozen=True):
    """Everything that may speak about one job's wait, besides the job itself. ``default``s are milliseconds."""

    local_queue: LocalQueue | None = None
    cluster_queue: ClusterQueue | None = None
    profiles: tuple[CapacityProfile, ...] = ()
    namespace: Namespace | None = None
    default: int | None = None
    max_default: int | None = None


class _Said(NamedTuple):
    source: str
    field: str
    text: str


def profiles_for(
    cluster_queue: ClusterQueue | None, profiles: Iterable[CapacityProfile]
) -> tuple[CapacityProfile, ...]:
    """The profiles that speak for a ClusterQueue, by name."""
    if cluster_queue is None:
        return ()
    return tuple(sorted((p for p in profiles if p.applies_to(cluster_queue)), key=lambda profile: profile.name))


def _annotated(objects: Iterable[tuple[str, Meta | None]], key: str) -> Iterator[_Said]:
    for kind, obj in objects:
        text = obj.annotation(key) if obj else None
        if obj is not None and text is not None:
            yield _Said(f"{kind}/{obj.name}", key, text)


def timeout_of(annotations: Mapping[str, str] | None, policies: Policies) -> Resolved:
    """The bound of one job: its request, LocalQueue, ClusterQueue, profile, Namespace, default; then the caps."""
    warnings: list[str] = []

    def read(said: Iterable[_Said]) -> list[Timeout]:
        found = []
        for source, field, text in said:
            try:
                found.append(Timeout(parse_duration(text), source))
            except ValueError as error:
                warnings.append(f"{source}: {field}: {error}; ignored")
        return found

    profiles = [(f"CapacityProfile/{p.name}", p.spec.admission) for p in policies.profiles if p.spec.admission]
    queues: list[tuple[str, Meta | None]] = [
        ("LocalQueue", policies.local_queue),
        ("ClusterQueue", policies.cluster_queue),
    ]
    namespace: list[tuple[str, Meta | None]] = [("Namespace", policies.namespace)]
    request = (annotations or {}).get(api.ADMISSION_TIMEOUT)
    asked = [_Said(JOB_SOURCE, api.ADMISSION_TIMEOUT, request)] if request is not None else []

    candidates = (
        read(asked),
        read(_annotated(queues[:1], api.ADMISSION_TIMEOUT)),
        read(_annotated(queues[1:], api.ADMISSION_TIMEOUT)),
        read(_Said(name, "spec.admission.timeout", a.timeout) for name, a in profiles if a.timeout is not None),
        read(_annotated(namespace, api.ADMISSION_TIMEOUT)),
        [] if policies.default is None else [Timeout(policies.default, DEFAULT_SOURCE)],
    )
    caps = (
        read(_annotated([*queues, *namespace], api.MAX_ADMISSION_TIMEOUT))
        + read(
            _Said(name, "spec.admission.maxTimeout", a.max_timeout) for name, a in profiles if a.max_timeout is not None
        )
        + ([] if policies.max_default is None else [Timeout(policies.max_default, DEFAULT_SOURCE)])
    )
    chosen = next((min(level) for level in candidates if level), None)
    if chosen is not None and caps:
        cap = min(caps)
        if cap.millis < chosen.millis:
            chosen = Timeout(cap.millis, chosen.source, cap.source)
    return Resolved(chosen, tuple(warnings))


def restarts(policies: Policies) -> bool:
    """Whether a gang that had started is bounded again once it is back in the queue (``requeue: Restart``).

    Where several profiles of the queue have an admission policy, all of them have to say so: in doubt it is not.
    """
    said = [p.spec.admission.requeue == RESTART for p in policies.profiles if p.spec.admission is not None]
    return bool(said) and all(said)


def scheduled_by(policies: Policies) -> Resolved:
    """How long after its admission a gang's pods may lack nodes before that is told: the smallest of its profiles."""
    found: list[Timeout] = []
    warnings: list[str] = []
    for profile in policies.profiles:
        text = profile.spec.admission.scheduled_by if profile.spec.admission else None
        if text is None:
            continue
        source = f"CapacityProfile/{profile.name}"
        try:
            found.append(Timeout(parse_duration(text), source))
        except ValueError as error:
            warnings.append(f"{source}: spec.admission.scheduledBy: {error}; ignored")
    return Resolved(min(found, default=None), tuple(warnings))


def ttl_of(policies: Policies, minimum: int) -> ResolvedTtl:
    """When a job is deleted after its wait was ended: LocalQueue, ClusterQueue, profiles, Namespace; no default.

    The first level that says something decides, and in doubt nothing is deleted, or later: of several profiles the
    longest holds, and a level with a value that cannot be read deletes nothing, whatever comes after it. Less than
    ``minimum`` (ms) is raised to it.
    """
    levels: list[list[_Said]] = [
        list(_annotated([(kind, obj)], api.TTL_AFTER_TIMEOUT))
        for kind, obj in (("LocalQueue", policies.local_queue), ("ClusterQueue", policies.cluster_queue))
    ]
    levels.append(
        [
            _Said(f"CapacityProfile/{p.name}", "spec.admission.ttlAfterTimeout", p.spec.admission.ttl_after_timeout)
            for p in policies.profiles
            if p.spec.admission and p.spec.admission.ttl_after_timeout is not None
        ]
    )
    levels.append(list(_annotated([("Namespace", policies.namespace)], api.TTL_AFTER_TIMEOUT)))
    said = next((level for level in levels if level), [])
    found: list[Ttl] = []
    warnings: list[str] = []
    for source, field, text in said:
        try:
            millis = parse_duration(text)
        except ValueError as error:
            warnings.append(f"{source}: {field}: {error}; nothing is deleted")
            continue
        if millis < minimum:
            least = format_duration(minimum)
            warnings.append(f"{source}: {field}: {text!r} is raised to the minimum; set it to {least} or more")
        found.append(Ttl(max(millis, minimum), source))
    complete = bool(said) and len(found) == len(said)
    return ResolvedTtl(max(found) if complete else None, tuple(warnings))
