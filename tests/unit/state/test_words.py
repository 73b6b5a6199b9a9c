"""How texts are made, numbers and times read (reference/classification.md, "words", §C4, §C10, F11)."""

import pytest

from classifier.numbers import count, moment, positive
from classifier.objects import Condition
from classifier.state.words import joined, listed, one_line, titled, words

#: Every line boundary Python or a terminal may know.
BREAKS = ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", " \n\n \r ")


@pytest.mark.parametrize(
    ("reason", "message", "want"),
    [
        ("Preempted", "by w9", "Preempted: by w9"),
        ("Preempted", "", "Preempted"),
        ("Preempted", None, "Preempted"),
        ("Preempted", " \n ", "Preempted"),
        ("", "by w9", "by w9"),
        (None, "by w9", "by w9"),
        (None, None, ""),
        (" Evicted\n", "The node was low on resource: memory. ", "Evicted: The node was low on resource: memory."),
    ],
)
def test_words_of_a_condition(reason: str | None, message: str | None, want: str) -> None:
    assert words(Condition(reason=reason, message=message)) == want


@pytest.mark.parametrize("between", BREAKS, ids=ascii)
def test_F11_line_breaks_become_one_blank(between: str) -> None:
    assert one_line(f"{between}first{between}second{between}") == "first second"


@pytest.mark.parametrize("text", ["two  blanks", "a\tb", "\u00a0", "zero\x00byte", "é\u200b"])
def test_F11_nothing_else_is_touched(text: str) -> None:
    assert one_line(text) == text.strip()


@pytest.mark.parametrize(("title", "text", "want"), [("a", "b", "a: b"), ("a", "", "a"), ("", "b", "b"), ("", "", "")])
def test_a_title_needs_a_text(title: str, text: str, want: str) -> None:
    assert titled(title, text) == want


@pytest.mark.parametrize(
    ("parts", "want"),
    [
        ((), ""),
        (("a", "", "b"), "a; b"),
        (("", " ", ";", " ; ; ", "\n", "\u2028;"), ""),
        ((";", "a", ";"), "a"),
        (("; a ;", "b; "), "a ;; b"),
        (("a\nb", "c\u2029d"), "a b; c d"),
        (("a;\u00a0", "\u3000; b;\t"), "a;\u00a0; \u3000; b"),
    ],
)
def test_a_detail_neither_begins_nor_ends_with_a_semicolon(parts: tuple[str, ...], want: str) -> None:
    assert joined(parts) == want


@pytest.mark.parametrize(
    ("names", "want"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b, c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
        ([str(n) for n in range(9)], "0, 1, 2 and 6 more"),
    ],
)
def test_lists_name_three(names: list[str], want: str) -> None:
    assert listed(names) == want


@pytest.mark.parametrize(
    ("text", "counted", "in_force"),
    [
        ("0", 0, None),
        ("7", 7, 7),
        ("007", 7, None),
        (str(2**63 - 1), 2**63 - 1, 2**63 - 1),
        (str(2**63), None, None),
        ("1" * 5000, None, None),  # int() refuses so long a text
        *((text, None, None) for text in (None, "", "-1", "+1", " 1", "1 ", "1\n", "1_0", "1.0", "1e3", "0x1", "a")),
        *((text, None, None) for text in ("\u0661", "\uff11", "1\u0661", "²")),  # digits, for str.isdigit
    ],
)
def test_C4_C10_numbers(text: str | None, counted: int | None, in_force: int | None) -> None:
    assert (count(text), positive(text)) == (counted, in_force)


@pytest.mark.parametrize("text", [None, "", "soon", "2026-11-29", "2026-02-30T10:00:00Z", "2026-11-29T10:00:00"])
def test_a_date_nobody_can_read_is_none(text: str | None) -> None:
    assert moment(text) is None


def test_a_date_is_an_instant() -> None:
    assert moment("2026-11-29T12:00:00.5+02:00") == moment("2026-11-29T10:00:00.500Z") == 1795946400500
