"""The CRDs of the kinds whose operators do not run: which of them, and what is left of them."""

from pathlib import Path

import pytest
import yaml

from e2e.controlplane import kinds
from e2e.controlplane.manifests import Document


def crd(group: str, plural: str) -> Document:
    schema = {"description": "prose", "type": "object", "properties": {"description": {"type": "string"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": {"plural": plural}, "versions": [{"schema": {"openAPIV3Schema": schema}}]},
    }


@pytest.fixture
def modules(tmp_path: Path) -> dict[str, Path]:
    """Each module's folder holds its own kinds, and MPIJob: v1 beside v2beta1, as the training operator has it."""
    for source in kinds.SOURCES:
        folder = tmp_path / source.module / source.folder
        folder.mkdir(parents=True)
        for plural in {*source.frameworks, "mpijobs", "rayservices"}:
            (folder / f"{plural}.yaml").write_text(yaml.safe_dump(crd(source.group, plural)))
    return {source.module: tmp_path / source.module for source in kinds.SOURCES}


def test_every_kind_is_taken_once_and_no_other(modules: dict[str, Path]) -> None:
    names = [document["metadata"]["name"] for document in kinds.crds(modules)]
    assert len(names) == len(set(names)) == len(kinds.FRAMEWORKS) - 1
    assert "mpijobs.kubeflow.org" in names
    assert not [name for name in names if name.startswith("rayservices")]


def test_a_schema_loses_its_prose_and_keeps_its_fields(modules: dict[str, Path]) -> None:
    for document in kinds.crds(modules):
        (version,) = document["spec"]["versions"]
        assert version["schema"]["openAPIV3Schema"] == {
            "type": "object",
            "properties": {"description": {"type": "string"}},
        }
