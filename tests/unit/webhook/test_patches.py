"""10,000 objects of every kind: a patch that does not apply would reject the job even where the webhook fails open."""

from random import Random

import pytest

from classifier import api
from tests.reviews.laws import check
from tests.reviews.objects import KINDS, made
from tests.reviews.world import Decisions

EACH = 10_000 // len(KINDS) + 1


@pytest.mark.parametrize("name", KINDS)
def test_every_patch_applies_is_needed_once_and_touches_only_what_is_ours(name: str) -> None:
    decisions, stamped = Decisions(), 0
    for seed in range(EACH):
        random = Random(f"{name} {seed}")
        obj = made(KINDS[name], random)
        created = check(KINDS[name], obj, decisions)
        stamped += api.SUBMITTED_AT in (created["metadata"].get("annotations") or {})
    if name != "workload":
        assert stamped > EACH / 2, "most of them are objects that a policy touches"
