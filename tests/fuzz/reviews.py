"""Odd reviews through the real endpoints, in process: no crash, no 5xx, patches that apply, memory flat."""

import asyncio
import base64
import json
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import jsonpatch

from tests.fuzz.blocks import Failure, blocks
from tests.reviews.odd import body
from tests.reviews.world import Decisions
from webhook import pipeline
from webhook.metrics import PHASES, Metrics

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
#: Blocks of a process until everything is imported and every cache is as full as it gets.
WARM: Final = 20
#: Bytes a process may grow by afterwards: the allocator's arenas, not a leak, which a million reviews would show.
GROWTH: Final = 24 * 2**20


class Memory(NamedTuple):
    """Bytes of one process after a block."""

    process: int
    bytes: int


class Endpoints(NamedTuple):
    metrics: Metrics
    by_phase: dict[str, pipeline.Endpoint]


@cache
def endpoints() -> Endpoints:
    """One webhook a process, as it runs."""
    decisions = Decisions()
    reviewer = decisions.reviewer
    decide = {"mutate": reviewer.mutate, "validate": reviewer.validate}
    made = {phase: pipeline.Endpoint(phase, decide[phase], decisions.metrics, lambda: True) for phase in PHASES}
    return Endpoints(decisions.metrics, made)


def block(seeds: range) -> Failure | Memory:
    """The first failure of a block of seeds, else what the process holds."""
    return asyncio.run(_block(seeds))


async def _block(seeds: range) -> Failure | Memory:
    for seed in seeds:
        raw = body(seed)
        for phase in PHASES:
            why = await broken(phase, raw)
            if why is not None:
                return Failure(seed, phase, "answers", why)
    return memory()


async def broken(phase: str, raw: bytes) -> str | None:
    """What is wrong with the answer to a body; None if nothing is."""
    metrics, by_phase = endpoints()
    before = metrics.errors.labels("internal")._value.get()
    reply = by_phase[phase].answer(raw, "timeout=10s", time.perf_counter())
    status, payload = reply if isinstance(reply, pipeline.Reply) else await reply
    if metrics.errors.labels("internal")._value.get() != before:
        return "it crashed (its traceback is in the log)"
    if status >= 500:
        return f"status {status}"
    review = json.loads(payload)
    if (review["apiVersion"], review["kind"]) != ("admission.k8s.io/v1", "AdmissionReview"):
        return f"no AdmissionReview: {review}"
    if status != 200:
        return None
    try:
        request = json.loads(raw)["request"]
    except ValueError:
        return None  # torn within what is not looked into
    return _wrong(request, review["response"])


def _wrong(request: Any, response: Any) -> str | None:
    if response["uid"] != request["uid"]:
        return f"uid {response['uid']}"
    if any(len(warning) > 120 for warning in response.get("warnings", ())):
        return f"a warning is too long: {response['warnings']}"
    if "patch" in response:
        try:
            jsonpatch.apply_patch(request["object"], json.loads(base64.b64decode(response["patch"])))
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            return f"the patch does not apply: {error}"
    return None


def run(seeds: range, say: Callable[[str], None]) -> Failure | None:
    """The first failure there is; of memory too, once a process has been through enough to tell."""
    began = time.monotonic()
    held: dict[int, list[int]] = {}

    def take(memory: Memory) -> Failure | None:
        sizes = held.setdefault(memory.process, [])
        sizes.append(memory.bytes)
        grown = memory.bytes - max(sizes[:WARM])
        why = f"a process grew by {grown >> 20} MiB in {len(sizes)} blocks"
        return Failure(seeds.start, "reviews", "memory", why) if grown > GROWTH else None

    failure = blocks(seeds, block, say, "reviews", take)
    if failure is None:
        most = max((max(sizes[WARM:], default=0) - max(sizes[:WARM]) for sizes in held.values()), default=0)
        grown = f"memory grew by {max(0, most) / 2**20:.1f} MiB"
        say(f"{len(seeds)} reviews, both phases, in {time.monotonic() - began:.0f} s: every answer is sound, {grown}")
    return failure


def memory() -> Memory:
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    return Memory(os.getpid(), resident * _PAGE)
