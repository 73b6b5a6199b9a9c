"""``muster status KIND/NAME [-w]``: the phases of one job."""

import argparse
from functools import partial

from classifier import api
from classifier.cli.aside import aside
from classifier.cli.classified import classified
from classifier.cli.connect import connect, namespace_of
from classifier.cli.errors import CliError, Exit, UsageError
from classifier.cli.options import (
    Subcommands,
    add_common,
    add_config_maps,
    add_fence,
    add_files,
    check_source,
    clock,
    config_maps,
)
from classifier.cli.output import say, say_data
from classifier.cli.target import parse_target
from classifier.cli.watch import follow
from classifier.cluster.configmaps import USUAL, ConfigMaps
from classifier.cluster.files import load
from classifier.cluster.reader import Reader
from classifier.cluster.snapshot import Snapshot
from classifier.cluster.world import fence_in, observe, verdict_on, world_of
from classifier.fit.facts import Sources
from classifier.objects import Job
from classifier.report import Owner, Report, owner_of, report
from classifier.report.encode import status_json
from classifier.report.screen import lines

DESCRIPTION = """What a job is waiting for: the verdict of preflight as queues and pools are now, the phases of its
start, each with what says so, its deadline, and the nodes of its pools."""
EPILOG = """examples:
  muster status job/train
  muster status job/train -w
  muster status job/train -f dump.yaml --now 2026-11-29T10:00:00Z

exit codes: 0 told; 1 there is no such job, or it cannot be read; 2 usage; with -w: 0 started or succeeded, 6 its
admission timed out, 7 failed, 8 deleted"""


def add(commands: Subcommands) -> None:
    parser = commands.add_parser(
        "status",
        help="what a job is waiting for, since when and until when",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="+", metavar="KIND/NAME", help="for example job/train")
    parser.add_argument("-w", "--watch", action="store_true", help="follow the job to its end")
    add_common(parser)
    add_files(parser, "-f", "--filename", "--with")
    add_fence(parser)
    add_config_maps(parser)
    parser.set_defaults(run=run, parser=parser)


async def run(arguments: argparse.Namespace) -> int:
    _, name = parse_target(arguments.target)
    namespace = namespace_of(arguments)
    check_source(arguments)
    where = config_maps(arguments)
    if arguments.world:
        if arguments.watch:
            raise UsageError("-w follows a cluster, and files do not change; leave it out")
        snapshot = await aside(partial(load, arguments.world, namespace))
        job = _find(snapshot, name, arguments.namespace)
        show(build(snapshot, owner_of(job), clock(arguments)(), arguments.fence, where), arguments.output)
        return Exit.OK
    async with await connect(arguments) as client:
        now = clock(arguments, client.time.now)
        if arguments.watch:
            return await follow(client, namespace, name, arguments.output, arguments.fence, now, where)
        reader = Reader(client, where)
        owner = await reader.job(namespace, name, arguments.fence)
        if owner is None:
            raise CliError(f"there is no Job {namespace}/{name}; see kubectl get jobs -n {namespace}")
        show(build(reader.snapshot, owner, now(), arguments.fence, where), arguments.output)
    return Exit.OK


def build(snapshot: Snapshot, owner: Owner, now: int, fence: str, where: ConfigMaps = USUAL) -> Report:
    """The report on one job of a snapshot."""
    world = world_of(snapshot, where)
    verdict = verdict_on(snapshot, world, owner.meta, now)
    picture = observe(snapshot, owner, now, fence=fence_in(snapshot, now, fence), sources=Sources(world))
    return report(picture, verdict, now, classified(snapshot, owner.meta, now))


def show(result: Report, form: str | None) -> None:
    if form in ("json", "yaml"):
        say_data(status_json(result), form)
    else:
        say(lines(result, wide=form == "wide"))


def _find(snapshot: Snapshot, name: str, namespace: str | None) -> Job:
    """The Job of that name in these files, wherever it is unless the namespace is given. Raises CliError."""
    found = [j for j in snapshot.of(api.JOBS, Job).values() if j.name == name and namespace in (None, j.namespace)]
    if not found:
        where = f"{namespace}/{name} in these files; see -n" if namespace else f"{name} in these files; add it to them"
        raise CliError(f"there is no Job {where}")
    if len(found) > 1:
        raise CliError(f"these files hold several Jobs {name}, {', '.join(j.key for j in found)}; choose with -n")
    return found[0]
