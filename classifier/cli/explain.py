"""``muster explain``: what an object, or a job of dispatch's, is doing and why: the whole classification."""

import argparse
from collections.abc import Iterable, Sequence
from functools import partial

from classifier import api
from classifier.api import Resource
from classifier.cli.aside import aside
from classifier.cli.captured import CapturedPods
from classifier.cli.connect import connect, namespace_of
from classifier.cli.errors import CliError, Exit, UsageError
from classifier.cli.explain_watch import follow, seen
from classifier.cli.options import Subcommands, add_classification, add_common, add_files, check_source, clock, settings
from classifier.cli.output import say, say_data, warn
from classifier.cli.progress import telling
from classifier.cli.target import EXPLAINED, check_name, parse_target
from classifier.cluster.backend import Backend
from classifier.cluster.files import load
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.objects import Workload
from classifier.report.encode import observation_json
from classifier.report.explain import explain_lines
from classifier.state import Explanation, Mode, Settings
from classifier.state.gather import find_in, inspect_in, why_no_job
from classifier.state.kinds import MIDDLES

DESCRIPTION = """What an object is doing and why: state, cause, since when, what speaks for it, and what to do next.

Name one object, KIND/NAME: a workload stands for its job, a pod for its group. Or name a JOB of dispatch's: all its
objects are explained, what is left of deleted ones included."""
EPILOG = """examples:
  muster explain trainjob/train-3
  muster explain train -w
  muster explain job/train -f dump.yaml --mode plain

exit codes: 0 explained, or the JOB has no object; 1 cannot reach or read; 2 usage"""

#: Kinds of which a job of dispatch's may have an object.
_OF_A_JOB = (api.TRAIN_JOBS, api.JOBSETS, api.PODS, api.TRAINING_RUNTIMES)


def add(commands: Subcommands) -> None:
    parser = commands.add_parser(
        "explain",
        help="what an object or a job is doing, why, and what to do next",
        usage="%(prog)s [options] KIND/NAME | JOB",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="+", metavar="KIND/NAME | JOB", help="for example trainjob/train-3, or train")
    parser.add_argument("-w", "--watch", action="store_true", help="JOB: show every change, until Ctrl-C")
    add_common(parser)
    add_files(parser, "-f", "--filename", "--with")
    add_classification(parser)
    parser.set_defaults(run=run, parser=parser)


async def run(arguments: argparse.Namespace) -> int:
    target = _target(arguments.target)
    _check(arguments, target)
    told = settings(arguments)
    if arguments.world:
        async with telling("reading files"):
            found, notes = await aside(partial(_offline, arguments, target, told))
        _show(arguments, target, found, notes)
        return Exit.OK
    namespace = namespace_of(arguments)
    async with await connect(arguments) as client:
        now = clock(arguments, client.time.now)
        backend = Backend(client, namespace, told)
        if arguments.watch and isinstance(target, str):
            return await follow(backend, target, namespace, arguments.output, now, arguments.now)
        async with telling(f"reading from {client.host}"):
            found = await _online(backend, target, namespace)
        _show(arguments, target, [seen(e, arguments.now) for e in found], backend.notes, now())
    return Exit.OK


Target = tuple[Resource, str] | str


def _target(words: Sequence[str]) -> Target:
    """One object, or the name of a job."""
    if len(words) > 1 or "/" in words[0]:
        return parse_target(words, EXPLAINED, "explanation")
    check_name(words[0])
    return words[0]


def _check(arguments: argparse.Namespace, target: Target) -> None:
    """Raises UsageError for options that make no sense together."""
    check_source(arguments)
    if arguments.watch and arguments.world:
        raise UsageError("-w follows a cluster, and files do not change; leave it out")
    if arguments.watch and not isinstance(target, str):
        resource, name = target
        status = f", or muster status job/{name} -w" if resource == api.JOBS else ""
        raise UsageError(f"-w follows a JOB; for one object leave -w out{status}")
    for option, value in (("--captured", arguments.captured), ("--no-nodes", arguments.no_nodes)):
        if value and not arguments.world:
            raise UsageError(f"{option} goes with files; name a dump with -f, or leave it out")
    if "-" in arguments.world and "-" in arguments.captured:
        raise UsageError("standard input can be read once; name a file for -f or for --captured")


