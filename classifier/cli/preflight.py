"""``muster preflight -f FILE``: can this gang ever run here?"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from classifier import api
from classifier.cli.aside import aside
from classifier.cli.connect import connect, namespace_of
from classifier.cli.errors import CliError, Exit
from classifier.cli.options import (
    Subcommands,
    add_common,
    add_config_maps,
    add_files,
    check_source,
    clock,
    config_maps,
)
from classifier.cli.output import say, say_data, table, warn
from classifier.cluster.files import Document, FileError, load, read_documents
from classifier.cluster.reader import Reader
from classifier.cluster.snapshot import Snapshot
from classifier.cluster.world import assumed, verdict_on, world_of
from classifier.fit import Outcome, Verdict
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    LocalQueue,
    Meta,
    ProvisioningRequestConfig,
)
from classifier.quantity import QuantityError, parse
from classifier.report import provisioning_ready
from classifier.report.encode import verdict_json
from classifier.report.screen import profile_line

_CODES: Final = {
    Outcome.FITS: Exit.OK,
    Outcome.FITS_AFTER_SCALE_UP: Exit.OK,
    Outcome.SKIPPED: Exit.OK,
    Outcome.UNKNOWN: Exit.UNKNOWN,
    Outcome.MISCONFIGURED: Exit.MISCONFIGURED,
    Outcome.NEVER_FITS: Exit.FOUND,
}
#: From fine to worst: of several objects the worst decides the exit code.
_WORSE: Final = (Exit.OK, Exit.UNKNOWN, Exit.MISCONFIGURED, Exit.FOUND)


def add(commands: Subcommands) -> None:
    parser = commands.add_parser("preflight", help="can this gang ever run here?")
    parser.add_argument(
        "-f",
        "--filename",
        dest="jobs",
        action="append",
        required=True,
        metavar="FILE",
        help="the job: a file, a folder or -; may be repeated",
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
    jobs = await aside(lambda: list(jobs_in(arguments.jobs, namespace)))
    if not jobs:
        raise CliError(f"{', '.join(arguments.jobs)}: no job in it; a job has the label {api.QUEUE_NAME} or is a Job")
    where = config_maps(arguments)
    if arguments.world:
        snapshot = await aside(partial(load, arguments.world, namespace))
        snapshot.notes += _left_out(snapshot, jobs, arguments)
        now = clock(arguments)()
    else:
        async with await connect(arguments) as client:
            reader = Reader(client, where)
            await reader.world(_queues(jobs))
            snapshot, now = reader.snapshot, clock(arguments, client.time.now)()
    world = world_of(snapshot, where)
    verdicts = [(job, verdict_on(snapshot, world, job, now)) for job in jobs]
    if any(verdict.profile for _, verdict in verdicts):
        snapshot.notes += assumed(snapshot, where, files=bool(arguments.world))
    for note in snapshot.notes:
        warn(note)
    _show(verdicts, snapshot, arguments.output)
    return max((_CODES[v.outcome] for _, v in verdicts), key=_WORSE.index)


def jobs_in(sources: list[str], namespace: str) -> Iterator[Meta]:
    """What is to be judged: every Job, and whatever else names a queue."""
    for document in read_documents(sources):
        resource = document.resource
        if resource != api.JOBS and not _names_queue(document):
            continue
        check_quantities(document)
        yield document.decode(resource, namespace)


def _names_queue(document: Document) -> bool:
    metadata = document.body.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and api.QUEUE_NAME in labels


def check_quantities(document: Document) -> None:
    """Refuse what the API server would: a quantity in a pod template that cannot be parsed."""
    for path, value in _quantities(document.body, ""):
        try:
            parse(value)
        except (QuantityError, TypeError) as error:
            raise FileError(f"{document.where}: {document.kind}: {path}: {error}; correct it") from None


def _quantities(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _quantities(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key in ("requests", "limits", "overhead") and isinstance(item, dict):
                yield from ((f"{here}.{resource}", quantity) for resource, quantity in item.items())
            else:
                yield from _quantities(item, here)


def _left_out(snapshot: Snapshot, jobs: list[Meta], arguments: argparse.Namespace) -> Iterator[str]:
    """What files may well lack, and then change the answer without a sign of it."""
    if not snapshot.of(api.CAPACITY_PROFILES, CapacityProfile):
        yield "there is no CapacityProfile in these files, so nothing can be judged; add them to the dump"
    if not arguments.namespace:
        spaces = {q.namespace for q in snapshot.of(api.LOCAL_QUEUES, LocalQueue).values()}
        for job in jobs:
            if job.namespace == "default" and spaces and "default" not in spaces:
                yield f"{job.kind} {job.name} is taken to be in namespace default; choose another with -n"


def _queues(jobs: list[Meta]) -> dict[str, set[str]]:
    queues: dict[str, set[str]] = defaultdict(set)
    for job in jobs:
        queues[job.namespace] |= {job.label(api.QUEUE_NAME) or ""} - {""}
    return queues


def _show(verdicts: list[tuple[Meta, Verdict]], snapshot: Snapshot, form: str | None) -> None:
    if form in ("json", "yaml"):
        data = [{"ref": _ref(job), **verdict_json(verdict)} for job, verdict in verdicts]
        say_data(data[0] if len(data) == 1 else data, form)
        return
    say(_profile_lines(verdicts, snapshot))
    for job, verdict in verdicts:
        say(_lines(job, verdict, several=len(verdicts) > 1, wide=form == "wide"))


def _ref(job: Meta) -> dict[str, str]:
    name = job.name or f"{job.metadata.generate_name}*"
    return {"kind": job.kind or "", "namespace": job.namespace, "name": name, "uid": job.uid}


def _lines(job: Meta, verdict: Verdict, *, several: bool, wide: bool) -> Iterator[str]:
    ref = _ref(job)
    yield f"{ref['kind']} {ref['namespace']}/{ref['name']}: {verdict.line}" if several else verdict.line
    if verdict.reason not in verdict.line:
        yield f"  {verdict.reason}"
    if verdict.advice and verdict.advice not in verdict.line:
        yield f"  tip: {verdict.advice}"
    for warning in verdict.warnings:
        if warning.removesuffix("…") not in verdict.line:
            yield f"  warning: {warning}"
    if wide and verdict.pod_sets:
        header = ("PODSET", "COUNT", "VERDICT", "BINDING", "POOL", "FLAVOR", "RESOURCE", "NEEDS", "LIMIT", "SOURCE")
        rows = [
            tuple(
                "-" if v is None else str(v)
                for v in (
                    p.name,
                    p.count,
                    p.verdict,
                    p.binding,
                    p.pool,
                    p.flavor,
                    p.resource,
                    p.needs,
                    p.limit,
                    p.source,
                )
            )
            for p in verdict.pod_sets
        ]
        yield from table(header, rows)


def _profile_lines(verdicts: list[tuple[Meta, Verdict]], snapshot: Snapshot) -> Iterator[str]:
    profiles = snapshot.of(api.CAPACITY_PROFILES, CapacityProfile)
    names = dict.fromkeys(n.strip() for _, v in verdicts if v.profile for n in v.profile.split(","))
    for name in names:
        if name in profiles:
            yield profile_line(
                name,
                provisioning_ready(
                    profiles[name],
                    snapshot.readable(api.ADMISSION_CHECKS, AdmissionCheck),
                    snapshot.readable(api.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig),
                    snapshot.of(api.CLUSTER_QUEUES, ClusterQueue).values(),
                ),
            )
