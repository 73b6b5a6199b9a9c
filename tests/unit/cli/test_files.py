"""Bad files: one line that names file, document and line, and exit code 1."""

from pathlib import Path

import pytest
import yaml

from classifier import api
from classifier.cluster.files import FileError, load, read_documents
from classifier.objects import Job, Node
from tests.unit.cli.conftest import Muster, Write, gang


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: [\n", "line 2, column 1"),
        ("- a\n- b\n", "document 1 (line 1): a list where an object"),
        ("just words\n", "document 1 (line 1): a str where an object"),
        ("metadata: {name: x}\n", "no apiVersion and kind"),
        ("a: 1\n---\nkind: 5\napiVersion: v1\n", "document 1 (line 1): no apiVersion and kind"),
        ("kind: 5\napiVersion: v1\n", "document 1 (line 1): no kind; is this a Kubernetes object?"),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\napiVersion: batch/v1\nkind: Job\n"
            "metadata: {name: t}\nspec: {parallelism: two}\n",
            "document 2 (line 6): Job t: spec.parallelism: Expected `int | null`, got `str`: 'two'; correct it",
        ),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {}\n", "Job without metadata.name"),
        ("apiVersion: v1\nkind: List\nitems:\n- 5\n", "item 1 (line 4): a int where an object"),
        ("a: &x [1]\nb: *y\n", "undefined alias"),
        ("\x00", "line 1"),
        (
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: x}\n",
            "kubectl get workloads.v1beta2.kueue.x-k8s.io",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(muster: Muster, write: Write, text: str, says: str) -> None:
    path = write("bad.yaml", text)
    ran = muster("status", "job/train", "-f", path)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith(f"muster: {path}: ")
    assert len(ran.err.splitlines()) == 1
    if says != "line 1":
        assert says in ran.err


def test_files_that_are_not_there(muster: Muster, tmp_path: Path) -> None:
    missing = muster("audit", "-f", str(tmp_path / "none.yaml"))
    assert (missing.code, missing.out) == (1, "")
    assert "No such file or directory; name a file, a folder or -" in missing.err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no .yaml, .yml, .json file in this folder" in muster("audit", "-f", str(empty)).err
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "not text in UTF-8" in muster("audit", "-f", str(binary)).err


def test_yaml_is_read_as_kubectl_reads_it(write: Write) -> None:
    text = (
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: t\n  creationTimestamp: 2026-11-29T10:00:00Z\n"
        "  annotations: {ratio: 1:30, version: 1.2.3, when: 2026-11-29, octal: 09}\n"
    )
    snapshot = load([write("job.yaml", text)], "here")
    job = snapshot.get(api.JOBS, Job, "t", "here")
    assert job is not None
    assert job.metadata.creation_timestamp == "2026-11-29T10:00:00Z"
    assert job.metadata.annotations == {"ratio": "1:30", "version": "1.2.3", "when": "2026-11-29", "octal": "09"}


def test_typed_lists_and_empty_documents(write: Write) -> None:
    item = {"metadata": {"name": "a", "namespace": "n"}}
    listed = {"apiVersion": "batch/v1", "kind": "JobList", "items": [item]}
    empty = {"apiVersion": "v1", "kind": "List", "items": None}
    snapshot = load([write("list.yaml", "\n", listed, empty)], "default")
    assert list(snapshot.of(api.JOBS, Job)) == ["n/a"]


def test_without_nodes_nodes_may_not_be_read(write: Write) -> None:
    assert load([write("a.yaml", gang())], "default").readable(api.NODES, Node) is None
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    assert list(load([write("b.yaml", node)], "default").readable(api.NODES, Node) or ()) == ["a"]


def test_managed_fields_are_kept_as_they_came(write: Write) -> None:
    field = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:suspend": {}}}}
    snapshot = load([write("a.yaml", gang(managedFields=[field]))], "default")
    job = snapshot.get(api.JOBS, Job, "train", "team-a")
    assert job is not None
    assert bytes((job.metadata.managed_fields or [])[0].fields_v1 or b"") == b'{"f:spec":{"f:suspend":{}}}'


def test_places_in_lists_are_lines_of_the_file(write: Write) -> None:
    path = write("list.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [gang("a"), gang("b")]}))
    places = [document.where for document in read_documents([path])]
    lines = Path(path).read_text("utf-8").splitlines()
    for place in places:
        number = int(place.rsplit("line ", 1)[1].rstrip(")"))
        assert lines[number - 1].startswith("- apiVersion")


def test_deep_nesting_is_an_error_not_a_crash(write: Write) -> None:
    with pytest.raises(FileError):
        load([write("deep.yaml", "[" * 50_000)], "default")
