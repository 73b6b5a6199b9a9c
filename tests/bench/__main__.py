"""``python -m tests.bench [NAME ...]``: run the benches, print their figures, exit 1 if a bar is missed."""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Final

from tests.bench import Figure, Say, classification, evidence, finding, memory, preflight, reviews, scale, soak

BENCHES: Final[dict[str, Callable[[Say], Iterator[Figure]]]] = {
    "classification": classification.run,
    "evidence": evidence.run,
    "finding": finding.run,
    "memory": memory.run,
    "preflight": preflight.run,
    "reviews": reviews.run,
    "scale": scale.run,
    "soak": soak.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; default: all")
    names = parser.parse_args().names or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    missed = 0
    for name in names:
        _say(f"bench {name}")
        for figure in BENCHES[name](_say):
            missed += not figure.met
            print(_line(figure), flush=True)
    if missed:
        _say(f"{missed} figure(s) above their bar")
    return 1 if missed else 0


def _line(figure: Figure) -> str:
    bar = "" if figure.most is None else f"   bar {figure.most:g}: {'met' if figure.met else 'MISSED'}"
    against = f" x {figure.against}" if figure.against else ""
    return f"  {figure.name:<66} {figure.value:>12.3f} {figure.unit}{against}{bar}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
