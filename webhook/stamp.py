"""The annotations of a job that is created. Pure: object, world and instant in, JSON Patch out.

A patch that does not apply rejects the job even where the webhook fails open (reference/engineering.md §0.6), and the
API server may ask about our own output again (``reinvocationPolicy: IfNeeded``). So the patch is a function of what the
object shows: it always applies, and asked again with our stamps in place it is empty.

Ours or copied? A manifest saved with ``kubectl get -o yaml`` and created anew carries the stamps of its former life,
and nothing in a review tells it from a re-invocation (the object has no uid yet, each call has its own). What does is
time: a re-invocation comes within the one API request, which ends after 60 s at most, so a ``submitted-at`` within
:data:`FRESH` of now is kept and anything else replaced. Should somebody copy a manifest faster than that, its deadline
shows at most that much too early; the bound that is enforced is counted by the controller and not from here.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from classifier import api
from classifier.fit import Outcome, Verdict
from classifier.instant import SECOND, format_instant, instant_or_none
from classifier.objects import Meta
from classifier.policy import Timeout
from webhook.template import Operation, have_room, surely_room, token

#: Milliseconds. Also forgives replicas whose clocks differ by a second: a stamp may come from the near future.
FRESH: Final = 60 * SECOND

#: Annotation values are part of an object of at most 1.5 MiB; a verdict's reason carries names, so it is cut.
VALUE_LIMIT: Final = 1024

#: Everything Muster says about a job. What of it is not said now must not be there: it speaks of another object.
STAMPS: Final = (
    api.SUBMITTED_AT,
    api.ADMISSION_DEADLINE,
    api.CAPACITY_PROFILE,
    api.PREFLIGHT,
    api.ADMISSION_COUNT,
)
_OURS: Final = tuple(dict.fromkeys((*STAMPS, *api.PROTECTED_KEYS)))
_AMONG_OURS: Final = frozenset(_OURS)

#: Of a job that is counted and was not started yet. The webhook configuration knows by the key whom to ask about.
NOT_STARTED: Final = "0"


def wanted(
    current: Mapping[str, str],
    *,
    timeout: Timeout | None,
    profiles: tuple[str, ...],
    verdict: Verdict | None,
    now: int,
    counted: bool = False,
) -> dict[str, str]:
    """The stamps of a job with ``current`` annotations: none where neither a profile nor a timeout touches it.

    ``counted``: its starts are to be counted (``webhook.starts``).
    """
    if timeout is None and not profiles:
        return {}
    submitted = _fresh(current, now) or now // SECOND * SECOND
    stamps = {api.SUBMITTED_AT: _instant(submitted)}
    if timeout is not None:
        stamps[api.ADMISSION_DEADLINE] = _instant(submitted + timeout.millis)
    if profiles:
        stamps[api.CAPACITY_PROFILE] = (verdict.profile if verdict else None) or ", ".join(profiles)
        if verdict is not None and verdict.outcome is not Outcome.SKIPPED:
            stamps[api.PREFLIGHT] = verdict.annotation[:VALUE_LIMIT]
    if counted:
        stamps[api.ADMISSION_COUNT] = NOT_STARTED
    return stamps


def kept(current: Mapping[str, str], now: int) -> dict[str, str]:
    """The stamps to leave in place where nothing can be decided: those of this very request, not a former life's."""
    return {key: current[key] for key in STAMPS if key in current} if _fresh(current, now) else {}


def _fresh(current: Mapping[str, str], now: int) -> int | None:
    """When the object was submitted, if its stamps were made within this request."""
    found = instant_or_none(current.get(api.SUBMITTED_AT))
    return found if found is not None and abs(now - found) <= FRESH else None


def strip(obj: Meta) -> tuple[Operation, ...]:
    """JSON Patch that takes off what only the controller may say, of a job that is not ours to stamp."""
    return tuple({"op": "remove", "path": _path(key)} for key in api.PROTECTED_KEYS if obj.annotation(key) is not None)


def patch(obj: Meta, stamps: Mapping[str, str]) -> tuple[Operation, ...]:
    """JSON Patch that leaves exactly ``stamps`` of our keys on the object, and everything else alone."""
    metadata = obj.metadata
    if not metadata.name and not metadata.generate_name:
        # The API server refuses it later; and without a name there may be no metadata to patch.
        return ()
    current = metadata.annotations
    if current is None:
        return ({"op": "add", "path": "/metadata/annotations", "value": dict(stamps)},) if stamps else ()
    if not surely_room(current, stamps) and not have_room(
        {key: value for key, value in current.items() if key not in _AMONG_OURS}, stamps
    ):
        # No stamp is worth the job.
        stamps = {}
    removed = (
        [{"op": "remove", "path": _path(key)} for key in _OURS if key in current and key not in stamps]
        if not _AMONG_OURS.isdisjoint(current)
        else ()
    )
    added = [
        {"op": "add", "path": _path(key), "value": value} for key, value in stamps.items() if current.get(key) != value
    ]
    return (*removed, *added)


@lru_cache(maxsize=64)
def _path(key: str) -> str:
    return "/metadata/annotations/" + token(key)


@lru_cache(maxsize=64)
def _instant(at: int) -> str:
    """Jobs that come in one second share it."""
    # A Go duration reaches 292 years, a datetime the year 9999: both are "never" to whoever waits.
    return format_instant(min(at, _LAST))


_LAST: Final = 253_402_300_799 * SECOND
