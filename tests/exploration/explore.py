"""Visits every state within a bound, breadth first, and tells how a bad one is reached by the shortest way."""

from array import array
from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from tests.exploration.ending import Endings
from tests.exploration.history import described
from tests.exploration.moves import Move, Moves
from tests.exploration.world import Setting, State, World


class Found(NamedTuple):
    """``broken`` is the law that does not hold, with the ``history`` that leads there; None: all hold everywhere.

    ``depth`` is the length of the longest history without a detour, ``steps`` are the kinds of steps there were.
    ``beyond`` of the states were not gone on from: see :attr:`Setting.attempts`.
    """

    states: int
    transitions: int
    depth: int
    decisions: int
    endings: int
    steps: frozenset[str]
    beyond: int
    broken: str | None = None
    history: tuple[str, ...] = ()


def explore(
    setting: Setting,
    say: Callable[[str], None] = lambda line: None,
    every: int = 100_000,
    moves: Moves | None = None,
) -> Found:
    """Go through all states of ``setting``, or to the first in which a law is broken; ``moves`` keeps what was met."""
    moves = moves or Moves(World(setting))
    world, endings = moves.world, Endings(moves.world)
    canonical = moves.canonical
    states = [packed(moves.start())]
    known, parents = set(states), array("q", [-1])
    transitions, at, depth, end_of_layer, beyond = 0, 0, 0, 1, 0

    def found(broken: str | None = None, history: tuple[str, ...] = ()) -> Found:
        asked, words = world.decisions.asked, moves.words()
        return Found(len(states), transitions, depth, asked, endings.count, words, beyond, broken, history)

    def way(number: int) -> list[State]:
        steps: list[State] = []
        while number >= 0:
            steps.append(unpacked(states[number]))
            number = parents[number]
        return steps[::-1]

    while at < len(states):
        if at == end_of_layer:
            depth, end_of_layer = depth + 1, len(states)
        state = unpacked(states[at])
        broken = endings.broken(state[0])
        if broken is not None:
            return found(broken, (*told(moves, way(at)), *endings.told(state[0])))
        if moves.beyond(state):
            beyond, at = beyond + 1, at + 1
            continue
        for move in moves.after(state):
            transitions += 1
            if move.broken is not None:
                return found(move.broken, told(moves, [*way(at), canonical(move.state)[0]], move.broken))
            after = packed(canonical(move.state)[0])
            if after not in known:
                known.add(after)
                states.append(after)
                parents.append(at)
                if len(states) % every == 0:
                    say(
                        f"{len(states)} states, {transitions} transitions, {len(states) - at} to visit, "
                        f"histories of {depth} steps"
                    )
        at += 1
    return found()


#: Bits of a server's number, and of a controller's.
_SERVER: Final = 28
_CONTROLLER: Final = 20


def packed(state: State) -> int:
    """A state as one number: of millions that takes the least room."""
    server, first, second, lost = state
    return ((lost << _CONTROLLER | second) << _CONTROLLER | first) << _SERVER | server


def unpacked(number: int) -> State:
    controllers = number >> _SERVER
    mask = (1 << _CONTROLLER) - 1
    return (
        number & ((1 << _SERVER) - 1),
        controllers & mask,
        controllers >> _CONTROLLER & mask,
        controllers >> 2 * _CONTROLLER,
    )


def told(moves: Moves, way: list[State], broken: str | None = None) -> tuple[str, ...]:
    """The history as lines. Controllers keep their names, although a state may show them in another order."""
    lines: list[str] = []
    turned = False
    for before, after in pairwise(way):
        move, turns = _step(moves, before, after, broken if len(lines) == len(way) - 2 else None)
        who = move.who if move.who < 0 else move.who ^ turned
        name = "" if who < 0 else f"controller {'AB'[who]} "
        changed = described(moves.world, moves.server(before[0]), moves.server(after[0]))
        lines.append(f"{len(lines) + 1:3}. {name}{move.words}{changed}{_lagging(moves, before, move, turned)}")
        turned ^= turns
    if broken is not None:
        lines.append(f"     broken: {broken}")
    return tuple(lines)


def _step(moves: Moves, before: State, after: State, broken: str | None) -> tuple[Move, bool]:
    for move in moves.after(before):
        same, turns = (after, False) if move.state == after else moves.canonical(move.state)
        if same == after and move.broken == broken:
            return move, turns
    raise AssertionError("no step leads there")


def _lagging(moves: Moves, before: State, move: Move, turned: bool) -> str:
    """Whose watch has fallen behind in this step."""
    words = ""
    for who in {0, 1} - {move.who}:
        was, now = moves.controller(before[1 + who]), moves.controller(move.state[1 + who])
        for copy, kind in ((0, "Workloads"), (1, "Jobs")):
            if was[copy] == -1 and now[copy] != -1:
                words += f" (controller {'AB'[who ^ turned]}'s watch of {kind} falls behind)"
    return words
