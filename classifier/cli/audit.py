"""``muster audit``: every pending Workload that needs somebody's attention."""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

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
from classifier.objects import Job, Meta, Namespace, Pod, Workload
from classifier.report import Finding, Problem, audit_foreign, audit_job, audit_unseen, pending, waiting_owner
from classifier.report.encode import finding_json
from classifier.scope import ALONE, POD_GROUP, Holder, bounded_view, holder_of
from classifier.state.gather import group_of
from classifier.state.kinds import KindView
from classifier.state.kinds.podgroup import group_name

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
    groups = _groups(snapshot)
    for workload in snapshot.of(api.WORKLOADS, Workload).values():
        if namespace not in (None, workload.namespace) or not selected(workload.metadata.labels or {}):
            continue
        if not pending(workload):
            continue
        holder = holder_of(workload)
        view = bounded_view(holder.kind) if holder is not None else None
        name = f"{holder.kind[1]}/{holder.name}" if holder is not None and holder.kind != ALONE else ""
        job = _job(snapshot, workload, holder, view, groups) if holder is not None and view is not None else None
        if isinstance(job, Job):
            verdict = verdict_on(snapshot, world, job, now)
        else:
            verdict = verdict_on_waiting(snapshot, world, workload, now)
        if holder is None or view is None:
            found = audit_foreign(workload, name, verdict, now)
        elif job is None:
            resource = api.PODS if holder.kind == POD_GROUP else view.resource
            unseen = "may not be read" if resource in snapshot.unreadable else "is not there"
            found = audit_unseen(workload, name, f"{holder.kind[1]} {holder.name} {unseen}", verdict, now)
        else:
            owner = msgspec.structs.replace(waiting_owner(job, view), name=holder.name)
            picture = observe(snapshot, owner, now, fence=fence, workload=workload, alone=False)
            found = audit_job(picture, verdict, now)
        if found is not None:
            yield found


def _groups(snapshot: Snapshot) -> dict[str, list[Pod]]:
    """The pods of each group, by the key of its Workload."""
    groups: dict[str, list[Pod]] = {}
    for pod in snapshot.of(api.PODS, Pod).values():
        name = group_name(pod)
        if name is not None:
            groups.setdefault(f"{pod.namespace}/{name}", []).append(pod)
    return groups


def _job(
    snapshot: Snapshot, workload: Workload, holder: Holder, view: KindView, groups: Mapping[str, list[Pod]]
) -> Meta | None:
    """What the Workload stands for, if it is here."""
    if holder.kind == POD_GROUP:
        return group_of(groups.get(workload.key, ()))
    found: Meta | None = snapshot.get(view.resource, view.type_, holder.name, workload.namespace)
    return found if found is not None and found.uid == holder.uid else None


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
