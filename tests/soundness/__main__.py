"""``python -m tests.soundness [--count N] [--seed S]``: exit 1 if a verdict is refuted, with the world made small."""

import argparse
import secrets
import sys

from tests.soundness.draw import draw
from tests.soundness.laws import verdict_of
from tests.soundness.run import run, shown


def say(line: str) -> None:
    print(line, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soundness",
        description="hold verdicts on random small worlds against an exhaustive search",
    )
    parser.add_argument("--count", type=int, default=100_000, help="worlds (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the first; the others follow (default: any)")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    say(f"seed {seed}, {options.count} worlds")
    tally, broken = run(range(seed, seed + options.count), say)
    say(f"{tally}")
    for one in broken[:5]:
        say(verdict_of(draw(one.seed)).line)
        for line in shown(one):
            say(line)
    if len(broken) > 5:
        say(f"and {len(broken) - 5} more: seeds {', '.join(str(one.seed) for one in broken[5:25])}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
