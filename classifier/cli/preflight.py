"""``muster preflight -f FILE``: can these gangs ever run here?"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from classifier import api
from classifier.cli.aside import aside
from classifier.cli.connect import connect, namespace_of
from classifier.cli.errors import CliError, Exit
from classifier.cli.manifests import Manifests, read_manifests
from classifier.cli.options import (
    Subcommands,
    add_common,
    add_config_maps,
    add_files,
    check_source,
    clock,
    config_maps,
)
from classifier.cli.output import say, say_data, warn
from classifier.cli.progress import telling
from classifier.cli.verdicts import Judged, data, lines
from classifier.cluster.files import load
from classifier.cluster.reader import Reader
from classifier.cluster.snapshot import Snapshot
from classifier.cluster.world import assumed, verdict_on, world_of
from classifier.fit import Outcome
from classifier.objects import CapacityProfile, LocalQueue, Meta
from classifier.scope import queue_of

DESCRIPTION = """Whether gangs can ever run here: not whether there is room now, but whether quota and pools can hold
them at all.

Judged is whatever is of a kind that Kueue queues, and whatever else names a queue; the other documents of the files
are ignored. Pods of one group are one gang. Of one object the verdict is told in full, of several a line each. What
cannot be read is said on stderr, and the rest is judged all the same."""
EPILOG = """examples:
  muster preflight -f job.yaml
  muster preflight -f manifests/ --with world/ -o wide
  kustomize build overlays/prod | muster preflight -f - -o json

exit codes, the worst of all objects: 0 fits, or is not judged; 4 unknown; 5 misconfigured; 3 never fits; 1 a document
cannot be read, or the cluster cannot be reached; 2 usage"""

_CODES: Final = {
    Outcome.FITS: Exit.OK,
    Outcome.FITS_AFTER_SCALE_UP: Exit.OK,
    Outcome.SKIPPED: Exit.OK,
    Outcome.UNKNOWN: Exit.UNKNOWN,
    Outcome.MISCONFIGURED: Exit.MISCONFIGURED,
    Outcome.NEVER_FITS: Exit.FOUND,
}
#: From fine to worst: of several objects the worst decides the exit code.
_WORSE: Final = (Exit.OK, Exit.UNKNOWN, Exit.MISCONFIGURED, Exit.FOUND, Exit.UNREADABLE)


def add(commands: Subcommands) -> None:
    parser = commands.add_parser(
        "preflight",
        help="can these gangs ever run here?",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-f",
        "--filename",
        dest="jobs",
        action="append",
        required=True,
        metavar="FILE",
        help="what is to be judged: a file, a folder or -; may be repeated",
    )
    add_common(parser)
    add_files(parser, "--with")
    add_config_maps(parser)
    parser.set_defaults(run=run, parser=parser)


async def run(arguments: argparse.Namespace) -> int:
    namespace = namespace_of(arguments)
    check_source(arguments)
    if "-" in arguments.jobs and "-" in arguments.world:
        raise CliError("standard input can be the job or the world, not both; put one into a file", Exit.USAGE)
    async with telling("reading files"):
        found = await aside(partial(read_manifests, arguments.jobs, namespace))
    for fault in found.faults:
        warn(fault)
    if not found.gangs:
        if found.faults:
            return Exit.UNREADABLE
        raise CliError(
            f"{', '.join(arguments.jobs)}: no job in it: nothing of a kind that Kueue queues, or with the label "
            f"{api.QUEUE_NAME}"
        )
    where = config_maps(arguments)
    if arguments.world:
        async with telling("reading files"):
            snapshot = await aside(partial(load, arguments.world, namespace))
        snapshot.notes += _left_out(snapshot, found.gangs, arguments)
        now = clock(arguments)()
    else:
        async with await connect(arguments) as client, telling(f"reading from {client.host}"):
            reader = Reader(client, where)
            await reader.world(_queues(found.gangs))
            snapshot, now = reader.snapshot, clock(arguments, client.time.now)()
    if snapshot.of(api.CAPACITY_PROFILES, CapacityProfile):
        snapshot.notes += assumed(snapshot, where, files=bool(arguments.world))
    world = world_of(snapshot, where)
    async with telling(f"judging {len(found.gangs)} objects"):
        judged = await aside(lambda: [Judged(gang, verdict_on(snapshot, world, gang, now)) for gang in found.gangs])
    for note in snapshot.notes:
        warn(note)
    if arguments.output in ("json", "yaml"):
        say_data(data(judged), arguments.output)
    else:
        say(lines(judged, snapshot, wide=arguments.output == "wide"))
    if len(judged) + len(found.faults) > 1:
        warn(_summary(judged, found))
    codes = [_CODES[verdict.outcome] for _, verdict in judged]
    return max([*codes, *([Exit.UNREADABLE] if found.faults else [])], key=_WORSE.index)


def _summary(judged: Sequence[Judged], found: Manifests) -> str:
    """``12 objects judged, 3 skipped, 40 other documents ignored``."""
    skipped = sum(verdict.outcome is Outcome.SKIPPED for _, verdict in judged)
    counts = [
        (len(judged) - skipped, "object judged", "objects judged"),
        (skipped, "skipped", "skipped"),
        (len(found.faults), "not read", "not read"),
        (found.ignored, "other document ignored", "other documents ignored"),
    ]
    return ", ".join(f"{n} {one if n == 1 else many}" for i, (n, one, many) in enumerate(counts) if n or i == 0)


def _left_out(snapshot: Snapshot, jobs: list[Meta], arguments: argparse.Namespace) -> Iterator[str]:
    """What files may well lack, and then change the answer without a sign of it."""
    if not snapshot.of(api.CAPACITY_PROFILES, CapacityProfile):
        yield "there is no CapacityProfile in these files, so nothing can be judged; add them to the dump"
    if not arguments.namespace:
        spaces = {q.namespace for q in snapshot.of(api.LOCAL_QUEUES, LocalQueue).values()}
        for job in jobs:
            if job.namespace == "default" and spaces and "default" not in spaces:
                name = job.name or f"{job.metadata.generate_name}*"
                yield f"{job.kind} {name} is taken to be in namespace default; choose another with -n"


def _queues(jobs: list[Meta]) -> dict[str, set[str]]:
    queues: dict[str, set[str]] = defaultdict(set)
    for job in jobs:
        queues[job.namespace] |= {queue_of(job)} - {""}
    return queues
