"""What a controller may do next: ``controller.steps`` and ``controller.act``, request by request.

A step begins with the copies in the cache (``Steps._step``, ``Steps._clean_owner``) and ``decide``; then come the
requests of ``Writer`` and ``Remover``, each of which takes its time. While it waits for one, nothing else of that
controller moves; that two of its workers act at once is covered by the second controller. What is left out, because it
changes nothing that the copies do not change as well: waiting for a write's turn (the decision is made again after it),
the reads after a conflict or a lost answer (the watch may bring the same), ``Rest``. A request guarded by an old
version is not even sent. ``test_faithful`` holds all of this against the real ``Steps``.
"""

from collections.abc import Iterator
from typing import Final

from classifier import api
from tests.exploration import laws
from tests.exploration.decisions import Plan
from tests.exploration.server import CURRENT, MUSTER, PENDING, decision_of, note, patched
from tests.exploration.world import IDLE, ON_OWNER, Controller, Doing, Server, Step, World

READS_WORKLOAD: Final = "hears of the Workload as it is"
READS_JOB: Final = "hears of the job as it is"
#: It has just listed everything.
FRESH: Final = (CURRENT, CURRENT, IDLE)

#: What changes nothing on the server.
_LOOKS: Final = frozenset(
    {"LookBeforeMirror", "LookBeforeUnmirror", "LookBeforeCleanup", "LookBeforeDelete", "LookAtPods", "Turn"}
)


def steps(world: World, state: Server, me: Controller, behind: int = 0) -> Iterator[Step]:
    """``behind`` is how far its clock is behind, ms."""
    workload, owner, number = me
    if number == IDLE:
        if workload != CURRENT:
            yield Step(READS_WORKLOAD, state, (CURRENT, owner, IDLE))
        if owner != CURRENT:
            yield Step(READS_JOB, state, (workload, CURRENT, IDLE))
        yield from decided(world, state, me, behind)
        yield from clean(world, state, me)
        return
    doing = world.doing(number)
    yield from go_on(world, state, me, doing)
    # The next life lists everything. What was sent has been served before, or never is; or else it is a loss.
    yield Step(f"crashes before {doing.kind}", state, FRESH)
    if doing.kind not in _LOOKS and world.left(state).losses:
        spent = world.spend(state, "losses")
        words = f"crashes or gives up, not knowing what becomes of its {doing.kind}: {doing.words}"
        yield Step(words, spent, (workload, owner, IDLE), lost=number)


def late(world: World, state: Server, number: int) -> Step:
    """A request reaches the server after its sender has given it up."""
    doing = world.doing(number)
    landed, broken = _land(world, state, doing)
    return Step(f"a request that was given up reaches the server, {doing.kind}: {doing.words}", landed, broken=broken)


def plan_of(world: World, state: Server, me: Controller, behind: int = 0) -> Plan | None:
    workload, owner, _ = me
    return world.decisions.plan(
        state.workload if workload == CURRENT else workload,
        state.owner if owner == CURRENT else owner,
        max(0, state.now - behind),
        state.policy,
    )


def decided(world: World, state: Server, me: Controller, behind: int = 0) -> Iterator[Step]:
    """``Steps._step`` to its first request."""
    plan = plan_of(world, state, me, behind)
    if plan is None or plan.kind == "Rest":
        return
    workload, owner, _ = me
    kind, rules, broken = plan.kind, world.rules, None
    doing = Doing(kind, plan.words, plan.patch, plan.at, plan.attempt)
    words = f"decides {kind}: {plan.words}"
    if kind == "Mirror":
        content = world.workloads.values[state.workload if workload == CURRENT else workload]
        assert content is not None
        doing = doing._replace(kind="LookBeforeMirror", uid=content.uid, current=owner == CURRENT, seen=False)
        if not rules.settled_look:
            doing = doing._replace(kind="TellEvent", seen=laws.live(world.content(state), doing))
    elif kind == "WriteOwner":
        if owner != CURRENT:
            return
        copy = world.workloads.values[state.workload if workload == CURRENT else workload]
        broken = laws.announced(world, state, plan, copy)
        if plan.unmirror:
            doing = doing._replace(kind="LookBeforeUnmirror")
    elif kind == "Delete":
        content = world.workloads.values[state.workload if workload == CURRENT else workload]
        assert content is not None
        doing = doing._replace(kind="LookBeforeDelete", uid=content.uid, guarded=rules.delete_guards, seen=False)
        if not rules.cleanup_look:
            doing = doing._replace(kind="LookAtPods", seen=laws.cleaned(world.content(state), doing))
        if doing.guarded and owner != CURRENT:
            return
    elif kind == "Commit":
        doing = doing._replace(guarded=rules.commit_version)
        if not rules.second_look:
            doing = doing._replace(kind="Turn")
        elif doing.guarded and workload != CURRENT:
            return
        elif rules.job_look and owner != CURRENT:
            # ``Steps._commit`` reads a job that may be older than the Workload, and decides again.
            owner = CURRENT
            again = plan_of(world, state, (workload, CURRENT, IDLE), behind)
            if again is None or again.kind != "Commit":
                yield Step("reads the job before it would end the wait", state, (workload, CURRENT, IDLE))
                return
            doing = doing._replace(patch=again.patch, at=again.at, attempt=again.attempt, words=again.words)
    elif workload != CURRENT:
        return
    elif kind == "CommitCleanup":
        if owner == CURRENT and rules.ran_look and laws.ran(world.job(state), plan.at):
            return  # seen before, and then left alone for long
        doing = doing._replace(kind="LookBeforeCleanup")
    yield Step(words, state, (workload, owner, world.doings.of(doing)), broken)


