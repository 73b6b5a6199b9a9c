"""Many who ask the same at once: few questions, and no answer older than who asked for it."""

import asyncio

import pytest

from classifier.cluster.sharing import Sharing


class Slow:
    """A question that is answered when a test says so; ``begun`` counts how often it was asked."""

    def __init__(self) -> None:
        self.begun = 0
        self.error: Exception | None = None
        self._answers: list[asyncio.Future[None]] = []

    async def __call__(self) -> None:
        self.begun += 1
        answer = asyncio.get_running_loop().create_future()
        self._answers.append(answer)
        await answer
        if self.error is not None:
            raise self.error

    def answer(self) -> None:
        self._answers.pop(0).set_result(None)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_crowd_asks_twice_and_never_at_once() -> None:
    sharing, slow = Sharing(), Slow()
    first = asyncio.create_task(sharing.ask("queue", slow))
    await turns()
    crowd = [asyncio.create_task(sharing.ask("queue", slow)) for _ in range(50)]
    await turns()
    assert slow.begun == 1
    slow.answer()
    await turns()
    assert first.done()
    assert not any(asker.done() for asker in crowd), "that answer may be older than they are"
    assert slow.begun == 2
    slow.answer()
    await asyncio.gather(*crowd)
    assert slow.begun == 2


async def test_who_comes_later_asks_again_and_other_keys_do_not_wait() -> None:
    sharing, slow = Sharing(), Slow()
    for expected in (1, 2):
        asker = asyncio.create_task(sharing.ask("queue", slow))
        other = asyncio.create_task(sharing.ask(expected, turns))
        await other
        assert not asker.done()
        slow.answer()
        await asker
        assert slow.begun == expected


async def test_trouble_is_shared_and_gone_with_the_next_answer() -> None:
    sharing, slow = Sharing(), Slow()
    slow.error = ValueError("no answer")
    crowd = [asyncio.create_task(sharing.ask("queue", slow)) for _ in range(3)]
    await turns()
    slow.answer()
    await turns()
    late = asyncio.create_task(sharing.ask("queue", slow))
    await turns()
    slow.answer()
    assert [str(error) for error in await asyncio.gather(*crowd, return_exceptions=True)] == ["no answer"] * 3
    slow.error = None
    await turns()
    slow.answer()
    await late
    assert slow.begun == 3


async def test_one_that_gives_up_leaves_the_question_to_the_next() -> None:
    sharing, slow = Sharing(), Slow()
    hasty = asyncio.create_task(sharing.ask("queue", slow))
    patient = asyncio.create_task(sharing.ask("queue", slow))
    await turns()
    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    await turns()
    assert slow.begun == 2
    slow._answers.pop(0)
    slow.answer()
    await patient
