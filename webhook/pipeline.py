"""The path of one review: limit, decode, decide, respond, measure. Who carries the bytes is no matter of it.

Whose fault a failure is decides how it ends: the caller's (a 4xx), the object's (allowed, with a warning), the missing
snapshot's (allowed, with a warning), ours (allowed, with a warning, counted, and logged with its traceback). Never a
5xx: our trouble must not be a reason for the API server to refuse a job.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from classifier.cluster.client import JSON
from classifier.instant import SECOND, parse_duration
from webhook import kinds, review, whole
from webhook.metrics import Metrics
from webhook.review import Answer, Asked, BadReview
from webhook.whole import AnyRequest

log = logging.getLogger(__name__)

#: Begun outside of any task, as most decisions end where they begin: what it waits for must be a future or a task.
Decide = Callable[[AnyRequest], Coroutine[Any, Any, Answer]]
#: Whether anybody wants jobs judged; if not, those who submit them are not told that they were not.
Judging = Callable[[], bool]

#: Bytes. Two objects of at most 3 MiB and the rest of a review, as controller-runtime reasons
#: (sigs.k8s.io/controller-runtime pkg/webhook/admission/http.go).
BODY_LIMIT: Final = 7 * 2**20
#: Seconds for a body to arrive. The API server sends one at once; aiohttp itself would wait for ever.
BODY_SECONDS: Final = 5.0
#: Bodies that aiohttp reads at once, and what they ask about: 28 MiB. The API server's are read by others.
AT_ONCE: Final = 4
#: Our own time for a decision, seconds, and what we leave of the API server's for the way back.
BUDGET: Final = 1.0
MARGIN: Final = 0.1

_FAILED: Final = "a review failed"


def too_slow(seconds: float) -> BadReview:
    return BadReview(408, "Timeout", f"the body did not arrive within {seconds:g}s", "slow")


def torn(error: Exception | None) -> BadReview:
    why = str(error or "") or (type(error).__name__ if error else "the connection ended")
    return BadReview(400, "BadRequest", f"the body broke off: {why}")


async def read_body(request: web.Request, seconds: float = BODY_SECONDS) -> bytes:
    """The body of a review. Raises :class:`BadReview` for one that is not JSON, too long, too slow or torn."""
    if request.content_type != JSON:
        raise BadReview(
            415, "UnsupportedMediaType", f"the content type must be {JSON}, not {request.content_type[:64]}"
        )
    too_large = BadReview(413, "RequestEntityTooLarge", f"the body is longer than {BODY_LIMIT} bytes", "too-large")
    if request.content_length is not None and request.content_length > BODY_LIMIT:
        raise too_large
    try:
        if request.content.is_eof():
            # It came with its head, as the API server's do: there is nothing to wait for.
            return await request.read()
        async with asyncio.timeout(seconds):
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise too_large from None
    except TimeoutError:
        raise too_slow(seconds) from None
    except (HttpProcessingError, ClientPayloadError, ConnectionError, web.RequestPayloadError) as error:
        raise torn(error) from error


def budget(query: str | None) -> float:
    """Seconds for one decision. ``query`` is the API server's ``timeout`` parameter, a Go duration."""
    try:
        given = parse_duration(query) / SECOND if query else BUDGET
    except ValueError:
        given = BUDGET
    return max(0.0, min(given - MARGIN, BUDGET))


@lru_cache(maxsize=64)
def time_for(query: str) -> float:
    """:func:`budget` of a whole query string: an API server's is always the same."""
    return budget(next(iter(parse_qs(query).get("timeout", ())), None))


class Reply(NamedTuple):
    """An AdmissionReview, with the HTTP status it goes with."""

    status: int
    payload: bytes


