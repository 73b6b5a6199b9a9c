"""From a state to those after it: whose copies a change makes old, and which requests it overtakes.

What a controller may do depends on the server and on itself alone, what others may do on the server: each is worked out
once and remembered.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.exploration import controllers, surroundings
from tests.exploration.controllers import FRESH
from tests.exploration.server import CURRENT, ledger_of
from tests.exploration.world import Controller, Server, State, Step, World


class Move(NamedTuple):
    """A step as numbers. ``who`` is 0 or 1 for a controller, -1 for others."""

    state: State
    who: int
    words: str
    broken: str | None


class _Known(NamedTuple):
    """A step, worked out: ``old_workload`` and ``old_owner`` are the contents it made old, or None."""

    words: str
    broken: str | None
    server: int
    me: int
    lost: int
    old_workload: int | None
    old_owner: int | None


class Moves:
    def __init__(self, world: World) -> None:
        self.world = world
        self.alike = world.setting.controllers > 1 and not world.setting.behind
        self._around: dict[int, list[_Known]] = {}
        self._of: dict[tuple[int, int, int], list[_Known]] = {}
        self._late: dict[tuple[int, int], _Known] = {}
        self._heard: dict[tuple[int, int, int | None, int | None], list[tuple[int, int]]] = {}
        self._kept: dict[tuple[int, bool, bool], int] = {}
        self._beyond: dict[int, bool] = {}

    def start(self) -> State:
        world = self.world
        me = world.controllers.of(FRESH)
        return world.servers.of(world.start()), me, me, 0

    def after(self, state: State) -> Iterator[Move]:
        """Every step from ``state``. A change reaches a watch at once, or that watch falls behind."""
        for who in range(self.world.setting.controllers):
            yield from self.of_controller(state, who)
        if state[3]:
            yield from self.of_lost(state)
        yield from self.of_others(state)

    def of_controller(self, state: State, who: int) -> Iterator[Move]:
        for known in self._steps_of(state[0], state[1 + who], who):
            yield from self._carried_out(state, known, who)

    def of_lost(self, state: State) -> Iterator[Move]:
        for number in self._lost(state[3]) if state[3] else ():
            yield from self._carried_out(state, self._reaching(state[0], number), -1, number)

    def of_others(self, state: State) -> Iterator[Move]:
        known_around = self._around.get(state[0])
        if known_around is None:
            found = surroundings.steps(self.world, self.server(state[0]))
            known_around = self._around[state[0]] = [self._known(state[0], step) for step in found]
        for known in known_around:
            yield from self._carried_out(state, known, -1)

    def situations(self) -> Iterator[tuple[Server, Controller]]:
        """All that a controller could find itself in, with the server as it was then."""
        for server, me, _ in self._of:
            yield self.server(server), self.controller(me)

    def words(self) -> frozenset[str]:
        """Every kind of step that was possible somewhere, without what it was about."""
        known = [*self._around.values(), *self._of.values(), self._late.values()]
        return frozenset(step.words.partition(":")[0] for steps in known for step in steps)

    def canonical(self, state: State) -> tuple[State, bool]:
        """Of two states that differ in the controllers' order one stands for both; whether it was turned."""
        if not self.alike or state[1] <= state[2]:
            return state, False
        return (state[0], state[2], state[1], state[3]), True

    def beyond(self, state: State) -> bool:
        """Whether the job's ledger is past the last attempt that this world is followed to."""
        owner = self.server(state[0]).owner
        known = self._beyond.get(owner)
        if known is None:
            job = self.world.owners.values[owner]
            ledger = ledger_of(job) if job is not None else None
            known = self._beyond[owner] = ledger is not None and ledger.attempt > self.world.setting.attempts
        return known

    def server(self, number: int) -> Server:
        server = self.world.servers.values[number]
        assert server is not None
        return server

    def controller(self, number: int) -> Controller:
        controller = self.world.controllers.values[number]
        assert controller is not None
        return controller

    # --- steps, worked out once -------------------------------------------------------------------------------

    def _lost(self, number: int) -> tuple[int, ...]:
        lost = self.world.losts.values[number]
        assert lost is not None
        return lost

    def _steps_of(self, server: int, me: int, who: int) -> list[_Known]:
        behind = self.world.setting.behind if who else 0
        key = (server, me, behind)
        known = self._of.get(key)
        if known is None:
            found = controllers.steps(self.world, self.server(server), self.controller(me), behind)
            known = self._of[key] = [self._known(server, step) for step in found]
        return known

    def _reaching(self, server: int, number: int) -> _Known:
        known = self._late.get((server, number))
        if known is None:
            step = controllers.late(self.world, self.server(server), number)
            known = self._late[server, number] = self._known(server, step)
        return known

    def _known(self, before: int, step: Step) -> _Known:
        old, new = self.server(before), step.server
        return _Known(
            step.words,
            step.broken,
            self.world.servers.of(new._replace(wrote_workload=False, wrote_owner=False)),
            0 if step.me is None else self.world.controllers.of(step.me),
            step.lost,
            old.workload if new.wrote_workload else None,
            old.owner if new.wrote_owner else None,
        )

    # --- what others make of it -------------------------------------------------------------------------------

    def _carried_out(self, state: State, known: _Known, who: int, landed: int = 0) -> Iterator[Move]:
        _, first, second, lost = state
        words, broken, server, me, dropped, old_workload, old_owner = known
        if old_workload is None and old_owner is None:
            if who == 0:
                first = me
            elif who == 1:
                second = me
            if dropped or landed:
                lost = self._losts_after(lost, dropped, landed, False, False)
            yield Move((server, first, second, lost), who, words, broken)
            return
        if lost or dropped:
            lost = self._losts_after(lost, dropped, landed, old_workload is not None, old_owner is not None)
        firsts = [(me, server)] if who == 0 else self._hearing(server, first, old_workload, old_owner)
        for one, then in firsts:
            seconds = [(me, then)] if who == 1 else self._hearing(then, second, old_workload, old_owner)
            for two, last in seconds:
                yield Move((last, one, two, lost), who, words, broken)

    def _losts_after(self, lost: int, dropped: int, landed: int, workload: bool, owner: bool) -> int:
        numbers = {n for n in (self._lost(lost) if lost else ()) if n != landed}
        numbers = {self.world.overtaken(n, workload, owner) for n in numbers} - {0}
        if dropped:
            numbers.add(dropped)
        return self.world.losts.of(tuple(sorted(numbers))) if numbers else 0

    def _hearing(self, server: int, me: int, old_workload: int | None, old_owner: int | None) -> list[tuple[int, int]]:
        """A controller after somebody else's change, with the server after that: its watches tell at once or lag."""
        key = (server, me, old_workload, old_owner)
        known = self._heard.get(key)
        if known is None:
            known = self._heard[key] = list(self._hear(server, self.controller(me), old_workload, old_owner))
        return known

    def _hear(
        self, server: int, me: Controller, old_workload: int | None, old_owner: int | None
    ) -> Iterator[tuple[int, int]]:
        world = self.world
        workload, owner, number = me
        doing = world.overtaken(number, old_workload is not None, old_owner is not None)
        lagging = [
            copy for copy, old in ((workload, old_workload), (owner, old_owner)) if copy == CURRENT and old is not None
        ]
        yield world.controllers.of((workload, owner, doing)), server
        if lagging and world.left(self.server(server)).lags:
            spent = world.servers.of(world.spend(self.server(server), "lags"))
            behind = (
                old_workload if workload == CURRENT and old_workload is not None else workload,
                old_owner if owner == CURRENT and old_owner is not None else owner,
            )
            yield world.controllers.of((*behind, doing)), spent
