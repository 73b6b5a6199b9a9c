"""The LimitRanges of one namespace, merged as Kueue merges them (Kueue: ``pkg/util/limitrange``).

Where several name the same default Kueue takes the first of its list, whose order is chance; here it is the smallest,
so that whatever rests on it is true of any order.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from classifier.fit.gang import GangError
from classifier.fit.requests.amounts import Nanos, read
from classifier.objects import LimitRange, LimitRangeItem


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one container, or of one pod, in nano-units."""

    default: Nanos = field(default_factory=dict)
    default_request: Nanos = field(default_factory=dict)
    max: Nanos = field(default_factory=dict)
    min: Nanos = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranges:
    container: Limits = field(default_factory=Limits)
    pod: Limits = field(default_factory=Limits)
    #: Whether every LimitRange of the namespace is among them and could be read.
    known: bool = True


def merged(limit_ranges: Iterable[LimitRange], *, known: bool = True) -> Ranges:
    ranges = Ranges()
    for limit_range in limit_ranges:
        for item in (limit_range.spec.limits if limit_range.spec else None) or ():
            limits = {"Container": ranges.container, "Pod": ranges.pod}.get(item.type)
            if limits is None:
                continue
            try:
                own = _completed(item)
            except GangError:
                known = False  # the API server would not store it: what it does cannot be said
                continue
            _lower(limits.default, own.default)
            _lower(limits.default_request, own.default_request)
            _lower(limits.max, own.max)
            _raise(limits.min, own.min)
    return Ranges(ranges.container, ranges.pod, known)


def _completed(item: LimitRangeItem) -> Limits:
    """As the API server stores it (Kubernetes: SetDefaults_LimitRangeItem). Raises GangError."""
    least, most = read(item.min, "min"), read(item.max, "max")
    default, request = read(item.default, "default"), read(item.default_request, "defaultRequest")
    if item.type == "Container":
        default = most | default
        request = least | default | request
    return Limits(default, request, most, least)


def _lower(total: Nanos, more: Nanos) -> None:
    for resource, nanos in more.items():
        total[resource] = min(total.get(resource, nanos), nanos)


def _raise(total: Nanos, more: Nanos) -> None:
    for resource, nanos in more.items():
        total[resource] = max(total.get(resource, nanos), nanos)
