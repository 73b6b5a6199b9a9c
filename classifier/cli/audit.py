"""``muster audit``: every pending Workload that needs somebody's attention."""

import argparse
from collections.abc import Iterator
from functools import partial

from classifier import api
from classifier.cli.aside import aside
from classifier.cli.connect import connect, namespace_of
from classifier.cli.errors import CliError, Exit
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
from classifier.cli.output import say, say_data, table, warn
from classifier.cli.selector import Test, parse_selector
from classifier.cluster.configmaps import ConfigMaps
from classifier.cluster.files import load
from classifier.cluster.reader import Reader
from classifier.cluster.snapshot import Snapshot
from classifier.cluster.world import assumed, fence_in, observe, verdict_on, verdict_on_waiting, world_of
from classifier.instant import format_duration
from classifier.objects import Job, Namespace, Workload
from classifier.report import Finding, Problem, audit_foreign, audit_job, audit_unseen, owner_of, pending
from classifier.report.encode import finding_json
from classifier.scope import bounded_view

_ORDER = {problem: weight for weight, problem in enumerate(Problem)}


DESCRIPTION = """Every pending Workload that needs somebody's attention, under the weightiest of its problems: it can
never fit as queues and pools are now, its deadline has passed or is near, nothing bounds its wait, or what would tell
cannot be read."""
EPILOG = """examples:
  muster audit
  muster audit -A -o wide
  muster audit -A -o json | jq '.[] | select(.problem == "never-fits")'
  muster audit -f dump.yaml

exit codes: 0 nothing found; 3 something found; 1 cannot reach or read; 2 usage"""


def add(commands: Subcommands) -> None:
    parser = commands.add_parser(
        "audit",
        help="pending Workloads that can never fit, are late, or have no bound",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="look into every namespace")
    parser.add_argument("-l", "--selector", metavar="LABELS", help="only Workloads with these labels")
    add_common(parser)
    add_files(parser, "-f", "--filename", "--with")
    add_fence(parser)
    add_config_maps(parser)
    parser.set_defaults(run=run, parser=parser)


async def run(arguments: argparse.Namespace) -> int:
    check_source(arguments)
    if arguments.world:
        namespace = None if arguments.all_namespaces else arguments.namespace or None
    else:
        namespace = None if arguments.all_namespaces else namespace_of(arguments)
    selected = parse_selector(arguments.selector or "") if arguments.selector else lambda _labels: True
    where = config_maps(arguments)
    if arguments.world:
        snapshot = await aside(partial(load, arguments.world, namespace or "default"))
        now = clock(arguments)()
    else:
        async with await connect(arguments) as client:
            reader = Reader(client, where)
            await reader.everything(namespace, arguments.selector, arguments.fence)
            snapshot, now = reader.snapshot, clock(arguments, client.time.now)()
        check_read(snapshot, namespace)
    findings = list(audit(snapshot, namespace, selected, now, arguments.fence, where))
    findings.sort(key=lambda f: (_ORDER[f.problem], f.until is None, f.until or 0, f.workload))
    if findings:
        snapshot.notes += assumed(snapshot, where, files=bool(arguments.world))
    for note in snapshot.notes:
        warn(note)
    if arguments.output in ("json", "yaml"):
        say_data([finding_json(f) for f in findings], arguments.output)
    elif findings:
        say(_table(findings, now, wide=arguments.output == "wide"))
    else:
        place = f" in namespace {namespace}" if namespace else ""
        seen = any(namespace in (None, w.namespace) for w in snapshot.of(api.WORKLOADS, Workload).values())
        warn(f"no pending Workload needs attention{place}" if seen else f"there is no Workload{place}")
    return Exit.FOUND if findings else Exit.OK


def check_read(snapshot: Snapshot, namespace: str | None) -> None:
    """Raises CliError where "no pending Workload" could only mean that none can be seen."""
    workloads = api.WORKLOADS
    if workloads in snapshot.unserved:
        raise CliError(
            f"this cluster does not serve {workloads.plural} of {workloads.api_version}; is Kueue installed, in a "
            "version that has them?"
        )
    if workloads in snapshot.unreadable:
        where, way = (f"in namespace {namespace}", "") if namespace else ("in all namespaces", "name one with -n, ")
        raise CliError(
            f"{workloads.plural} may not be read {where}; {way}ask for the right to list "
            f"{workloads.plural}.{workloads.group}, or use --as"
        )
    known = snapshot.readable(api.NAMESPACES, Namespace)
    if namespace and known is not None and namespace not in known:
        raise CliError(f"there is no namespace {namespace}; see -n")


def audit(
    snapshot: Snapshot, namespace: str | None, selected: Test, now: int, fence_name: str, where: ConfigMaps
) -> Iterator[Finding]:
    """The findings, in no order. One pass over the Workloads."""
    world = world_of(snapshot, where)
    fence = fence_in(snapshot, now, fence_name)
    jobs = {job.uid: job for job in snapshot.of(api.JOBS, Job).values() if job.uid}
    for workload in snapshot.of(api.WORKLOADS, Workload).values():
        if namespace not in (None, workload.namespace) or not selected(workload.metadata.labels or {}):
            continue
        if not pending(workload):
            continue
        controller = workload.controller
        job = jobs.get(controller.uid) if controller else None
        if job is None and controller is not None and bounded_view((controller.group, controller.kind)) is not None:
            unseen = "may not be read" if api.JOBS in snapshot.unreadable else "is not there"
            why = f"{controller.kind} {controller.name} {unseen}"
            owner_name = f"{controller.kind}/{controller.name}"
            found = audit_unseen(workload, owner_name, why, verdict_on_waiting(snapshot, world, workload, now), now)
        elif job is None:
            owner_name = f"{controller.kind}/{controller.name}" if controller else ""
            found = audit_foreign(workload, owner_name, verdict_on_waiting(snapshot, world, workload, now), now)
        else:
            owner = owner_of(job)
            picture = observe(snapshot, owner, now, fence=fence, workload=workload, alone=False)
            found = audit_job(picture, verdict_on(snapshot, world, job, now), now)
        if found is not None:
            yield found


def _table(findings: list[Finding], now: int, *, wide: bool) -> Iterator[str]:
    """Rows, each with what to do beneath it; with ``wide`` that is one more column instead."""
    header = ["PROBLEM", "WORKLOAD", "OWNER", "QUEUE", "WAITING", "DEADLINE", "WHY", *(["ADVICE"] if wide else [])]
    rows = [
        [
            str(f.problem),
            f.workload,
            f.owner or "-",
            f.queue or "-",
            "-" if f.since is None else format_duration(max(0, now - f.since)),
            _until(f.until, now),
            f.why,
            *([f.advice or "-"] if wide else []),
        ]
        for f in findings
    ]
    printed = table(header, rows)
    yield printed[0]
    for finding, line in zip(findings, printed[1:], strict=True):
        yield line
        if finding.advice and not wide:
            yield f"  to do: {finding.advice}"


def _until(at: int | None, now: int) -> str:
    if at is None:
        return "none"
    return f"in {format_duration(at - now)}" if at > now else f"{format_duration(now - at)} ago"
