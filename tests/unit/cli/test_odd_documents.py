"""Whatever a file holds, the answer is one line that says what and where: never a traceback, never a long wait."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifier.cluster.yamltext import MAX_COPIES, MAX_DEPTH
from tests.unit.cli.conftest import Muster, Write, gang, waiting

COMMANDS = [
    ("preflight", "-f", "{file}", "--with", "{world}"),
    ("preflight", "-f", "{good}", "--with", "{file}"),
    ("audit", "-A", "-f", "{file}"),
    ("status", "job/train", "-n", "team-a", "-f", "{file}"),
    ("explain", "job/train", "-n", "team-a", "-f", "{file}"),
    ("explain", "train", "-f", "{good}", "--captured", "{file}"),
]
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: team-a}\n"
BOMB = "\n".join(f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else 'x'] * 10)}]" for i in range(9))
CHAIN = "\n".join(f"  a{i}: &a{i} [{f'*a{i - 1}' if i else 'x'}]" for i in range(5000))
MERGES = "\n".join(f"  a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 9))

#: For every command: what the file holds, and what the one line says after the file's name.
REFUSED = {
    "items of a list": ("apiVersion: v1\nkind: List\nitems: 5\n", "document 1 (line 1): List: items: a int where"),
    "items in words": ("apiVersion: v1\nkind: List\nitems: abc\n", "document 1 (line 1): List: items: a str where"),
    "items of a map": ("apiVersion: batch/v1\nkind: JobList\nitems: {a: 1}\n", "JobList: items: a dict where a list"),
    "item in a list in a list": (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - 5\n",
        "document 1, item 1, item 1 (line 7): a int where an object",
    ),
    "nothing in a list": ("apiVersion: v1\nkind: List\nitems: [null]\n", "item 1 (line 3): a NoneType where an object"),
    "item of no kind": ("apiVersion: v1\nkind: List\nitems: [{a: 1}]\n", "item 1 (line 3): no apiVersion and kind"),
    "a list in itself": (
        "apiVersion: v1\nkind: List\nitems: &x\n- *x\n",
        "line 3, column 8: this value contains itself by an alias",
    ),
    "a map in itself": (JOB + "spec: &a {b: *a}\n", "line 4, column 7: this value contains itself by an alias"),
    "a merge of itself": (JOB + "spec: &a {<<: *a}\n", "this value contains itself by an alias"),
    "a bomb of lists": (f"{JOB}spec:\n{BOMB}\n", f"aliases stand for more than {MAX_COPIES} values"),
    "a bomb of maps": (f"{JOB}spec:\n  a0: &a0 {{x: 1}}\n{MERGES}\n", f"aliases stand for more than {MAX_COPIES}"),
    "a chain of aliases": (f"{JOB}spec:\n{CHAIN}\n", f"nested more than {MAX_DEPTH} levels deep"),
    "deep lists": (f"{JOB}spec: {'[' * 900}{']' * 900}\n", f"nested more than {MAX_DEPTH} levels deep"),
    "no such number": (f"{JOB}spec: !!int abc\n", "document 1: a value does not match its tag"),
    "no such truth": (f"{JOB}spec: !!bool abc\n", "document 1: a value does not match its tag"),
    "no such time": (f"{JOB}spec: !!timestamp abc\n", "document 1: a value does not match its tag"),
    "no such tag": (f"{JOB}spec: !foo {{a: b}}\n", "line 4, column 7: could not determine a constructor"),
    "a name that is a number": (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: 5}\n",
        "document 1 (line 1): Job 5: metadata.name: Expected `str`, got `int`: 5; correct it",
    ),
    "a key that is a truth": (f"{JOB}spec: {{true: 1, null: 2}}\n", "document 1 (line 1): Job train: "),
    "a colour in control characters": (f"{JOB}spec: \x1b[31m\n", "document 1: unacceptable character"),
}


def run(muster: Muster, files: dict[str, str]) -> list[tuple[str, Any]]:
    return [(command[0], muster(*(word.format(**files) for word in command))) for command in COMMANDS]


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_every_command_names_the_place(muster: Muster, write: Write, world: str, text: tuple[str, str]) -> None:
    path = write("odd.yaml", text[0])
    for command, ran in run(muster, {"file": path, "world": world, "good": write("good.yaml", gang())}):
        assert (command, ran.code, ran.out) == (command, 1, "")
        assert ran.err.startswith(f"muster: {path}: ")
        assert text[1] in ran.err
        assert len(ran.err.splitlines()) == 1


FOREIGN = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": {}}


def named(**metadata: Any) -> dict[str, Any]:
    return {
        **FOREIGN,
        "metadata": {"namespace": "team-a", "labels": {"kueue.x-k8s.io/queue-name": "gpu"}, "name": "set", **metadata},
    }


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"name": 5}, "SparkApplication 5: metadata.name: Expected `str`, got `int`: 5; correct it"),
        ({"name": None}, "SparkApplication without a name: metadata.name: Expected `str`, got `null`; correct it"),
        ({"name": ""}, "SparkApplication without metadata.name"),
        ({"labels": {"kueue.x-k8s.io/queue-name": 5}}, "SparkApplication set: Expected `str"),
        ({"ownerReferences": 5}, "SparkApplication set: metadata.ownerReferences: Expected `array"),
    ],
)
def test_kinds_that_are_not_judged_are_checked_all_the_same(
    muster: Muster, write: Write, world: str, metadata: dict[str, Any], says: str
) -> None:
    path = write("set.yaml", named(**metadata))
    ran = muster("preflight", "-f", path, "--with", world)
    assert (ran.code, ran.out) == (1, "")
    assert f"{path}: document 1 (line 1): {says}" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_managed_fields_of_any_kind(muster: Muster, write: Write, world: str) -> None:
    """What ``kubectl get -o yaml --show-managed-fields`` prints."""
    fields = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:suspend": {}}}}]
    path = write("jobs.yaml", named(managedFields=fields), gang(managedFields=fields))
    ran = muster("preflight", "-f", path, "--with", world)
    assert (ran.code, ran.err) == (0, "muster: 1 object judged, 1 skipped\n")
    assert "kind SparkApplication is not judged" in ran.out


@pytest.mark.parametrize(
    "body", [b"\xff\xfe\x00", b"a: \xed\xa0\x80", b"kind: \xe4\n"], ids=["utf-16", "half", "latin"]
)
def test_what_is_not_utf_8(
    muster: Muster, write: Write, world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    files = {"world": world, "good": write("good.yaml", gang())}
    (tmp_path / "folder").mkdir()
    odd = tmp_path / "folder" / "odd.yaml"
    odd.write_bytes(body)
    for source, name in ((str(odd), str(odd)), (str(odd.parent), str(odd)), ("-", "standard input")):
        for command in COMMANDS:
            # As in a terminal that lets odd bytes through: what is read must be the bytes.
            stdin = io.TextIOWrapper(io.BytesIO(body), "utf-8", "surrogateescape")
            monkeypatch.setattr("sys.stdin", stdin)
            ran = muster(*(word.format(**files, file=source) for word in command))
            assert (ran.code, ran.out) == (1, "")
            assert ran.err.startswith(f"muster: {name}: not text in UTF-8 (byte ")


def test_a_byte_order_mark_is_no_content(muster: Muster, world: str, tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    job.write_text(json.dumps(gang()), "utf-8-sig")
    assert muster("preflight", "-f", str(job), "--with", world).code == 0


def test_lists_in_lists_are_taken_apart(muster: Muster, write: Write, world: str) -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [gang("a"), gang("b", 3)]}
    path = write("lists.yaml", {"apiVersion": "v1", "kind": "List", "items": [inner]})
    ran = muster("preflight", "-f", path, "--with", world)
    assert ran.code == 3
    assert "team-a      Job    b      never-fits            gang needs 3 node(s)" in ran.out


def test_aliases_in_moderation_are_fine(muster: Muster, write: Write, world: str) -> None:
    job = gang()
    resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    job["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "x", "resources": resources})
    text = yaml.safe_dump(job)
    assert "*id001" in text
    assert muster("preflight", "-f", write("job.yaml", text), "--with", world).code == 3


ODD: list[list[Any]] = [
    [None, "", "abc", "-1", "9" * 30, 0, -1, 2**63, 10**30, 1.5, float("inf"), True, [], {}, [{}], [None], {"": ""}],
    [{"a": None}, [[1]], {"cpu": "x"}, "2026-13-45T00:00:00Z", "\u2028", "x\ny", [{"type": "Admitted"}]],
]
SNIPPETS = [
    [*"-?:,[]{}#&*!|>%@'\"", " ", "\n", "\n  ", "---\n", "...\n", "<<: ", "&a ", "*a ", "!!set ", "!!binary "],
    ["!!omap ", "!!pairs ", "!!float ", "!!str ", "!!null ", "!!map ", "apiVersion: v1\n", "kind: List\n"],
    ["items:\n", "- ", "kind: Job\napiVersion: batch/v1\n", "metadata: ", "name: x\n", "0x", "1e9", "\x00"],
]


def any_of(rows: list[list[Any]]) -> st.SearchStrategy[Any]:
    return st.sampled_from([one for row in rows for one in row])


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in an object."""
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [below for key, child in children for below in paths(child, (*path, key))]


