"""``python -m tests.fuzz [graphs|reviews] [--seed N] [--count N] [--replay FILE]``: exit 1 if a law is broken, and how
to see it again."""

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.fuzz import reviews
from tests.fuzz.run import broken, make, run
from tests.fuzz.shrink import smallest
from tests.graphs.graph import Graph
from tests.graphs.heap import Heap
from tests.reviews.odd import body


def say(line: str) -> None:
    print(line, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="classify random graphs of objects, or have odd reviews answered"
    )
    parser.add_argument("what", nargs="?", choices=("graphs", "reviews"), default="graphs")
    parser.add_argument("--seed", type=int, help="of the first; the others follow (default: any)")
    parser.add_argument("--count", type=int, default=100_000, help="how many (default: %(default)s)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="a reproduction, instead of random graphs")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        return replay(options.replay)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    say(f"seed {seed}, {options.count} {options.what}")
    seeds = range(seed, seed + options.count)
    if options.what == "reviews":
        return odd_reviews(seeds)
    failure = run(seeds, say)
    if failure is None:
        return 0
    say(f"seed {failure.seed} breaks a law: {failure.why[:2000]}")
    say("looking for a smaller one")
    reproduction = Path(tempfile.gettempdir()) / f"muster-fuzz-{failure.what}-{failure.seed}.json"
    small = smallest(make(failure.what, failure.seed))
    reproduction.write_bytes(msgspec.json.format(msgspec.json.encode(small)))
    found = broken(small)
    say(f"{found}"[:2000])
    say(f"reproduction: {reproduction}")
    say(f"  python -m tests.fuzz --replay {reproduction}")
    say(f"  python -m tests.fuzz --seed {failure.seed} --count 1")
    return 1


def odd_reviews(seeds: range) -> int:
    failure = reviews.run(seeds, say)
    if failure is None:
        return 0
    say(f"seed {failure.seed}, {failure.what}: {failure.why[:2000]}")
    say(f"{body(failure.seed)[:4000]!r}")
    say(f"  python -m tests.fuzz reviews --seed {failure.seed} --count 1")
    return 1


def replay(file: Path) -> int:
    raw = file.read_bytes()
    made: Graph | Heap
    made = msgspec.json.decode(raw, type=Heap if b'"documents"' in raw else Graph)
    found = broken(made)
    say(f"{found or 'no law is broken'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
