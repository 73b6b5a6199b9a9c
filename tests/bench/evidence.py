"""The memory of a full evidence ring: 256 stripped pods, beside the same pods whole."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from classifier.objects import Pod
from classifier.state import Ring
from tests.bench import Figure, Say
from tests.bench.pods import pod

MIB: Final = 2**20


def run(say: Say) -> Iterator[Figure]:
    raw = [msgspec.json.encode(pod(index, exit_code=1)) for index in range(512)]
    decoder = msgspec.json.Decoder(Pod)

    def ring() -> Ring:
        kept = Ring()
        for body in raw:
            kept.deleted("tj-1", decoder.decode(body))
        return kept

    stripped = _bytes(ring)
    whole = _bytes(lambda: [decoder.decode(body) for body in raw[256:]])
    yield Figure("evidence ring after 512 deletions", stripped / MIB, "MiB", most=1.0)
    yield Figure("evidence ring after 512 deletions", stripped / whole, "", "the same 256 pods as decoded")


def _bytes(make: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        current, _ = tracemalloc.get_traced_memory()
        del kept
        return current
    finally:
        tracemalloc.stop()
