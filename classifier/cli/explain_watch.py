"""``muster explain JOB -w``: every change of a job's objects, until somebody has seen enough."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final, NoReturn

import msgspec

from classifier.cli.output import say, say_data, say_json_line, warn
from classifier.cli.progress import telling
from classifier.cluster.backend import Backend
from classifier.cluster.backoff import Backoff
from classifier.cluster.client import ApiError, ClientError
from classifier.instant import SECOND, format_instant
from classifier.report.encode import observation_json
from classifier.report.explain import explain_lines
from classifier.state import Explanation, Observation, Ref

#: Seconds that a stream may be closed before it is worth a word, and that a good one lives.
PATIENCE: Final = 5.0
#: First and longest pause before the next subscription, seconds.
PAUSES: Final = (0.2, 10.0)

Show = Callable[[Explanation], None]


async def follow(
    backend: Backend, job: str, namespace: str, form: str | None, now: Callable[[], int], at: int | None = None
) -> NoReturn:
    """Ends by Ctrl-C alone. Raises what makes the first read fail. ``at``: the clock is fixed there (``--now``)."""
    show = shower(form, now)
    changes = Changes(lambda explanation: show(seen(explanation, at)))
    async with telling(f"reading job {job}"):
        first = await backend.find(job)
    if not first:
        warn(f"no object of job {job} exists in namespace {namespace} so far; waiting for one, Ctrl-C ends it")
    changes.whole(first, backend.notes)
    with backend.keeping(job):
        await subscribe(backend, job, changes)
    raise AssertionError("a subscription has no end")


def seen(explanation: Explanation, at: int | None) -> Explanation:
    """With ``--now`` it was seen then."""
    if at is None:
        return explanation
    observation = msgspec.structs.replace(explanation.observation, seen_at=at)
    return msgspec.structs.replace(explanation, observation=observation)


class Changes:
    """Passes on what differs from the last that was said of the same object, whoever says it; each note once."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._last: dict[Ref, Observation] = {}
        self._noted: set[str] = set()

    def one(self, explanation: Explanation) -> None:
        observation = explanation.observation
        ref = observation.ref
        if not observation.same(self._last.get(ref)):
            self._last[ref] = observation
            self._show(explanation)

    def whole(self, explanations: Sequence[Explanation], notes: Iterable[str]) -> None:
        """All there is now: what is gone need not be remembered."""
        self.there([explanation.observation.ref for explanation in explanations])
        self.all(explanations, notes)

    def there(self, refs: Collection[Ref]) -> None:
        """These are all: the others are gone, which no observation can say."""
        there = set(refs)
        for ref in [ref for ref in self._last if ref not in there]:
            del self._last[ref]
            warn(f"{ref.kind} {ref.namespace}/{ref.name} is gone")

    def all(self, explanations: Iterable[Explanation], notes: Iterable[str]) -> None:
        for note in notes:
            if note not in self._noted:
                self._noted.add(note)
                warn(note)
        for explanation in explanations:
            self.one(explanation)


async def subscribe(
    backend: Backend,
    job: str,
    changes: Changes,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Follow the stream, and subscribe again whenever it closes. A word if it stays closed; never an end."""
    backoff = Backoff(*PAUSES)
    closed: float | None = None
    told = False
    while True:
        began = monotonic()
        async with contextlib.aclosing(backend.watch(job, changes.there)) as stream:
            async for explanation in stream:
                changes.all([explanation], backend.notes)
        if monotonic() - began >= PATIENCE:
            closed, told = None, False
            backoff.reset()
        closed = monotonic() if closed is None else closed
        why = backend.closed_because or "it ends at once"
        retry_after: float | None = None
        while True:
            if not told and monotonic() - closed >= PATIENCE:
                told = True
                warn(f"the stream of job {job} stays closed ({why}); trying again until it opens")
            await sleep(backoff.next(retry_after))
            try:
                # What happened meanwhile, and whether there is any use in subscribing.
                changes.whole(await backend.find(job), backend.notes)
                break
            except (ClientError, ApiError) as error:
                why = str(error)
                retry_after = error.retry_after if isinstance(error, ApiError) else None


def shower(form: str | None, now: Callable[[], int]) -> Show:
    """How one observation is printed: a JSON line, a YAML document, or the lines of ``explain`` under their time."""

    def json_line(explanation: Explanation) -> None:
        say_json_line(observation_json(explanation.observation))

    def document(explanation: Explanation) -> None:
        print("---")
        say_data(observation_json(explanation.observation), "yaml")
        sys.stdout.flush()

    def block(explanation: Explanation) -> None:
        at = explanation.observation.seen_at // SECOND * SECOND
        say([f"--- {format_instant(at)}", *explain_lines(explanation, now(), wide=form == "wide")])
        sys.stdout.flush()

    return {"json": json_line, "yaml": document}.get(form or "", block)
