"""The training operator's kinds and MPIJob: one podset a replica type, in Kueue's order."""

from typing import Any

import pytest

from classifier.fit.gang import GangError
from classifier.objects import JAXJob, KubeflowJob, MPIJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob
from tests.unit.fit.kinds.shapes import counts, made, podsets, template

FIELDS: dict[type[KubeflowJob], str] = {
    PyTorchJob: "pytorchReplicaSpecs",
    TFJob: "tfReplicaSpecs",
    XGBoostJob: "xgbReplicaSpecs",
    PaddleJob: "paddleReplicaSpecs",
    JAXJob: "jaxReplicaSpecs",
    MPIJob: "mpiReplicaSpecs",
}
ORDER: dict[type[KubeflowJob], list[str]] = {
    PyTorchJob: ["Master", "Worker"],
    TFJob: ["Chief", "Master", "PS", "Worker", "Evaluator"],
    XGBoostJob: ["Master", "Worker"],
    PaddleJob: ["Master", "Worker"],
    JAXJob: ["Worker"],
    MPIJob: ["Launcher", "Worker"],
}
each_kind = pytest.mark.parametrize("struct", FIELDS, ids=lambda struct: struct.__name__)


def job(struct: type[KubeflowJob], replicas: dict[str, int | None], **fields: Any) -> KubeflowJob:
    specs = {
        type_: {"template": template(), **({} if count is None else {"replicas": count})}
        for type_, count in replicas.items()
    }
    return made(struct, {FIELDS[struct]: specs, **fields})


@each_kind
def test_replica_types_in_order_whatever_the_objects_order(struct: type[KubeflowJob]) -> None:
    types = ORDER[struct]
    built = job(struct, {type_: count for count, type_ in reversed(list(enumerate(types, 1)))})
    assert list(counts(built).items()) == [(type_.lower(), count) for count, type_ in enumerate(types, 1)]
    assert [podset.path for podset in podsets(built)] == [f"/spec/{FIELDS[struct]}/{type_}/template" for type_ in types]


@each_kind
def test_a_count_that_is_absent_is_one(struct: type[KubeflowJob]) -> None:
    assert set(counts(job(struct, dict.fromkeys(ORDER[struct]))).values()) == {1}


@each_kind
def test_types_that_are_absent_or_unknown_are_not_counted(struct: type[KubeflowJob]) -> None:
    spec = {FIELDS[struct]: {"Worker": {"replicas": 2}, "worker": {"replicas": 3}, "Other": {}, "Master": None}}
    assert counts(made(struct, spec)) == {"worker": 2}


@each_kind
def test_nothing_at_all_is_no_gang(struct: type[KubeflowJob]) -> None:
    specs: list[Any] = [None, {}, {FIELDS[struct]: {}}, {FIELDS[struct]: None}]
    for spec in specs:
        with pytest.raises(GangError, match=f"spec.{FIELDS[struct]} has no pods"):
            podsets(made(struct, spec))


@each_kind
def test_negative_counts(struct: type[KubeflowJob]) -> None:
    with pytest.raises(GangError, match=f"spec.{FIELDS[struct]}.Worker.replicas is -1, less than 0"):
        podsets(job(struct, {"Worker": -1}))


@pytest.mark.parametrize("struct", [PyTorchJob, PaddleJob])
def test_an_elastic_job_starts_with_its_minimum_of_workers(struct: type[KubeflowJob]) -> None:
    for policy, fewest in (({"minReplicas": 2}, 2), ({"minReplicas": 9}, 4), ({"maxReplicas": 9}, 4), ({}, 4)):
        master, worker = podsets(job(struct, {"Master": 3, "Worker": 4}, elasticPolicy=policy))
        assert (worker.count, worker.min_count, worker.fewest) == (4, 4, fewest)
        assert (master.count, master.fewest) == (3, 3)


def test_mpi_workers_without_a_number_are_one_to_kueue_and_none_to_the_operator() -> None:
    launcher, worker = podsets(job(MPIJob, {"Launcher": None, "Worker": None}))
    assert (launcher.count, launcher.fewest) == (1, 1)
    assert (worker.count, worker.min_count, worker.fewest) == (1, 1, 0)