def clean(world: World, state: Server, me: Controller) -> Iterator[Step]:
    """``Steps._clean_owner``: a mirror that no cached Workload speaks for."""
    workload, owner, _ = me
    if owner != CURRENT:
        return
    patch = world.decisions.cleaning(state.workload if workload == CURRENT else workload, state.owner)
    if patch:
        doing = world.doings.of(Doing("LookBeforeUnmirror", "mirror out", patch))
        yield Step("means to take a dead mirror off the job", state, (workload, owner, doing))


def go_on(world: World, state: Server, me: Controller, doing: Doing) -> Iterator[Step]:
    """The request under way is served, and what is sent next."""
    workload, owner, number = me
    content = world.content(state)
    match doing.kind:
        case "Turn":
            # Taken away: the second look. What was decided is written to the copy at hand by now.
            if workload != CURRENT:
                yield Step(READS_WORKLOAD, state, (CURRENT, owner, number))
            else:
                sent = world.doings.of(doing._replace(kind="Commit"))
                yield Step(f"has its turn and sends Commit: {doing.words}", state, (workload, owner, sent))
        case "LookBeforeMirror":
            if content is not None and laws.live(content, doing) and content.phase == PENDING:
                kind = "TellEvent" if world.rules.event else "WriteMirror"
                told = world.doings.of(doing._replace(kind=kind, seen=True))
                yield Step("sees it settled", state, (CURRENT, owner, told))
            else:
                # A Workload that is gone is not put into the cache.
                copy = workload if content is None else CURRENT
                yield Step("sees it not settled: no mirror", state, (copy, owner, IDLE))
        case "TellEvent":
            landed, broken = _land(world, state, doing)
            patch = world.doings.of(doing._replace(kind="WriteMirror")) if doing.current else IDLE
            yield Step("tells the event", landed, (workload, owner, patch), broken)
        case "LookBeforeUnmirror":
            job = world.job(state)
            assert job is not None
            live = decision_of(content) if content is not None and content.owner == job.uid else None
            if live is not None and note(job.notes, api.ADMISSION_OUTCOME_OF) == f"{live.uid}/{live.attempt}":
                yield Step("sees the decision live: the mirror stays", state, (workload, owner, IDLE))
            else:
                sent = world.doings.of(doing._replace(kind="WriteOwner", words="mirror out"))
                yield Step("sees no such decision", state, (workload, owner, sent))
        case "LookBeforeDelete":
            # ``Remover.delete``: both decisions on the Workload as it is now.
            if content is not None and laws.cleaned(content, doing) and content.phase == PENDING:
                pods = world.doings.of(doing._replace(kind="LookAtPods", seen=True))
                yield Step("sees both decisions stand", state, (CURRENT, owner, pods))
            else:
                copy = workload if content is None else CURRENT
                yield Step("sees no decision to delete on", state, (copy, owner, IDLE))
        case "LookBeforeCleanup" | "LookAtPods":
            # ``Remover._forbidden``: the job as it is now must be the copy that was decided on.
            job = world.job(state)
            if job is None or owner != CURRENT or not job.suspended:
                yield Step("sees a job that is not at rest", state, (workload, owner, IDLE))
            elif not (world.rules.ran_look and laws.ran(job, doing.at)):
                kind = "CommitCleanup" if doing.kind == "LookBeforeCleanup" else "Delete"
                sent = world.doings.of(doing._replace(kind=kind))
                yield Step("sees nothing run", state, (workload, owner, sent))
            elif doing.kind == "LookAtPods" and workload == CURRENT:
                back = Doing("WriteWorkload", "cleanup out", ((api.CLEANUP_COMMITTED, None),))
                yield Step("sees that it ran", state, (workload, owner, world.doings.of(back)))
            else:
                yield Step("sees that it ran", state, (workload, owner, IDLE))
        case _:
            landed, broken = _land(world, state, doing)
            # The server's answer goes into the cache; a 404 and a deletion leave the copies to the watch.
            if doing.kind == "Delete":
                owner = state.owner if owner == CURRENT else owner
            elif doing.kind in ON_OWNER:
                owner = CURRENT
            elif content is not None:
                workload = CURRENT
            yield Step(f"is served with {doing.kind}: {doing.words}", landed, (workload, owner, IDLE), broken)


def _land(world: World, state: Server, doing: Doing) -> tuple[Server, str | None]:
    """The server takes a write, whose guard holds: otherwise ``World.overtaken`` would have taken the request away."""
    past, content, job = world.past(state), world.content(state), world.job(state)
    match doing.kind:
        case "TellEvent":
            broken = laws.told(world, state, doing)
            told = past.told | {(doing.uid, doing.attempt, doing.at)}
            return world.remember(state, past._replace(told=told)), broken
        case "WriteOwner" | "WriteMirror":
            assert job is not None
            broken = laws.mirrored(world, state, doing) if doing.kind == "WriteMirror" else None
            return world.put_owner(state, job._replace(notes=patched(job.notes, doing.patch))), broken
        case "Delete":
            if job is None:
                return state, None
            return world.put_owner(state, None), laws.deleted(world, state, doing)
    if content is None:
        return state, None  # 404: only without a guard
    broken = None
    notes = patched(content.notes, doing.patch)
    if doing.kind == "Commit":
        broken = laws.committed(world, state, doing)
        past = past._replace(commits=(*past.commits, (content.uid, doing.attempt, doing.at)), ran=False)
        state = world.remember(state, past)
        content = content._replace(active=False, by=MUSTER)
    elif doing.kind == "CommitCleanup":
        broken = laws.cleanup_committed(world, state)
    return world.put_workload(state, content._replace(notes=notes)), broken
