"""Verdicts are told at a bounded rate, once, and what is too much is dropped."""

import asyncio
from typing import Any

import pytest

from classifier.cluster.client import ApiError
from classifier.fit import Outcome, Verdict
from classifier.objects import Workload
from controller import telling as module
from controller.metrics import Metrics
from controller.telling import Telling
from tests.builders import T0, workload

pytestmark = pytest.mark.looptime


class _Time:
    def now(self) -> int:
        return T0


class Server:
    """Takes events; ``refusal`` is raised by each."""

    time = _Time()

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refusal: ApiError | None = None

    async def request(self, method: str, path: str, body: dict[str, Any]) -> bytes:
        if self.refusal is not None:
            raise self.refusal
        self.events.append(body)
        return b""

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(event["related"]["name"], event["reason"].removeprefix("Preflight")) for event in self.events]


def verdict(outcome: Outcome, line: str = "as it is") -> Verdict:
    return Verdict(outcome=outcome, line=line, reason=line)


NEVER, FITS, UNKNOWN = verdict(Outcome.NEVER_FITS), verdict(Outcome.FITS), verdict(Outcome.UNKNOWN)


class Fixture:
    def __init__(self) -> None:
        self.server, self.metrics = Server(), Metrics()
        self.workloads: dict[str, Workload] = {}
        self.telling = Telling(self.server, self.workloads, self.metrics, "muster-0", asyncio.get_running_loop().time)  # type: ignore[arg-type]

    def look(self, found: Verdict, name: str = "one", uid: str | None = None) -> None:
        made = workload(name)
        self.workloads[name] = (made.metadata(uid=uid) if uid else made).done()
        self.telling.look(name, found.outcome, found.line)

    async def settle(self, seconds: float = 1.0) -> None:
        task = asyncio.create_task(self.telling.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_the_same_verdict_is_told_once() -> None:
    fixture = Fixture()
    for _ in range(3):
        fixture.look(NEVER)
        await fixture.settle()
    assert fixture.server.told == [("one", "NeverFits")]


async def test_another_reason_is_told_too() -> None:
    fixture = Fixture()
    for line in ("first", "second"):
        fixture.look(verdict(Outcome.NEVER_FITS, line))
        await fixture.settle()
    assert [event["note"] for event in fixture.server.events] == ["first", "second"]


@pytest.mark.parametrize("found", [FITS, UNKNOWN, verdict(Outcome.MISCONFIGURED), verdict(Outcome.SKIPPED)])
async def test_what_was_never_told_has_nothing_to_take_back(found: Verdict) -> None:
    fixture = Fixture()
    fixture.look(found)
    await fixture.settle()
    assert fixture.server.told == []


async def test_a_doubt_takes_nothing_back_and_a_fit_does() -> None:
    fixture = Fixture()
    for found in (NEVER, UNKNOWN, NEVER, FITS, UNKNOWN, FITS):
        fixture.look(found)
        await fixture.settle()
    assert fixture.server.told == [("one", "NeverFits"), ("one", "Fits")]


async def test_what_has_changed_back_before_it_was_told_is_not_told() -> None:
    fixture = Fixture()
    fixture.look(NEVER)
    fixture.look(FITS)
    await fixture.settle()
    assert fixture.server.told == []


async def test_another_workload_of_the_name_was_told_nothing() -> None:
    fixture = Fixture()
    for uid in ("first", "second"):
        fixture.look(NEVER, uid=uid)
        await fixture.settle()
    assert len({event["metadata"]["name"] for event in fixture.server.events}) == 2


async def test_what_waits_no_more_is_not_told_any_more() -> None:
    fixture = Fixture()
    fixture.look(NEVER)
    fixture.telling.forget("one")
    await fixture.settle()
    assert fixture.server.told == []


async def test_so_many_a_second_and_no_more_than_there_is_room_for() -> None:
    fixture = Fixture()
    for number in range(module.ROOM + 100):
        fixture.look(NEVER, f"w{number}")
    assert fixture.metrics.registry.get_sample_value("muster_untold_verdicts_total") == 100
    await fixture.settle(10.0)
    assert len(fixture.server.events) == pytest.approx(module.BURST + 10 * module.RATE, abs=2)
    await fixture.settle(1000.0)
    assert len(fixture.server.events) == module.ROOM


async def test_what_found_no_room_is_told_after_the_next_look() -> None:
    fixture = Fixture()
    names = [f"w{number}" for number in range(module.ROOM + 1)]
    for _ in range(2):
        for name in names:
            fixture.look(NEVER, name)
        await fixture.settle(1000.0)
    assert len(fixture.server.events) == len(names)


async def test_a_refusal_is_not_tried_again_and_one_with_a_time_holds_up_the_others() -> None:
    fixture = Fixture()
    fixture.server.refusal = ApiError(429, "TooManyRequests", "later", 20.0)
    fixture.look(NEVER)
    await fixture.settle(1.0)
    fixture.server.refusal = None
    fixture.look(NEVER)
    fixture.look(NEVER, "two")
    await fixture.settle(10.0)
    assert fixture.server.told == []
    await fixture.settle(15.0)
    assert fixture.server.told == [("two", "NeverFits")]
