"""The copy a reflector keeps: whatever comes twice, late or out of the past, each change is told once and in order."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.cluster.store import Store
from classifier.objects import Job

Change = tuple[str, str | None, str | None]


def body(name: str, version: int, uid: str = "u", **fields: Any) -> bytes:
    metadata = {"name": name, "namespace": "team", "uid": uid, "resourceVersion": str(version)}
    return msgspec.json.encode({"metadata": metadata, **fields})


class Kept:
    """A store of Jobs, and what it told."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.store = Store("jobs", Job, on_change=self._told)

    def _told(self, key: str, old: Job | None, new: Job | None) -> None:
        self.changes.append(
            (key, old.metadata.resource_version if old else None, new.metadata.resource_version if new else None)
        )

    def line(self, name: str, version: int, *, deleted: bool = False, uid: str = "u") -> None:
        self.store.follow(msgspec.Raw(body(name, version, uid)), deleted=deleted)

    def list(self, version: int, **versions: int) -> None:
        fresh = {f"team/{name}": msgspec.json.decode(body(name, v), type=Job) for name, v in versions.items()}
        for _ in self.store.replace(fresh, str(version)):
            pass

    @property
    def seen(self) -> dict[str, str]:
        return {key: job.metadata.resource_version for key, job in self.store.objects.items()}


def test_a_list_tells_of_what_is_new_changed_and_gone() -> None:
    kept = Kept()
    kept.list(10, a=1, b=2, c=3)
    kept.changes.clear()
    objects = kept.store.objects
    kept.list(20, b=2, c=15, d=16)
    assert sorted(kept.changes) == [("team/a", "1", None), ("team/c", "3", "15"), ("team/d", None, "16")]
    assert kept.store.objects is objects  # whoever holds the dictionary sees the new list


def test_another_object_of_the_name_is_told_as_a_change() -> None:
    kept = Kept()
    uids: list[tuple[str | None, str | None]] = []
    kept.store = Store(
        "jobs", Job, on_change=lambda _, old, new: uids.append((old.uid if old else None, new.uid if new else None))
    )
    kept.line("a", 1, uid="first")
    kept.list(9, a=8)
    assert uids == [(None, "first"), ("first", "u")]


def test_lines_that_come_again_change_nothing() -> None:
    kept = Kept()
    for _ in range(2):
        kept.line("a", 5)
    for _ in range(2):
        kept.line("a", 7, deleted=True)
    # Out of the past: the version does not go back, and what is gone stays gone.
    kept.line("a", 5)
    assert kept.changes == [("team/a", None, "5"), ("team/a", "5", None)]
    assert kept.store.version == "7"


def test_our_own_write_is_seen_at_once_and_not_taken_back_by_older_lines() -> None:
    kept = Kept()
    kept.line("a", 5)
    kept.store.put(body("a", 9))
    kept.line("a", 7)
    kept.line("a", 9)
    assert kept.changes == [("team/a", None, "5"), ("team/a", "5", "9")]
    kept.line("a", 11)
    assert kept.seen == {"team/a": "11"}


def test_an_answer_later_than_the_deletion_does_not_bring_it_back() -> None:
    kept = Kept()
    kept.line("a", 5)
    kept.line("a", 9, deleted=True)
    kept.store.put(body("a", 7))
    # Nor after a line that came again.
    kept.line("b", 6)
    kept.store.put(body("a", 7))
    assert kept.seen == {}


def test_a_deletion_older_than_our_answer_spares_the_new_object_of_that_name() -> None:
    kept = Kept()
    kept.line("a", 5, uid="first")
    kept.store.put(body("a", 9, uid="second"))
    kept.line("a", 7, deleted=True, uid="first")
    assert kept.seen == {"team/a": "9"}
    assert kept.changes[-1] == ("team/a", "5", "9")


def test_a_write_during_a_list_is_not_taken_back_by_it() -> None:
    kept = Kept()
    kept.list(10, a=1, b=2)
    kept.changes.clear()
    kept.store.begin_list()
    kept.store.put(body("a", 12))  # after the list's snapshot
    kept.store.put(body("b", 11))  # before it, and deleted since
    kept.list(11, a=1)
    assert kept.seen == {"team/a": "12"}
    assert kept.changes == [("team/a", "1", "12"), ("team/b", "2", "11"), ("team/b", "11", None)]
    # Only what was written during that list: versions may start anew (etcd restored from a backup).
    kept.list(3, a=2)
    assert kept.seen == {"team/a": "2"}


def test_a_write_while_a_list_is_being_told_is_told_once() -> None:
    kept = Kept()
    kept.list(10, a=1)
    kept.changes.clear()
    telling = kept.store.replace({"team/a": msgspec.json.decode(body("a", 15), type=Job)}, "20")
    next(telling)
    kept.store.put(body("a", 21))
    for _ in telling:
        pass
    assert kept.changes == [("team/a", "1", "21")]


