"""Many worlds, one after the other or on all cores."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tests.soundness.draw import draw
from tests.soundness.laws import Tally, Wrong, wrong
from tests.soundness.smaller import smallest
from tests.soundness.truth import Case

_CHUNK = 500


@dataclass(frozen=True)
class Broken:
    seed: int
    law: Wrong


def judge_all(seeds: Iterable[int]) -> tuple[Tally, list[Broken]]:
    tally, broken = Tally(), []
    for seed in seeds:
        law = wrong(draw(seed), tally)
        if law is not None:
            broken.append(Broken(seed, law))
    return tally, broken


def run(seeds: range, say: Callable[[str], None]) -> tuple[Tally, list[Broken]]:
    """The same on all cores, with progress."""
    total, broken = Tally(), []
    chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
    with ProcessPoolExecutor() as pool:
        for done, (tally, found) in enumerate(pool.map(judge_all, chunks), 1):
            total.add(tally)
            broken += found
            if done % 20 == 0 or found:
                say(f"{total.worlds} of {len(seeds)} worlds, {len(broken)} broken")
    return total, broken


def shown(broken: Broken) -> Iterator[str]:
    """The counterexample, made small."""
    yield f"seed {broken.seed}: {broken.law}"
    yield from lines(smallest(draw(broken.seed), lambda case: _law(case) is broken.law))


def lines(case: Case) -> Iterator[str]:
    yield f"  {case.kind.kind}, groups {case.groups}, provisioned {case.provisioned}"
    yield from (f"  {one}" for one in (*case.podsets, *case.flavors, *case.pools, *case.branches))


def _law(case: Case) -> Wrong | None:
    try:
        return wrong(case)
    except (KeyError, StopIteration, AssertionError, IndexError):
        return None  # something that is left out was needed to say what is meant
