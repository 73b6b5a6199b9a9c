"""``python -m tests.exploration [short] [deep] [walks]``: exit 1, with the history, if a law is broken."""

import argparse
import os
import secrets
import sys
import time
from collections.abc import Mapping

from tests.exploration import walks
from tests.exploration.explore import explore
from tests.exploration.settings import DEEP, SHORT
from tests.exploration.world import Setting


def say(line: str) -> None:
    print(line, flush=True)


def explored(settings: Mapping[str, Setting]) -> bool:
    """Whether all laws hold in every state of every world."""
    good = True
    for name, setting in settings.items():
        left = ", ".join(f"{count} {what}" for what, count in setting.left._asdict().items() if count)
        say(f"{name}: {left}")
        began = time.monotonic()
        found = explore(setting, lambda line: say(f"  {line}"), every=500_000)
        took = time.monotonic() - began
        say(
            f"  all {found.states} states and {found.transitions} transitions visited in {took:.0f} s, "
            f"histories of {found.depth} steps, {found.beyond} ends past attempt {setting.attempts}: "
            f"{found.broken or 'no law is broken'}"
        )
        for line in found.history:
            say(line)
        good = good and found.broken is None
    return good


def walked(count: int, seed: int, processes: int) -> bool:
    say(f"{count} random histories from seed {seed}")
    began = time.monotonic()
    done = walks.run(seed, count, lambda line: say(f"  {line}"), processes)
    took = time.monotonic() - began
    outcome = done.broken or "no law is broken"
    say(f"  {done.histories} histories, {done.steps} steps, {done.commits} decisions in {took:.0f} s: {outcome}")
    for line in done.history:
        say(line)
    return done.broken is None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.exploration",
        description="visit every interleaving of two controllers, Kueue and people within a bound",
    )
    parser.add_argument("parts", nargs="*", choices=["short", "deep", "walks"], help="default: all")
    parser.add_argument("--histories", type=int, default=100_000, help="random ones (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the first; the others follow (default: any)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="for those (default: %(default)s)")
    options = parser.parse_args(arguments)
    parts = options.parts or ["short", "deep", "walks"]
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    good = [
        *([explored(SHORT)] if "short" in parts else []),
        *([walked(options.histories, seed, options.processes)] if "walks" in parts else []),
        *([explored(DEEP)] if "deep" in parts else []),
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
