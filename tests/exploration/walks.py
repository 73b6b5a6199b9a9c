"""Random histories in a world with wider bounds than can be explored: many Workloads of one job, changes of policy."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

from tests.exploration.decisions import Settings
from tests.exploration.ending import Endings
from tests.exploration.explore import told
from tests.exploration.moves import Move, Moves
from tests.exploration.world import Left, Setting, State, World

#: Steps of one history.
LENGTH: Final = 90
#: Histories in one world: what is known of it is shared, and forgotten after them.
SHARED: Final = 250
#: Most waits would end with an admission, and soon.
WEIGHTS: Final = {"time passes": 3.0, "Kueue's scheduler reserves quota": 0.2, "a person deletes the job": 0.2}
#: How often one looks where a history would end if nothing more happened: at each step with this chance, and at last.
ENDING: Final = 0.05

_LEFT: Final = Left(3, 3, 4, 2, 4, 3, 1, 2, 1, 1, 4)
_POLICIES: Final = Settings(policies=(1, 2, None, 3))
_CLEANED: Final = _POLICIES._replace(ttl=2)
WORLDS: Final = (
    Setting(_LEFT, _POLICIES, horizon=9),
    Setting(_LEFT, _POLICIES, checks=True, horizon=9),
    Setting(_LEFT, _CLEANED, horizon=9),
    Setting(_LEFT, _CLEANED._replace(notice=None), checks=True, horizon=9),
)


class Walked(NamedTuple):
    histories: int
    steps: int
    commits: int
    broken: str | None = None
    history: tuple[str, ...] = ()


def walk(seeds: range, setting: Setting) -> Walked:
    """One history for each seed, to the first that breaks a law."""
    world = World(setting)
    moves, endings = Moves(world), Endings(world)
    steps = commits = 0
    for count, seed in enumerate(seeds, 1):
        chance = random.Random(seed)
        state = moves.start()
        way = [state]
        for _ in range(LENGTH):
            move = _next(moves, way[-1], chance)
            if move is None:
                break
            way.append(move.state)
            steps += 1
            if move.broken is not None:
                return Walked(count, steps, commits, f"seed {seed}: {move.broken}", told(moves, way, move.broken))
            if chance.random() < ENDING:
                broken = endings.broken(move.state[0])
                if broken is not None:
                    return Walked(count, steps, commits, f"seed {seed}: {broken}", _ended(moves, endings, way))
        broken = endings.broken(way[-1][0])
        if broken is not None:
            return Walked(count, steps, commits, f"seed {seed}: {broken}", _ended(moves, endings, way))
        commits += len(world.past(moves.server(way[-1][0])).commits)
    return Walked(len(seeds), steps, commits)


def _next(moves: Moves, state: State, chance: random.Random) -> Move | None:
    """One of the controllers most of the time, while they have something to do: others wait for them, too."""
    turn = chance.random()
    options = list(moves.of_controller(state, int(turn < 0.4)) if turn < 0.8 else moves.of_lost(state))
    if not options:
        options = list(moves.of_others(state))
    weights = [WEIGHTS.get(move.words, 1.0) for move in options]
    return chance.choices(options, weights)[0] if options else None


def _ended(moves: Moves, endings: Endings, way: list[State]) -> tuple[str, ...]:
    return (*told(moves, way), *endings.told(way[-1][0]))


def run(first: int, count: int, say: Callable[[str], None] = lambda line: None, processes: int = 1) -> Walked:
    """``count`` histories from the seed ``first`` on, in all worlds by turns."""
    starts = range(first, first + count, SHARED)
    jobs = [range(at, min(at + SHARED, first + count)) for at in starts]
    settings = [WORLDS[number % len(WORLDS)] for number in range(len(jobs))]
    total = Walked(0, 0, 0)
    with ProcessPoolExecutor(processes) if processes > 1 else _Here() as pool:
        for done in pool.map(walk, jobs, settings):
            histories, steps, commits = (a + b for a, b in zip(total[:3], done[:3], strict=True))
            total = Walked(histories, steps, commits, done.broken, done.history)
            if done.broken is not None:
                return total
            if total.histories % (20 * SHARED) == 0:
                say(f"{total.histories} of {count} histories, {total.steps} steps, {total.commits} decisions")
    return total


class _Here:
    """A pool of this process alone."""

    def __enter__(self) -> "_Here":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def map(
        self, function: Callable[[range, Setting], Walked], seeds: list[range], settings: list[Setting]
    ) -> Iterator[Walked]:
        return map(function, seeds, settings)
