"""Many who ask the same at once share the answer: one question a key is under way at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable


class _Turn:
    def __init__(self) -> None:
        self.users = 0
        self.lock = asyncio.Lock()
        #: How many questions were begun, and which of them was the last to be answered.
        self.begun = 0
        self.answered = 0
        self.error: Exception | None = None


class Sharing:
    """Whoever comes while a question is under way shares the next one: no answer is older than who asked for it."""

    def __init__(self) -> None:
        self._turns: dict[Hashable, _Turn] = {}

    async def ask(self, key: Hashable, question: Callable[[], Awaitable[None]]) -> None:
        """Return when ``question`` was answered, by whomever it was asked. Raises what it raised.

        One that was cancelled is no answer: the next in turn asks again.
        """
        turn = self._turns.setdefault(key, _Turn())
        turn.users += 1
        try:
            await _share(turn, question)
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[key]


async def _share(turn: _Turn, question: Callable[[], Awaitable[None]]) -> None:
    before = turn.begun
    async with turn.lock:
        if turn.answered <= before:
            turn.begun += 1
            try:
                await question()
                turn.error = None
            except Exception as error:  # noqa: BLE001  # raised below, in everybody who shares it
                turn.error = error
            turn.answered = turn.begun
        if turn.error is not None:
            raise turn.error
