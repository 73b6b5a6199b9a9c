"""``muster explain`` of a plain Job on the real cluster: for who may read all, for who may not, and from files."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
import yaml

from classifier import api
from classifier.api import Resource
from e2e import builders, deaths, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.shell import Shell
from e2e.wait import eventually
from tests.schemas import check_schema

RESEARCHER: Final = "researcher"
#: What docs/cli.md has people dump, of the kinds that are here.
OF_THE_NAMESPACE: Final = (api.JOBS, api.PODS, api.WORKLOADS)
OF_THE_CLUSTER: Final = (api.NODES, api.ADMISSION_CHECKS)


@pytest.fixture
def shell(cluster: Cluster) -> Shell:
    return Shell(cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def running(cluster: Cluster, queues: Queues) -> AsyncIterator[Document]:
    """The one pod of Job ``train``, which runs until somebody ends it."""
    node = builders.node(queues.namespace, queues.node_labels, {GPU: 8})
    await cluster.applier.apply([node, builders.job("train", queues, pods=1, ends="Never")])

    async def runs() -> Document:
        [pod] = await view.pods_of(cluster.admin, queues.namespace, "train") or [{"status": {}}]
        assert pod["status"].get("phase") == "Running", f"{pod}"
        return pod

    yield await eventually(runs, 60, what="the pod of train runs")
    await cluster.applier.delete([node])


async def test_files_give_the_answer_of_the_cluster(
    cluster: Cluster, shell: Shell, queues: Queues, running: Document, tmp_path: Path
) -> None:
    await deaths.play(cluster.admin, running, deaths.exits(3))
    asked = ("explain", "job/train", "-n", queues.namespace, "-o", "json")

    async def failed() -> Any:
        online = await shell.run(*asked)
        assert online.code == 0, online.err
        return online.json if online.json["state"] == "ended" else None

    online = await eventually(failed, 60, what="the Job has ended")
    check_schema("explain.json", online)
    pod = running["metadata"]["name"]
    assert online["cause"]["kind"] == "non-zero-exit"
    assert online["cause"]["detail"] == f"pod {pod}: container main exit code 3"

    dump = tmp_path / "dump.yaml"
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": await _dumped(cluster, queues)}))
    offline = await shell.run(*asked, "-f", str(dump))
    assert (offline.code, offline.err) == (0, "")
    assert offline.json | {"seenAt": ""} == online | {"seenAt": ""}


@pytest.mark.parametrize(
    ("allowed", "code", "said"),
    [
        (OF_THE_NAMESPACE, 0, "Nodes could not be read"),
        ((api.JOBS, api.WORKLOADS), 0, "pods may not be read"),
        ((api.PODS, api.WORKLOADS), 1, "the API server refused"),
    ],
    ids=["no Nodes", "no pods", "no Jobs"],
)
async def test_who_may_read_less_is_told_less_and_that(
    cluster: Cluster,
    shell: Shell,
    queues: Queues,
    running: Document,
    allowed: tuple[Resource, ...],
    code: int,
    said: str,
) -> None:
    await cluster.applier.apply(_may_read(queues.namespace, allowed))

    async def told() -> bool:
        ran = await shell.run("explain", "job/train", "-n", queues.namespace, "--as", RESEARCHER)
        assert ran.code == code, ran
        assert said in ran.out + ran.err, ran
        # What could not be read, a line each, and nothing else.
        assert all(line.startswith("muster: ") for line in ran.err.splitlines()), ran.err
        return True

    await eventually(told, what="the API server has heard of the rights")


def _may_read(namespace: str, resources: tuple[Resource, ...]) -> list[Document]:
    rules = [{"apiGroups": [r.group], "resources": [r.plural], "verbs": ["get", "list", "watch"]} for r in resources]
    group = "rbac.authorization.k8s.io"
    metadata = {"name": RESEARCHER, "namespace": namespace}
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": RESEARCHER},
            "subjects": [{"apiGroup": group, "kind": "User", "name": RESEARCHER}],
        },
    ]


async def _dumped(cluster: Cluster, queues: Queues) -> list[Document]:
    """As ``kubectl get -o yaml`` prints them."""
    wanted = [*((r, queues.namespace) for r in OF_THE_NAMESPACE), *((r, None) for r in OF_THE_CLUSTER)]
    return [
        {"apiVersion": resource.api_version, "kind": resource.kind, **item}
        for resource, namespace in wanted
        for item in await view.every(cluster.admin, resource, namespace)
    ]