ANNOTATED = {
    "muster.dev/admission-clock": "{}",
    "muster.dev/admission-timeout": "1h",
    "muster.dev/preflight": "fits: x",
    "muster.dev/admission-timeout-committed": "{}",
}
OBJECTS = [gang(uid="u1", created="2026-11-29T10:00:00Z", annotations=ANNOTATED), waiting("train", "u1"), named()]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_traceback_whatever_stands_in_an_object(
    muster: Muster, write: Write, world: str, data: st.DataObject
) -> None:
    world_objects = [o for o in yaml.safe_load_all(Path(world).read_text("utf-8")) if o]
    everything: list[Any] = json.loads(json.dumps([*OBJECTS, *world_objects]))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(paths(everything)))
        place: Any = everything
        try:
            for key in way:
                place = place[key]
            place[last] = copy.deepcopy(data.draw(any_of(ODD)))
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change took that place away
    path = write("odd.yaml", *everything)
    for command, ran in run(muster, {"file": path, "world": path, "good": write("good.yaml", gang())}):
        assert ran.code in (0, 1, 3, 4, 5), command
        if ran.code == 1:
            told = ran.err.splitlines()
            assert told, command
            assert all(line.startswith("muster: ") for line in told), command
            # What else the files of a preflight hold is judged all the same.
            assert command == "preflight" or (ran.out, len(told)) == ("", 1), command


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(any_of(SNIPPETS), max_size=30).map("".join))
def test_no_traceback_whatever_the_text(muster: Muster, write: Write, world: str, text: str) -> None:
    for command, ran in run(muster, {"file": write("odd.yaml", text), "world": world, "good": write("g.yaml", gang())}):
        assert ran.code in (0, 1, 3, 4, 5), command
        if ran.code == 1:
            told = ran.err.splitlines()
            assert told, command
            assert all(line.startswith("muster: ") for line in told), command
            # What else the files of a preflight hold is judged all the same.
            assert command == "preflight" or (ran.out, len(told)) == ("", 1), command