# --- reading ------------------------------------------------------------------------------------------------------


async def _online(backend: Backend, target: Target, namespace: str) -> list[Explanation]:
    if isinstance(target, str):
        return await backend.find(target)
    resource, name = target
    found = await backend.inspect(resource, name)
    if found is None:
        raise CliError(f"there is no {resource.kind} {namespace}/{name}; {_see(resource)} -n {namespace}")
    return [found]


def _offline(arguments: argparse.Namespace, target: Target, told: Settings) -> tuple[list[Explanation], list[str]]:
    """What the files say, and notes about them."""
    default = namespace_of(arguments)
    snapshot = load(arguments.world, default)
    if arguments.no_nodes:
        snapshot.unreadable.add(api.NODES)
    pods = CapturedPods(arguments.captured, default)
    captured = pods.of(snapshot, told)
    at = clock(arguments)()
    if isinstance(target, str):
        spaces = [arguments.namespace] if arguments.namespace else _namespaces(snapshot)
        found = [e for ns in spaces for e in find_in(snapshot, ns, target, told, at, captured)]
    else:
        resource, name = target
        namespace = _only(snapshot, resource, name, arguments.namespace)
        one = inspect_in(snapshot, resource, namespace, name, told, at, captured)
        if one is None:
            workload = snapshot.get(api.WORKLOADS, Workload, name, namespace)
            raise CliError(f"{why_no_job(workload) if workload else name} in these files")
        found = [one]
    if told.mode is Mode.KUEUE and found and not snapshot.of(api.WORKLOADS, Workload):
        snapshot.notes.append("there is no Workload in these files: add them, or say --mode plain if there is no Kueue")
    for middle in sorted(MIDDLES):
        strangers = f"pods of another {middle.kind}: "
        if not snapshot.of(middle, TYPES[middle]) and any(strangers in e.observation.cause.detail for e in found):
            snapshot.notes.append(
                f"there is no {middle.kind} in these files: add them, for they tell whose the pods are"
            )
    return found, [*snapshot.notes, *([pods.note] if pods.note else [])]


def _namespaces(snapshot: Snapshot) -> list[str]:
    return sorted({obj.namespace for resource in _OF_A_JOB for obj in snapshot.of(resource, TYPES[resource]).values()})


def _only(snapshot: Snapshot, resource: Resource, name: str, namespace: str | None) -> str:
    """The one namespace with such an object, unless it is given. Raises CliError."""
    known = snapshot.of(resource, TYPES[resource]).values()
    found = sorted(o.namespace for o in known if o.name == name and namespace in (None, o.namespace))
    if not found:
        where = f"{namespace}/{name} in these files; see -n" if namespace else f"{name} in these files; add it to them"
        raise CliError(f"there is no {resource.kind} {where}")
    if len(found) > 1:
        several = ", ".join(f"{ns}/{name}" for ns in found)
        raise CliError(f"these files hold several {resource.plural} {name}, {several}; choose with -n")
    return found[0]


def _see(resource: Resource) -> str:
    return f"see kubectl get {resource.plural}{f'.{resource.group}' if resource.group else ''}"


# --- showing ------------------------------------------------------------------------------------------------------


def _show(
    arguments: argparse.Namespace,
    target: Target,
    found: list[Explanation],
    notes: Iterable[str],
    now: int | None = None,
) -> None:
    form = arguments.output
    for note in notes:
        warn(note)
    if form in ("json", "yaml"):
        data = [observation_json(e.observation) for e in found]
        say_data(data if isinstance(target, str) else data[0], form)
        return
    if isinstance(target, str) and not found:
        where = "in these files" if arguments.world else f"in namespace {namespace_of(arguments)}"
        if arguments.world and arguments.namespace:
            where = f"in namespace {arguments.namespace} of these files"
        warn(nothing(target, where))
    at = clock(arguments)() if now is None else now
    for number, explanation in enumerate(found):
        say([*([""] if number else []), *explain_lines(explanation, at, wide=form == "wide")])


def nothing(job: str, where: str) -> str:
    """That a job has no object, and what else might have been meant."""
    return f"no object of job {job} exists {where}; to explain one object name its kind: trainjob/{job}, job/{job}, ..."
