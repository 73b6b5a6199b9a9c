"""Everybody but the controllers: Kueue, the garbage collector, people, time.

Kueue's strict writers (resourceVersion of their copy) change the object as it is or not at all, so they need no copy
here. Its scheduler is loose: what it popped may be old by any length when it writes (reference/kueue.md §3.1, §3.4).
"""

from collections.abc import Iterator

from classifier import api
from classifier.instant import SECOND
from tests.exploration import laws
from tests.exploration.decisions import TICK
from tests.exploration.server import ADMITTED, PENDING, PERSON, RESERVED, Content, Owner, ledger_of, marker_of, note
from tests.exploration.world import Past, Server, Step, World

#: Whatever happens within a tick happens after it has begun: what Kueue dates is dated so much later.
MOMENT = SECOND


def steps(world: World, state: Server) -> Iterator[Step]:
    yield from kueue(world, state)
    yield from checks(world, state)
    yield from scheduler(world, state)
    yield from people(world, state)
    if state.now < world.setting.horizon * TICK:
        yield Step("time passes", state._replace(now=state.now + TICK))


def kueue(world: World, state: Server) -> Iterator[Step]:
    """Its workload and job controllers, and the garbage collector: what they do sooner or later, come what may."""
    content, job = world.content(state), world.job(state)
    if content is not None:
        if not content.active and not content.evicted:
            # Evict (strict): the conditions stay; the job controller clears them after the job has stopped.
            yield Step("Kueue evicts the inactive Workload", world.put_workload(state, content._replace(evicted=True)))
        if content.evicted and content.phase != PENDING and (job is None or job.suspended):
            cleared = content._replace(phase=PENDING)
            if content.phase == ADMITTED:
                cleared = cleared._replace(traced=True, changed=state.now + MOMENT)
            # By the job controller itself: it is not about to start the job.
            cleared_state = world.put_workload(state, cleared)._replace(starting=False)
            yield Step("Kueue clears the reservation", cleared_state)
        if job is None or job.uid != content.owner:
            yield Step("the Workload is garbage-collected", _gone(world, state))
    if job is None:
        return
    if content is None and job.suspended:
        past = world.past(state)
        made = Content(past.uids + 1, job.uid, state.now)
        anew = world.remember(state, past._replace(uids=past.uids + 1))
        yield Step("Kueue makes a Workload for the job", world.put_workload(anew, made))
    if state.starting:
        past = world.past(state)._replace(ran=True)
        started = world.put_owner(world.remember(state, past), job._replace(suspended=False))
        yield Step("Kueue lets the job go", started)
    elif job.suspended and content is not None and content.phase == ADMITTED and not content.evicted:
        yield Step("Kueue's job controller sees the admission", state._replace(starting=True))
    if not job.suspended and (content is None or content.evicted or content.phase != ADMITTED):
        yield Step(
            "Kueue stops the job", world.put_owner(state, job._replace(suspended=True, stopped=state.now + MOMENT))
        )


def checks(world: World, state: Server) -> Iterator[Step]:
    """Capacity may come at any time, and need never: that is what a wait is bounded for."""
    content = world.content(state)
    if content is not None and content.phase == RESERVED and content.active and not content.evicted:
        # Strict, and only on a Workload it holds for active; with an older copy it is refused (§3.4, 5a).
        admitted = content._replace(phase=ADMITTED, changed=state.now + MOMENT)
        yield Step("the checks are ready: Kueue admits", world.put_workload(state, admitted))