def test_a_list_whose_telling_was_cut_short_is_told_by_the_next() -> None:
    kept = Kept()
    kept.list(10, a=1, b=2)
    kept.changes.clear()
    telling = kept.store.replace({"team/c": msgspec.json.decode(body("c", 15), type=Job)}, "20")
    next(telling)
    telling.close()
    kept.list(30, a=25)
    # c came and went untold; nobody needs to hear of it.
    assert sorted(kept.changes) == [("team/a", "1", "25"), ("team/b", "2", None)]


def test_an_object_that_cannot_be_read_is_left_out_and_counted() -> None:
    kept = Kept()
    kept.line("a", 5)
    kept.line("b", 6)
    odd = body("a", 7, spec={"parallelism": {"not": "a number"}})
    kept.store.follow(msgspec.Raw(odd), deleted=False)
    assert kept.store.decode_errors == 1
    assert kept.seen == {"team/b": "6"}
    assert kept.changes[-1] == ("team/a", "5", None)
    assert kept.store.version == "7"
    assert kept.store.put(odd) is None
    kept.line("a", 9)
    assert kept.seen == {"team/a": "9", "team/b": "6"}


def test_the_deletion_of_an_object_that_cannot_be_read_is_a_deletion() -> None:
    kept = Kept()
    kept.line("a", 5)
    kept.store.follow(msgspec.Raw(body("a", 7, spec=[])), deleted=True)
    assert kept.seen == {}


def test_what_has_no_readable_name_is_refused() -> None:
    kept = Kept()
    with pytest.raises(msgspec.ValidationError):
        kept.store.follow(msgspec.Raw(b'{"metadata":[]}'), deleted=False)


def test_objects_are_trimmed_wherever_they_come_from() -> None:
    def project(job: Job) -> Job:
        job.metadata.labels = None
        return job

    store = Store("jobs", Job, project)
    labelled = msgspec.json.encode(
        {"metadata": {"name": "a", "namespace": "team", "resourceVersion": "5", "labels": {"x": "y"}}}
    )
    store.follow(msgspec.Raw(labelled), deleted=False)
    assert store.objects["team/a"].metadata.labels is None
    put = store.put(labelled)
    assert put is not None
    assert put.metadata.labels is None


# --- any history -------------------------------------------------------------------------------------------------


class Truth:
    """What happened at the server: (version, name, deleted), one after the other."""

    def __init__(self, writes: list[tuple[str, bool]]) -> None:
        self.events: list[tuple[int, str, bool]] = []
        alive: set[str] = set()
        for version, (name, delete) in enumerate(writes, 1):
            deleted = delete and name in alive
            (alive.discard if deleted else alive.add)(name)
            self.events.append((version, name, deleted))

    def at(self, version: int) -> dict[str, int]:
        state: dict[str, int] = {}
        for at, name, deleted in self.events[:version]:
            if deleted:
                state.pop(name, None)
            else:
                state[name] = at
        return state


@given(st.data())
def test_any_mixture_of_lists_lines_repeats_and_late_answers_ends_right(data: st.DataObject) -> None:
    names = st.sampled_from("abc")
    truth = Truth(data.draw(st.lists(st.tuples(names, st.booleans()), min_size=1, max_size=25)))
    kept = Kept()
    told: dict[str, str] = {}
    seen = data.draw(st.integers(0, len(truth.events)))
    kept.list(seen, **truth.at(seen))
    while seen < len(truth.events):
        match data.draw(st.sampled_from(["line", "line", "repeat", "answer", "list"])):
            case "line":
                version, name, deleted = truth.events[seen]
                kept.line(name, version, deleted=deleted)
                seen += 1
            case "repeat" if seen:
                version, name, deleted = truth.events[data.draw(st.integers(0, seen - 1))]
                kept.line(name, version, deleted=deleted)
            case "answer":
                version, name, deleted = data.draw(st.sampled_from(truth.events))
                if not deleted:
                    kept.store.put(body(name, version))
            case "list":
                kept.store.begin_list()
                seen = data.draw(st.integers(seen, len(truth.events)))
                version, name, deleted = data.draw(st.sampled_from(truth.events))
                if not deleted:
                    kept.store.put(body(name, version))
                kept.list(seen, **truth.at(seen))
    last = {f"team/{name}": str(version) for name, version in truth.at(len(truth.events)).items()}
    assert kept.seen == last
    # Whoever only listened knows the same: every change began where the one before had ended.
    for key, old, new in kept.changes:
        assert told.get(key) == old
        if new is None:
            del told[key]
        else:
            told[key] = new
    assert told == last
