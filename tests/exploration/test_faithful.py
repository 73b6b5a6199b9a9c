"""The model's controllers ask of the server what the real ``Steps``, ``Writer`` and ``Remover`` ask, in that order."""

import random
from collections.abc import Iterator

import pytest

from controller.fence import Fence, FenceState
from tests.exploration import controllers
from tests.exploration.explore import explore
from tests.exploration.moves import Moves
from tests.exploration.real import FakeServer, Request, asked
from tests.exploration.server import CURRENT
from tests.exploration.settings import FAITHFUL
from tests.exploration.world import IDLE, Controller, Doing, Server, Step, World

#: Of the situations met in one exploration so many are put before the real code.
SITUATIONS = 60

#: What each doing asks for.
_ASKS = {
    "LookBeforeMirror": ("GET", "workloads"),
    "TellEvent": ("POST", "events"),
    "WriteMirror": ("PATCH", "jobs"),
    "WriteOwner": ("PATCH", "jobs"),
    "LookBeforeUnmirror": ("LIST", "workloads"),
    "WriteWorkload": ("PATCH", "workloads"),
    "Commit": ("PATCH", "workloads"),
    "LookBeforeCleanup": ("GET", "jobs"),
    "CommitCleanup": ("PATCH", "workloads"),
    "LookBeforeDelete": ("GET", "workloads"),
    "LookAtPods": ("GET", "jobs"),
    "Delete": ("DELETE", "jobs"),
}


def _request(doing: Doing) -> Request:
    method, kind = _ASKS[doing.kind]
    return method, kind, doing.patch if method == "PATCH" else ()


def _followed(world: World, step: Step | None) -> Iterator[Request]:
    """What a step of the model asks for, to its end, while nothing else happens."""
    while step is not None and step.me is not None and step.me[2] != IDLE:
        doing = world.doing(step.me[2])
        yield _request(doing)
        server = step.server._replace(wrote_workload=False, wrote_owner=False)
        step = next(controllers.go_on(world, server, step.me, doing))


def _expected(world: World, server: Server, me: Controller, by_owner: bool) -> list[Request]:
    source = controllers.clean(world, server, me) if by_owner else controllers.decided(world, server, me)
    step = next(source, None)
    reads = not by_owner and step is not None and step.me is not None and step.me[1] != me[1]
    return [*([("GET", "jobs", ())] if reads else []), *_followed(world, step)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAITHFUL)
async def test_the_model_asks_what_the_controller_asks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fence, "state", lambda self: FenceState(True, ""))
    moves = Moves(World(FAITHFUL[name]))
    explore(FAITHFUL[name], moves=moves)
    world, kinds = moves.world, set()
    for server, me in _chosen(moves):
        workload, owner = (world.workloads.values, world.owners.values)
        copy = workload[server.workload if me[0] == CURRENT else me[0]]
        job = owner[server.owner if me[1] == CURRENT else me[1]]
        for by_owner in (False, True):
            if (copy is None or job is None or copy.owner != job.uid) if not by_owner else job is None:
                continue  # the real one reads first what it misses; the model takes that for the watch
            real = await asked(
                world.decisions,
                FakeServer(world.content(server), world.job(server), server.now),
                copy,
                job,
                current=(me[0] == CURRENT, me[1] == CURRENT),
                by_owner=by_owner,
            )
            model = _expected(world, server, me, by_owner)
            if model:
                assert real == model, (server, me, copy, job)
                kinds |= {request[:2] for request in model}
            else:
                # Refused for the old version it names, or in vain: the model leaves it out.
                assert {method for method, _, _ in real} <= {"GET", "LIST"}, (real, copy, job)
    assert {("PATCH", "jobs"), ("PATCH", "workloads"), ("POST", "events"), ("LIST", "workloads")} <= kinds
    if world.setting.settings.ttl is not None:
        assert ("DELETE", "jobs") in kinds


def _chosen(moves: Moves) -> list[tuple[Server, Controller]]:
    """Situations of an idle controller, each action as likely as another: most of them have nothing to do."""
    groups: dict[object, list[tuple[Server, Controller]]] = {}
    for server, me in moves.situations():
        plan = controllers.plan_of(moves.world, server, me) if me[2] == IDLE else None
        if plan is not None:
            stale = (me[0] == CURRENT, me[1] == CURRENT)
            groups.setdefault((plan.kind, plan.unmirror, stale), []).append((server, me))
    chance = random.Random(1)
    return [
        one
        for group in groups.values()
        for one in chance.sample(group, min(len(group), max(2, SITUATIONS // len(groups))))
    ]