class Endpoint:
    """One phase: from the body of a request to that of its answer. Counts both; fails for no body and no decision."""

    def __init__(self, phase: str, decide: Decide, metrics: Metrics, judging: Judging) -> None:
        self.phase = phase
        self._decide = decide
        self._metrics = metrics
        self._judging = judging

    def answer(self, body: bytes, query: str, started: float) -> Reply | Coroutine[Any, Any, Reply]:
        """At once, or what is left to be waited for where the decision has to wait for something.

        ``query`` of the URL, as it is there; ``started`` by :func:`time.perf_counter`.
        """
        try:
            request: AnyRequest = whole.read(body) or review.decode(body)
        except BadReview as error:
            return self.refuse(error, started)
        try:
            decision = self._decide(request)
            waits_for = decision.send(None)
        except StopIteration as done:
            return self._reply(request, done.value, started)
        except Exception:
            log.exception(_FAILED, extra=_named(request))
            return self._reply(request, self._failed(), started)
        return self._later(request, _Rest(decision, waits_for), time_for(query), started)

    async def _later(self, request: Asked, rest: "_Rest", seconds: float, started: float) -> Reply:
        """Given up after ``seconds``: the job is allowed, and told."""
        try:
            async with asyncio.timeout(seconds):
                answer = await rest
        except TimeoutError:
            self._metrics.errors.labels("deadline").inc()
            answer = self._skipped("it took too long")
        except Exception:
            log.exception(_FAILED, extra=_named(request))
            answer = self._failed()
        return self._reply(request, answer, started)

    def refuse(self, error: BadReview, started: float) -> Reply:
        """The answer to what is no review, or never became one."""
        self._metrics.errors.labels(error.cause).inc()
        log.info("refused a request", extra={"phase": self.phase, "status": error.status, "why": str(error)})
        self._count("other", "refused", started)
        return Reply(error.status, review.encode_refusal(error))

    def _reply(self, request: Asked, answer: Answer, started: float) -> Reply:
        try:
            payload = review.encode(request.uid, answer)
        except Exception:
            log.exception(_FAILED, extra=_named(request))
            answer = self._failed()
            payload = review.encode(request.uid, answer)
        self._count(kinds.name_of(request.kind), answer.result, started)
        return Reply(200, payload)

    def _failed(self) -> Answer:
        """After a bug of ours: the job is allowed."""
        self._metrics.errors.labels("internal").inc()
        return self._skipped("internal error")

    def _skipped(self, why: str) -> Answer:
        return Answer(warnings=(f"muster: preflight skipped: {why}",) if self._judging() else ())

    def _count(self, kind: str, result: str, started: float) -> None:
        self._metrics.reviews.count(self.phase, kind, result, time.perf_counter() - started)


def _named(request: Asked) -> dict[str, str]:
    return {"review": request.uid[:64], "namespace": request.namespace[:64]}


class _Rest(Awaitable[Answer]):
    """A decision that was begun and waits for something, as something to be awaited."""

    def __init__(self, decision: Coroutine[Any, Any, Answer], waits_for: Any) -> None:
        self._decision = decision
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Answer]:
        waits_for = self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:  # noqa: BLE001  # it is the decision's: a cancellation too
                    waits_for = self._decision.throw(error)
                else:
                    waits_for = self._decision.send(sent)
        except StopIteration as done:
            answer: Answer = done.value
            return answer


def application(
    endpoints: Mapping[str, Endpoint], closing: Callable[[], bool], body_seconds: float = BODY_SECONDS
) -> web.Application:
    """The endpoints behind aiohttp, by path. ``closing`` tells whether connections end with the next answer."""
    app = web.Application(client_max_size=BODY_LIMIT)
    room = asyncio.Semaphore(AT_ONCE)
    for path, endpoint in endpoints.items():
        app.router.add_post(path, _handler(endpoint, closing, body_seconds, room))
    return app


def _handler(
    endpoint: Endpoint, closing: Callable[[], bool], body_seconds: float, room: asyncio.Semaphore
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(http: web.Request, started: float) -> Reply:
        try:
            body = await read_body(http, body_seconds)
        except BadReview as error:
            return endpoint.refuse(error, started)
        found = endpoint.answer(body, http.rel_url.raw_query_string, started)
        return found if isinstance(found, Reply) else await found

    async def in_turn(http: web.Request, started: float) -> Reply:
        try:
            async with asyncio.timeout(body_seconds):
                await room.acquire()
        except TimeoutError:
            return endpoint.refuse(too_slow(body_seconds), started)
        try:
            return await answer(http, started)
        finally:
            room.release()

    async def handle(http: web.Request) -> web.Response:
        started = time.perf_counter()
        # What came with its head is there, and short.
        reply = await (answer if http.content.is_eof() else in_turn)(http, started)
        response = web.Response(status=reply.status, body=reply.payload, content_type=JSON)
        if closing() or not http.content.is_eof():
            # Draining, or the rest of a body that nobody will read is still on its way.
            response.force_close()
        return response

    return handle
