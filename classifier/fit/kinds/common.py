"""What the kinds share: counts as the API server takes them, and podsets as Kueue names them."""

from typing import Final

from classifier.fit.gang import GangError, Podset
from classifier.fit.kinds.topology import topology_asked
from classifier.objects import PodTemplate

MAX_INT32: Final = 2**31 - 1
#: Of a Workload (Kueue: pkg/controller/jobframework/constants.go).
MAX_PODSETS: Final = 18


def count_of(value: int | None, field: str, default: int = 1, of: str = "") -> int:
    """A count, or ``default``, which is what the API server puts where there is none. Raises GangError naming it: by
    ``of`` and ``field``, which are put together for no other reason."""
    if value is None:
        return default
    if value < 0:
        raise GangError(f"{of}{field} is {value}, less than 0")
    if value > MAX_INT32:
        raise GangError(f"{of}{field} is {value}, more than {MAX_INT32}")
    return value


def product(one: int, other: int, field: str) -> int:
    """So many pods of ``field``. Raises GangError where Kueue could not count them."""
    return count_of(one * other, field, of="the number of pods of ")


def pods_of_job(parallelism: int | None, completions: int | None, field: str = "spec") -> int:
    """Pods a batch Job runs at once: ``parallelism``, 1 if absent, limited by ``completions``."""
    wanted = 1 if parallelism is None else parallelism
    ends = wanted if completions is None else completions
    if not (0 <= wanted <= MAX_INT32 and 0 <= ends <= MAX_INT32):
        count_of(wanted, ".parallelism", of=field)
        count_of(ends, ".completions", of=field)
    return ends if ends < wanted else wanted


def podset(
    name: str,
    count: int,
    template: PodTemplate | None,
    namespace: str,
    path: str | None,
    *,
    min_count: int | None = None,
    least: int | None = None,
    stage: int = 0,
    counted: PodTemplate | None = None,
) -> Podset:
    """As Kueue makes it: its name in lower case, its topology from the template (Kueue: NewPodSetReference)."""
    found = template or PodTemplate()
    annotations = found.metadata.annotations if found.metadata else None
    topology = topology_asked(annotations) if annotations else None
    least_counted = count if min_count is None else min_count
    at = path if template is not None else None
    return Podset(name.lower(), count, least_counted, found, namespace, at, least, topology, counted, None, stage)


def few_enough(podsets: int, field: str) -> None:
    """Raises GangError where they are more than a Workload may have."""
    if podsets > MAX_PODSETS:
        raise GangError(f"{field} has {podsets} podsets, more than the {MAX_PODSETS} of a Workload")


def gang(podsets: list[Podset], field: str) -> list[Podset]:
    """All of a gang, which come from ``field``. Raises GangError where Kueue could make no Workload of them."""
    if not podsets:
        raise GangError(f"{field} has no pods")
    few_enough(len(podsets), field)
    names = [podset.name for podset in podsets]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise GangError(f"{field} has two podsets of name {twice!r}")
    if not all(names):
        raise GangError(f"{field} has a podset without a name")
    return podsets
