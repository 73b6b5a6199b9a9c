"""Rows of reference/classification.md §C9 and §C10: which finding wins, and which pods are the current run."""

import pytest

from classifier.state.observation import Execution
from tests.unit.state.builders import (
    JS,
    TJ,
    Input,
    PodTold,
    Said,
    captured,
    ended,
    full,
    plain,
    pod,
    running,
    said,
    vector,
)

FAILED = "Failed=True/FailedJobs: why"


def dead(name: str, at: str = "10:00:00", code: int = 1) -> PodTold:
    return pod(name).failed().exit(code, at=at)


def lost(name: str, reason: str, at: str = "10:00:00") -> PodTold:
    return pod(name).failed().has(f"DisruptionTarget=True/{reason}@{at}")


def exits(*others: str) -> str:
    return "; other ranks: " + ", ".join(f"{name} non-zero-exit (exit code 1)" for name in others)


WINNER = [
    vector(
        "C9 the earlier date, whatever its kind",
        plain(TJ(FAILED), JS(), lost("p0", "DeletionByPodGC", "10:00:01"), dead("p1", "10:00:00")),
        ended(
            "non-zero-exit",
            "container",
            "pod p1: exit code 1; other ranks: p0 node-lost (DeletionByPodGC)",
            R=1,
        ),
    ),
    vector(
        "C9 an undated finding after all dated ones, whatever its kind",
        plain(TJ(FAILED), JS(), lost("p0", "DeletionByPodGC", "-"), dead("p1", "23:59:59")),
        ended(
            "non-zero-exit",
            "container",
            "pod p1: exit code 1; other ranks: p0 node-lost (DeletionByPodGC)",
            R=1,
        ),
    ),
    *(
        vector(
            f"C9 a date nobody can read is none: {at!r}",
            plain(TJ(FAILED), JS(), lost("p0", "DeletionByPodGC").metadata(), dead("p1", "23:59:59")).but(
                dead("p2", at)
            ),
            ended(
                "node-lost",
                "pod",
                "pod p0: DeletionByPodGC" + exits("p1", "p2"),
                R=1,
            ),
        )
        for at in ("soon", "2026-13-01T00:00:00Z", "")
    ),
    vector(
        "C9 dates are instants, not texts",
        plain(TJ(FAILED), JS(), dead("p0", "2026-11-29T10:00:05Z"), dead("p1", "2026-11-29T11:00:04+01:00")),
        ended("non-zero-exit", "container", "pod p1: exit code 1" + exits("p0"), R=1),
    ),
    vector(
        "C9 all others come last at one instant, by pod",
        plain(
            TJ(FAILED),
            JS(),
            lost("p0", "SomethingNew"),
            pod("p1").failed("OutOfcpu", "full").has("Ready=False/PodFailed"),
            pod("p2").failed("DeadlineExceeded", "late").has("Ready=False/PodFailed"),
            dead("p3"),
        ),
        ended(
            "non-zero-exit",
            "container",
            "pod p3: exit code 1; other ranks: p0 unknown (SomethingNew), p1 no-capacity (OutOfcpu: full), "
            "p2 timeout (DeadlineExceeded: late)",
            R=1,
        ),
    ),
    vector(
        "C9 then by pod name, as text",
        plain(TJ(FAILED), JS(), dead("p2"), dead("p10"), dead("p1")),
        ended("non-zero-exit", "container", "pod p1: exit code 1" + exits("p10", "p2"), R=1),
    ),
    vector(
        "C9 then the condition before the container",
        plain(TJ(FAILED), JS(), lost("p0", "odd").exit(255, "Unknown")),
        ended("unknown", "", "pod p0: odd; other ranks: p0 unknown (exit code 255 (Unknown))", R=1),
    ),
    vector(
        "C9 live and captured alike",
        plain(
            TJ(FAILED), JS(), dead("p1", "10:00:02"), captured(dead("p2", "10:00:01")), captured(dead("p0", "10:00:03"))
        ),
        ended("non-zero-exit", "container", "pod p2: exit code 1" + exits("p1", "p0"), R=1),
    ),
]

