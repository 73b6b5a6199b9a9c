"""Where it ends if nothing more happens: one controller that hears of everything, Kueue's own controllers, and time.

No capacity comes: a wait with its quota reserved and a check pending is one that must end, as any other.

From every state these alone must bring each wait that is due to its decision, each decision to its mirror and its
event, each dead mirror and marker off, and each committed cleanup to the deletion. Time goes on only to the instant the
controller asked to be woken at, as ``controller.deadlines`` does.
"""

from typing import Final

from classifier import api
from tests.exploration import controllers, laws, surroundings
from tests.exploration.controllers import FRESH
from tests.exploration.history import described
from tests.exploration.server import ADMITTED, decision_of, ledger_of, marker_of, note
from tests.exploration.world import Controller, Left, Server, Step, World

#: No state is further from its end than this.
MOST: Final = 60
NO_REST: Final = "it never comes to rest"

_Alone = tuple[Server, Controller]


def _after(step: Step) -> _Alone:
    """A step by others is heard of at once, and nothing the controller was about to do survives it."""
    server = step.server._replace(wrote_workload=False, wrote_owner=False)
    return server, FRESH if step.me is None else step.me


class Endings:
    """Remembers which states end well; ``count`` of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._none_left = world.lefts.of(Left())
        self._good: set[_Alone] = set()
        self._seen: set[int] = set()

    @property
    def count(self) -> int:
        return len(self._good)

    def broken(self, server: int) -> str | None:
        """What is wrong with the end that a server comes to; None if it is as it should be."""
        if server in self._seen:
            return None
        self._seen.add(server)
        current = self._alone(server)
        way: list[_Alone] = []
        while current not in self._good:
            way.append(current)
            if len(way) > MOST:
                return NO_REST
            step = self._next(current)
            if step is None:
                wrong = self._wrong(current[0])
                if wrong is not None:
                    return wrong
                break
            if step.broken is not None:
                return step.broken
            current = _after(step)
        self._good.update(way)
        return None

    def told(self, server: int) -> tuple[str, ...]:
        """The way to a bad end, as lines."""
        lines = ["and if nothing more happens than what must:"]
        current = self._alone(server)
        while (step := self._next(current)) is not None and len(lines) <= MOST:
            name = "" if step.me is None else "the controller "
            lines.append(f"     {name}{step.words}{described(self._world, current[0], step.server)}")
            if step.broken is not None:
                return (*lines, f"     broken: {step.broken}")
            current = _after(step)
        restless = len(lines) > MOST
        return (*lines, f"     broken: {NO_REST if restless else self._wrong(current[0])}")

    def _alone(self, number: int) -> _Alone:
        """One controller, nothing on its way, nobody about, the scheduler busy with others."""
        server = self._world.servers.values[number]
        assert server is not None
        return server._replace(scheduler=0, left=self._none_left), FRESH

    def _next(self, alone: _Alone) -> Step | None:
        server, me = alone
        for step in surroundings.kueue(self._world, server):
            return step._replace(me=None)
        for step in controllers.steps(self._world, server, me):
            return step
        plan = controllers.plan_of(self._world, server, me)
        if plan is not None and plan.until is not None and plan.until > server.now:
            return Step("time passes", server._replace(now=plan.until))
        return None

    def _wrong(self, state: Server) -> str | None:
        world = self._world
        content, job, past = world.content(state), world.job(state), world.past(state)
        if job is None or content is None:
            return None
        live = decision_of(content)
        mirror = note(job.notes, api.ADMISSION_OUTCOME_OF)
        ledger = ledger_of(job)
        if live is not None:
            if mirror != f"{live.uid}/{live.attempt}":
                return "a decision without a mirror"
            if (content.uid, live.attempt, live.at) not in past.told:
                return "a decision without its event"
            if world.setting.settings.ttl is not None and not laws.ran(job, live.at):
                return "a decision is never cleaned up"
            return None
        if mirror is not None:
            return "a mirror of no decision stays"
        if marker_of(content) is not None:
            return "the marker of no decision stays"
        bounded = world.setting.settings.policies[state.policy] is not None and world.setting.settings.enforce
        waits = content.active and not content.traced and (ledger is None or ledger.started is None)
        if bounded and waits and content.phase != ADMITTED:
            return "a wait that is never ended"
        return None
