"""What is read from a cluster, and what happens where it may not be read."""

from typing import Any

import pytest
import yaml

from classifier.cli.status import build
from classifier.cluster.client import ApiError, ClientError
from classifier.cluster.reader import Reader
from classifier.instant import parse_instant
from classifier.report.screen import lines
from tests.unit.cli.conftest import WORLD, gang, waiting
from tests.unit.cli.server import Server

NOW = parse_instant("2026-11-29T10:00:40Z")


def objects() -> list[dict[str, Any]]:
    job = gang(
        uid="u1",
        created="2026-11-29T10:00:00Z",
        annotations={
            "muster.dev/preflight": "fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)",
            "muster.dev/capacity-profile": "gpu-a100-8",
        },
    )
    world = list(yaml.safe_load_all(WORLD))
    second = {**world[0], "metadata": {"name": "zz-other"}, "spec": {"flavor": "other"}}
    return [*world, second, job, waiting("train", "u1", deadline="2026-11-29T10:30:00Z")]


async def screen(server: Server) -> str:
    reader = Reader(server)  # type: ignore[arg-type]  # only get() is called
    owner = await reader.job("team-a", "train")
    assert owner is not None
    return "\n".join(lines(build(reader.snapshot, owner, NOW, "muster-fence")))


async def test_every_page_is_read() -> None:
    reader = Reader(Server(objects()))  # type: ignore[arg-type]  # only get() is called
    await reader.job("team-a", "train")
    assert {obj.name for _, obj in reader.snapshot} >= {"gpu-a100-8", "zz-other", "job-train-abcde"}


async def test_who_may_read_only_the_namespace_still_gets_an_answer() -> None:
    closed = frozenset({"clusterqueues", "resourceflavors", "admissionchecks", "nodes"})
    text = await screen(Server(objects(), closed))
    assert "preflight: gang needs 2 node(s) of gpupool (max 2): fits (as stamped at submit)" in text
    assert "ProvisioningReady=Unknown" in text
    assert "  … Quota reserved         waiting 40s in LocalQueue gpu of ClusterQueue gpu-a100; Kueue: no quota" in text
    assert "deadline in 29m20s" in text
    for plural in closed:
        assert f"note: {plural} may not be read" in text


async def test_a_job_that_may_not_be_read_is_an_error() -> None:
    with pytest.raises(ApiError):
        await screen(Server(objects(), frozenset({"jobs"})))


async def test_few_requests() -> None:
    server = Server(objects()[:-3] + objects()[-2:])
    await screen(server)
    assert len(server.asked) <= 29
    assert not [path for path in server.asked if path.endswith("/pods") and "/namespaces/" not in path]


async def test_an_object_that_cannot_be_read_is_named_by_its_kind() -> None:
    odd = {"apiVersion": "v1", "kind": "Workload", "metadata": {"name": 5, "namespace": "team-a"}}
    with pytest.raises(
        ClientError, match=r"one of the workloads of https://cluster.test cannot be read: Expected `str`"
    ):
        await screen(Server([*objects()[:-1], odd]))