EXECUTION = [
    vector("C10 none without a pod", plain(TJ(), JS()), running()),
    vector("C10 R = A + J", plain(TJ(), JS(), pod("p0").run(3, 2)), running(R=5)),
    vector("C10 nought is a number", plain(TJ(), JS(), pod("p0").run(0, 0)), running(R=0)),
    *(
        vector(f"C10 not counted: admission {a!r}, attempt {j!r}", plain(TJ(), JS(), pod("p0").run(a, j)), running())
        for a, j in ((None, 0), (1, None), ("", 0), ("+1", 0), ("-1", 0), ("1.0", 0), (" 1", 0), ("1\n", 0), ("١", 0))
    ),
    vector("C10 the largest number", plain(TJ(), JS(), pod("p0").run(2**63 - 1, 0)), running(R=2**63 - 1)),
    *(
        vector(f"C10 no number of Go's: {len(digits)} digits", plain(TJ(), JS(), pod("p0").run(digits, 0)), running())
        for digits in (str(2**63), "9" * 20, "9" * 5000)
    ),
    vector(
        "C10 the highest R alone is evidence",
        plain(TJ(FAILED), JS(), dead("p0").run(1, 0), dead("p1", "10:30:00").run(1, 1)),
        ended("non-zero-exit", "container", "pod p1: exit code 1", R=2),
    ),
    vector(
        "C10 of equal R the higher A",
        plain(TJ(FAILED), JS(), dead("p0", code=7).run(1, 1), dead("p1", "10:30:00").run(2, 0)),
        ended("non-zero-exit", "container", "pod p1: exit code 1", R=2),
    ),
    vector(
        "C10 an uncounted pod is no evidence while there is an execution",
        plain(TJ(FAILED), JS(), dead("p0", code=7).run(None, 0), dead("p1", "10:30:00")),
        ended("non-zero-exit", "container", "pod p1: exit code 1", R=1),
    ),
    vector(
        "C10 captured pods count: a later run is known though its pods are gone",
        plain(TJ(FAILED), JS(), dead("p0", code=7), captured(dead("p1", "10:30:00").run(2, 0))),
        ended("non-zero-exit", "container", "pod p1: exit code 1", R=2),
    ),
    vector(
        "C10 the current run without a finding: an earlier one's is not taken",
        plain(TJ(FAILED), JS(), dead("p0"), pod("p1").run(2, 0)),
        ended("unknown", "", "FailedJobs: why; no pod evidence was captured", R=2),
    ),
    vector(
        "C10 our own count, where dispatch wrote none",
        plain(TJ(), JS(), pod("p0").run(None, 1).annotate("muster.dev/admission-count", "2")),
        running(R=3),
    ),
    vector(
        "C10 dispatch's count before our own",
        plain(TJ(), JS(), pod("p0").run(1, 1).annotate("muster.dev/admission-count", "5")),
        running(R=2),
    ),
]


@pytest.mark.parametrize(("given", "want"), [*WINNER, *EXECUTION])
def test_who_wins(given: Input, want: Said) -> None:
    assert said(given.observe()) == want


def test_C9_pods_of_one_name_are_told_in_one_order() -> None:
    """A pod that is made anew keeps its name in some kinds; the captured ones may be several."""
    again = [captured(dead("p0", code=code).uid(f"uid-{code}")) for code in (2, 1, 3)]
    seen = {
        plain(TJ(FAILED), JS(), *order).observe().cause.detail for order in (again, again[::-1], again[1:] + again[:1])
    }
    others = "p0 non-zero-exit (exit code 2), p0 non-zero-exit (exit code 3)"
    assert seen == {f"pod p0: exit code 1; other ranks: {others}"}


def test_C10_the_execution_is_a_pair() -> None:
    given = plain(TJ(), JS(), pod("p0").run(1, 2), pod("p1").run(2, 1))
    assert given.observe().execution == Execution(2, 1)


def test_F10_other_ranks_are_cut_only_when_asked() -> None:
    given = plain(TJ(FAILED), JS(), *(dead(f"p{number}") for number in range(5)))
    everyone = "pod p0: exit code 1" + exits("p1", "p2", "p3", "p4")
    assert given.observe().cause.detail == everyone
    assert given.but(max_other_ranks=4).observe().cause.detail == everyone
    cut = given.but(max_other_ranks=2).observe().cause.detail
    assert cut.startswith("pod p0: exit code 1" + exits("p1", "p2"))
    assert cut.endswith("and 2 more")
    assert "p3" not in cut
    nobody = given.but(max_other_ranks=0).observe().cause.detail
    assert nobody.endswith("4 more")
    assert "p1" not in nobody


def test_the_notation_spells_out_the_prefix() -> None:
    assert full("P/open and xP/open") == "dispatch.phpboyscout.uk/open and xP/open"
