"""``make fuzz``'s reviews, a few of them; and that what is wrong with an answer is found."""

from typing import Any

import pytest

from tests.fuzz import __main__ as fuzz
from tests.fuzz import reviews
from tests.fuzz.blocks import Failure
from webhook.decide import Reviewer
from webhook.review import Answer, Request


def test_odd_reviews_get_a_sound_answer() -> None:
    assert not isinstance(found := reviews.block(range(3000)), Failure), found


@pytest.fixture
def fresh() -> Any:
    """Endpoints are made once a process."""
    reviews.endpoints.cache_clear()
    yield
    reviews.endpoints.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (None, "it crashed"),
        (({"op": "remove", "path": "/spec/nowhere"},), "the patch does not apply"),
    ],
)
def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, patch: Any, why: str) -> None:
    async def mutate(self: Reviewer, request: Request) -> Answer:
        if patch is None:
            raise ZeroDivisionError
        return Answer(patch)

    monkeypatch.setattr(Reviewer, "mutate", mutate)
    found = reviews.block(range(20))
    assert isinstance(found, Failure)
    assert found.what == "mutate"
    assert found.why.startswith(why)


def test_memory_that_grows_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reviews, "WARM", 1)
    monkeypatch.setattr(reviews, "GROWTH", -1)
    assert fuzz.main(["reviews", "--seed", "0", "--count", "1"]) == 1
    assert "a process grew by" in capsys.readouterr().out


def test_a_run_that_is_sound_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["reviews", "--seed", "0", "--count", "20"]) == 0
    assert "every answer is sound" in capsys.readouterr().out
