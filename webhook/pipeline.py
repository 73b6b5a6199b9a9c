"""The path of one review: limit, decode, decide, respond, measure. Each concern is one small wrapper.

Whose fault a failure is decides how it ends: the caller's (a 4xx), the object's (allowed, with a warning), the missing
snapshot's (allowed, with a warning), ours (allowed, with a warning, counted, and logged with its traceback). Never a
5xx: our trouble must not be a reason for the API server to refuse a job.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import cache, lru_cache
from typing import Final
from urllib.parse import parse_qs

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import Counter

from classifier.cluster.client import JSON
from classifier.instant import SECOND, parse_duration
from webhook import kinds, review
from webhook.metrics import Metrics
from webhook.review import Answer, BadReview, Request

log = logging.getLogger(__name__)

Decide = Callable[[Request], Awaitable[Answer]]
#: Whether anybody wants jobs judged; if not, those who submit them are not told that they were not.
Judging = Callable[[], bool]

#: Bytes. Two objects of at most 3 MiB and the rest of a review, as controller-runtime reasons
#: (sigs.k8s.io/controller-runtime pkg/webhook/admission/http.go).
BODY_LIMIT: Final = 7 * 2**20
#: Seconds for a body to arrive. The API server sends one at once; aiohttp itself would wait for ever.
BODY_SECONDS: Final = 5.0
#: Our own time for a decision, seconds, and what we leave of the API server's for the way back.
BUDGET: Final = 1.0
MARGIN: Final = 0.1


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
        raise BadReview(408, "Timeout", f"the body did not arrive within {seconds:g}s", "slow") from None
    except (HttpProcessingError, ClientPayloadError, ConnectionError, web.RequestPayloadError) as error:
        raise BadReview(400, "BadRequest", f"the body broke off: {error or type(error).__name__}") from error


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


def within(seconds: float, decide: Decide, metrics: Metrics, judging: Judging) -> Decide:
    """``decide``, given up after ``seconds``: the job is allowed, and told."""

    async def decided(request: Request) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                return await decide(request)
        except TimeoutError:
            metrics.errors.labels("deadline").inc()
            return _skipped("it took too long", judging)

    return decided


def never_failing(decide: Decide, metrics: Metrics, judging: Judging) -> Decide:
    """``decide``, whose bugs allow the job."""

    async def decided(request: Request) -> Answer:
        try:
            return await decide(request)
        except Exception:
            metrics.errors.labels("internal").inc()
            log.exception("a review failed", extra={"review": request.uid[:64], "namespace": request.namespace[:64]})
            return _skipped("internal error", judging)

    return decided


def _skipped(why: str, judging: Judging) -> Answer:
    return Answer(warnings=(f"muster: preflight skipped: {why}",) if judging() else ())


def endpoint(
    phase: str,
    decide: Decide,
    metrics: Metrics,
    *,
    judging: Judging,
    closing: Callable[[], bool],
    body_seconds: float = BODY_SECONDS,
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The HTTP handler of one phase. ``closing`` tells whether connections should be given up after the answer."""
    observe = metrics.seconds.labels(phase).observe

    @cache
    def counter(kind: str, result: str) -> Counter:
        return metrics.reviews.labels(phase, kind, result)

    async def handle(http: web.Request) -> web.Response:
        started = time.perf_counter()
        kind, result, status = "other", "refused", 200
        try:
            request = review.decode(await read_body(http, body_seconds))
            kind = kinds.name_of(request.kind)
            bounded = within(time_for(http.rel_url.raw_query_string), decide, metrics, judging)
            answer = await never_failing(bounded, metrics, judging)(request)
            result, payload = answer.result, review.encode(request.uid, answer)
        except BadReview as error:
            metrics.errors.labels(error.cause).inc()
            log.info("refused a request", extra={"phase": phase, "status": error.status, "why": str(error)})
            status, payload = error.status, review.encode_refusal(error)
        response = web.Response(status=status, body=payload, content_type=JSON)
        if closing() or not http.content.is_eof():
            # Draining, or the rest of a body that nobody will read is still on its way.
            response.force_close()
        counter(kind, result).inc()
        observe(time.perf_counter() - started)
        return response

    return handle
