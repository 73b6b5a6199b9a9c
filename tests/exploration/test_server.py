"""The model of the API server and of Kueue's writers does what the real ones did in the reference's experiments.

A to J (reference/kueue.md, Appendix A) had a real API server and writes as Kueue sends them, O to Q the real Kueue.
"""

from typing import Final

from tests.exploration import controllers, surroundings
from tests.exploration.server import ADMITTED, CURRENT, MUSTER, PENDING, RESERVED, Content, Owner
from tests.exploration.world import IDLE, Doing, Rules, Server, Setting, World

POPPED: Final = 1
MARKED: Final = (("muster.dev/admission-timeout-committed", "2026-11-29T10:30:00Z attempt=1 uid=uid-1"),)
ENDED: Final = Content(1, 1, 0, active=False, by=MUSTER, notes=MARKED)


def _world(fence: bool = True, checks: bool = False) -> World:
    return World(Setting(rules=Rules(fence=fence), checks=checks))


def _server(world: World, content: Content | None, scheduler: int = 0, job: Owner | None = None) -> Server:
    workload, owner = world.workloads.of(content), world.owners.of(job or Owner(1, 0))
    return world.start()._replace(workload=workload, owner=owner, scheduler=scheduler)


def _after(world: World, server: Server, words: str) -> Content | None:
    """The Workload after the one step of that name; the step must be possible."""
    (step,) = [step for step in surroundings.steps(world, server) if words in step.words]
    return world.content(step.server)


def _possible(world: World, server: Server) -> str:
    return "; ".join(step.words for step in surroundings.steps(world, server))


def test_a_stale_admission_lands_on_an_inactive_workload_and_the_marker_survives_it() -> None:
    world = _world(fence=False)
    after = _after(world, _server(world, ENDED, POPPED), "reserves quota")
    assert after is not None
    assert (after.active, after.phase, after.notes) == (False, ADMITTED, MARKED)


def test_c_a_commit_of_an_older_version_is_refused() -> None:
    world = _world()
    commit = world.doings.of(Doing("Commit"))
    assert world.overtaken(commit, workload=True, owner=False) == IDLE
    assert world.overtaken(commit, workload=False, owner=True) == commit


def test_d_a_stale_admission_takes_the_eviction_off_and_kueue_evicts_again() -> None:
    world = _world(fence=False)
    evicted = ENDED._replace(evicted=True)
    after = _after(world, _server(world, evicted, POPPED), "reserves quota")
    assert after is not None
    assert (after.phase, after.evicted) == (ADMITTED, False)
    assert "evicts" in _possible(world, _server(world, after))


def test_h_a_stale_admission_lands_on_another_workload_of_the_same_name() -> None:
    world = _world()
    after = _after(world, _server(world, Content(2, 1, 0), POPPED), "reserves quota")
    assert after is not None
    assert (after.uid, after.phase) == (2, ADMITTED)


def test_j_the_fence_refuses_the_admission_and_nothing_else() -> None:
    world = _world()
    assert _after(world, _server(world, ENDED, POPPED), "refused by the fence") == ENDED
    evicted = _after(world, _server(world, ENDED), "evicts")
    assert evicted == ENDED._replace(evicted=True)
    reserved = ENDED._replace(phase=RESERVED, evicted=True)
    assert _after(world, _server(world, reserved), "clears") == reserved._replace(phase=PENDING)
    again = ENDED._replace(active=True, by="kubectl-patch", evicted=True)
    admitted = _after(world, _server(world, again, POPPED), "reserves quota")
    assert admitted is not None
    assert admitted.phase == ADMITTED


def test_o_the_scheduler_pops_nothing_that_is_inactive() -> None:
    world = _world()
    assert "pops" in _possible(world, _server(world, Content(1, 1, 0)))
    assert "pops" not in _possible(world, _server(world, ENDED))


def test_p_without_the_fence_the_job_of_an_ended_wait_starts() -> None:
    world = _world(fence=False)
    admitted = ENDED._replace(phase=ADMITTED)
    assert "sees the admission" in _possible(world, _server(world, admitted))


def test_q_a_commit_before_the_checks_are_ready_is_never_overtaken_by_them() -> None:
    world = _world(checks=True)
    server = _server(world, Content(1, 1, 0, phase=RESERVED))
    assert "Kueue admits" in _possible(world, server)
    commit = (CURRENT, CURRENT, world.doings.of(Doing("Commit", patch=MARKED, attempt=1)))
    (served,) = [step for step in controllers.steps(world, server, commit) if step.words.startswith("is served")]
    ended = world.content(served.server)
    assert ended is not None
    assert (ended.active, ended.phase) == (False, RESERVED)
    assert "Kueue admits" not in _possible(world, served.server)
    assert "evicts" in _possible(world, served.server)