def scheduler(world: World, state: Server) -> Iterator[Step]:
    """Pops only what is active and pending; writes whatever stands there by then, without a resourceVersion."""
    content = world.content(state)
    if not state.scheduler:
        if content is not None and content.active and content.phase == PENDING:
            popped = state._replace(scheduler=2 if content.traced else 1)
            yield Step("Kueue's scheduler pops the Workload", popped)
        return
    traced, done = state.scheduler == 2, state._replace(scheduler=0)
    if content is None:
        yield Step("Kueue's scheduler finds no Workload (404)", done)
        return
    if content.phase == PENDING:
        # Server-side apply of the popped copy's whole status: what was written to it since is gone (§3.4, 3b).
        applied = content._replace(phase=RESERVED, evicted=False, traced=traced)
        if not world.setting.checks:
            applied = applied._replace(phase=ADMITTED, changed=state.now + MOMENT)
        if content.active or not world.rules.fence:
            broken = laws.reserved(content, applied)
            yield Step("Kueue's scheduler reserves quota", world.put_workload(done, applied), broken=broken)
        else:
            yield Step("Kueue's scheduler is refused by the fence (422)", done)
    fits_not = content._replace(evicted=False, traced=traced) if content.phase == PENDING else content
    unfit = world.put_workload(done, fits_not) if fits_not != content else done
    yield Step("Kueue's scheduler finds no room for it", unfit)


def people(world: World, state: Server) -> Iterator[Step]:
    content, job, left = world.content(state), world.job(state), world.left(state)
    past = world.past(state)
    if content is not None:
        if left.reactivations and not content.active and note(content.notes, api.CLEANUP_COMMITTED) is None:
            # The chart's policy refuses it while a cleanup is committed.
            active = content._replace(active=True, by=PERSON)
            noted = world.remember(world.spend(state, "reactivations"), _reactivated(past, content, state.now))
            yield Step("a person reactivates the Workload", world.put_workload(noted, active))
        if left.pauses and content.active:
            paused = world.put_workload(world.spend(state, "pauses"), content._replace(active=False, by=PERSON))
            yield Step("a person pauses the Workload", paused)
        if left.deletions:
            gone = world.remember(world.spend(state, "deletions"), _forgotten(past, content, job))
            yield Step("a person deletes the Workload", _gone(world, gone))
        if left.preemptions and content.active and content.phase != PENDING and not content.evicted:
            evicted = world.put_workload(world.spend(state, "preemptions"), content._replace(evicted=True))
            yield Step("Kueue preempts the Workload", evicted)
    if job is not None:
        if left.edits:
            yield Step("a person edits the job", world.put_owner(world.spend(state, "edits"), job))
        if left.lettings and job.suspended:
            let = world.remember(world.spend(state, "lettings"), past._replace(ran=True))
            yield Step("a person lets the job go by hand", world.put_owner(let, job._replace(suspended=False)))
        if left.removals:
            yield Step("a person deletes the job", world.put_owner(world.spend(state, "removals"), None))
    elif content is None and left.resubmissions:
        again = Owner(past.uids + 1, state.now, stopped=state.now)
        fresh = Past(past.uids + 1, past.commits, past.told, state.now)
        # Its Workload will have another name: what the scheduler holds finds nothing.
        submitted = world.remember(world.spend(state, "resubmissions"), fresh)._replace(scheduler=0)
        yield Step("a person submits the job again", world.put_owner(submitted, again))
    if left.policies:
        for policy in range(len(world.setting.settings.policies)):
            if policy != state.policy:
                yield Step("an administrator changes the bound", world.spend(state, "policies")._replace(policy=policy))


def _gone(world: World, state: Server) -> Server:
    """Kueue's job controller has stopped the job and taken its finalizer off (§4.3): it starts nothing meanwhile."""
    return world.put_workload(state, None)._replace(starting=False)


def _reactivated(past: Past, content: Content, now: int) -> Past:
    """Over a decision a new attempt begins, once. A pause that no controller noticed leaves no trace."""
    marker = marker_of(content)
    if marker is None or marker.attempt < past.floor:
        return past
    return past._replace(since=now, floor=marker.attempt + 1)


def _forgotten(past: Past, content: Content, job: Owner | None) -> Past:
    """A reactivation that goes with its Workload before it was noticed is known to nobody."""
    marker, ledger = marker_of(content), ledger_of(job) if job is not None else None
    noticed = ledger is not None and ledger.attempt >= past.floor
    if noticed or marker is None or past.floor <= marker.attempt:
        return past
    return past._replace(floor=marker.attempt, since=0)
