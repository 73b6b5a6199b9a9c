"""What the controller keeps: every change reaches just the Workloads it concerns, and nothing piles up."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.cluster.reflector import Reflector
from classifier.objects import Pod
from controller.cache import FEW, Cache, OwnerKey
from tests.builders import Builder, cluster_queue, job, local_queue, namespace, profile, workload
from tests.unit.cluster.conftest import write_kubeconfig

JOB = ("batch", "Job")
POD = ("", "Pod")
KEY = "team/job-train-1a2b3"


class Fed:
    """A cache fed by hand; ``touched`` and ``orphans`` since they were last asked for."""

    def __init__(self, client: Client) -> None:
        self._touched: list[str] = []
        self._orphans: list[OwnerKey] = []
        self.cache = Cache(client, Following(client), self._touched.append, self._orphans.append)
        self._version = 0

    def feed(self, reflector: Reflector[Any], obj: Builder[Any], *, deleted: bool = False) -> None:
        self._version += 1
        raw = obj.metadata(resourceVersion=str(self._version)).raw()
        reflector._store.follow(msgspec.Raw(msgspec.json.encode(raw)), deleted=deleted)

    @property
    def touched(self) -> set[str]:
        keys = set(self._touched)
        self._touched.clear()
        return keys

    @property
    def orphans(self) -> set[OwnerKey]:
        keys = set(self._orphans)
        self._orphans.clear()
        return keys


@pytest.fixture
async def fed(tmp_path: Path) -> AsyncIterator[Fed]:
    async with await Client.connect(kubeconfig=write_kubeconfig(tmp_path / "config", "http://127.0.0.1:9")) as client:
        yield Fed(client)


@pytest.fixture
def full(fed: Fed) -> Fed:
    """One Workload in its queue, and one in another namespace and queue."""
    cache = fed.cache
    fed.feed(cache.cluster_queues, cluster_queue())
    fed.feed(cache.local_queues, local_queue())
    fed.feed(cache.local_queues, local_queue("other", "cpu", "else"))
    fed.feed(cache.namespaces, namespace("team"))
    fed.feed(cache.owners[JOB], job())
    fed.feed(cache.workloads, workload())
    fed.feed(cache.workloads, workload("job-away", "else").queue("other"))
    assert fed.touched == {KEY, "else/job-away"}
    return fed


def test_a_change_of_the_job_concerns_its_workload(full: Fed) -> None:
    full.feed(full.cache.owners[JOB], job().annotate(api.ADMISSION_TIMEOUT, "1h"))
    assert full.touched == {KEY}


def test_what_concerns_many_workloads_is_told_bit_by_bit(fed: Fed) -> None:
    """A policy may concern tens of thousands: nobody else gets a turn of the event loop before all of them are told."""
    touched: list[str] = []
    works: list[Iterator[None]] = []
    client = fed.cache.workloads._client
    fed.cache = cache = Cache(client, Following(client), touched.append, lambda _: None, in_slices=works.append)
    keys = [f"team/job-{number}" for number in range(FEW + 1)]
    for key in keys:
        fed.feed(cache.workloads, workload(key.removeprefix("team/")))
    touched.clear()
    fed.feed(cache.local_queues, local_queue())
    assert not touched
    (work,) = works
    next(work)
    assert len(touched) == 1
    assert sum(1 for _ in work) == FEW
    assert sorted(touched) == sorted(keys)


@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        ("local_queues", local_queue().annotate(api.ADMISSION_TIMEOUT, "1h")),
        ("local_queues", local_queue().stopped()),
        ("local_queues", local_queue(queue="another")),
        ("cluster_queues", cluster_queue().annotate(api.MAX_ADMISSION_TIMEOUT, "1h")),
        ("namespaces", namespace("team").annotate(api.ADMISSION_TIMEOUT, "1h")),
    ],
)
def test_a_policy_or_a_queue_concerns_what_waits_there(full: Fed, kind: str, obj: Builder[Any]) -> None:
    full.feed(getattr(full.cache, kind), obj)
    assert full.touched == {KEY}


@pytest.mark.parametrize("kind", ["local_queues", "cluster_queues", "namespaces"])
def test_what_does_not_bear_on_a_wait_touches_nothing(full: Fed, kind: str) -> None:
    objects: dict[str, Builder[Any]] = {
        "local_queues": local_queue(),
        "cluster_queues": cluster_queue(),
        "namespaces": namespace("team"),
    }
    full.feed(getattr(full.cache, kind), objects[kind].annotate("example.com/note", "hello"))
    assert full.touched == set()


def test_a_profile_may_concern_all(full: Fed) -> None:
    full.feed(full.cache.profiles, profile().admission(timeout="30m"))
    assert full.touched == {KEY, "else/job-away"}
    full.feed(full.cache.profiles, profile().admission(timeout="30m").annotate("x", "y"))
    assert full.touched == set()


def test_a_workload_that_goes_leaves_its_owner_to_be_looked_at(full: Fed) -> None:
    full.feed(full.cache.workloads, workload(), deleted=True)
    assert full.touched == {KEY}
    assert full.orphans == {OwnerKey(JOB, "team/train")}


def test_an_owner_is_only_known_by_its_uid(full: Fed) -> None:
    copy = full.cache.workloads.objects[KEY]
    owned = full.cache.owned(copy)
    assert owned is not None
    assert owned.owner is full.cache.owners[JOB].objects["team/train"]
    full.feed(full.cache.owners[JOB], job().metadata(uid="another"))
    assert full.cache.owned(copy) is None


@pytest.mark.parametrize("first", ["the Workload", "the job"])
def test_what_came_and_went_leaves_nothing_behind(fed: Fed, first: str) -> None:
    cache = fed.cache
    for number in range(50):
        one = job(f"train-{number}")
        its = workload(f"job-train-{number}").owner(one).queue(f"queue-{number}")
        fed.feed(cache.local_queues, local_queue(f"queue-{number}", f"cluster-queue-{number}"))
        fed.feed(cache.owners[JOB], one)
        fed.feed(cache.workloads, its)
        for which in ("the Workload", "the job") if first == "the Workload" else ("the job", "the Workload"):
            if which == "the Workload":
                fed.feed(cache.workloads, its, deleted=True)
            else:
                fed.feed(cache.owners[JOB], one, deleted=True)
        fed.feed(cache.local_queues, local_queue(f"queue-{number}", f"cluster-queue-{number}"), deleted=True)
    for index in (cache._by_owner, cache._by_queue, cache._queues_of):
        assert index == {}


def gated(name: str) -> Builder[Pod]:
    builder = Builder(Pod, api.PODS, name, "team").label("kueue.x-k8s.io/pod-group-name", "gang")
    builder.spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    return builder


def group_workload() -> Builder[Any]:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p-0", "uid": "uid-of-p-0"}]
    made = workload("gang").metadata(ownerReferences=owners)
    return made.annotate("kueue.x-k8s.io/is-group-workload", "true")


def test_a_pod_concerns_its_groups_workload_and_only_by_what_is_read_of_it(fed: Fed) -> None:
    fed.feed(fed.cache.workloads, group_workload())
    fed.feed(fed.cache.owners[POD], gated("p-0"))
    assert fed.touched == {"team/gang"}
    told = gated("p-0").label("example.com/x", "y")
    told._raw["status"] = {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    fed.feed(fed.cache.owners[POD], told)
    assert fed.touched == set()
    told.spec["schedulingGates"] = []
    fed.feed(fed.cache.owners[POD], told)
    assert fed.touched == {"team/gang"}
    fed.feed(fed.cache.owners[POD], told, deleted=True)
    assert fed.touched == {"team/gang"}
    fed.feed(fed.cache.workloads, group_workload(), deleted=True)
    assert not fed.cache._by_group
    assert not fed.cache._by_owner


def test_a_group_that_lost_its_workload_is_looked_at_as_a_whole(fed: Fed) -> None:
    fed.feed(fed.cache.owners[POD], gated("p-0").annotate(api.ADMISSION_OUTCOME_OF, "uid-of-gang/1"))
    assert fed.orphans == {OwnerKey(("", "PodGroup"), "team/gang")}
    assert [owner for owner in fed.cache.mirrored() if owner is not None] == [OwnerKey(("", "PodGroup"), "team/gang")]


def test_of_a_pod_hardly_anything_is_kept(fed: Fed) -> None:
    big = gated("p-0").metadata(managedFields=[{"manager": "kubelet", "fieldsV1": {"f:x": {}}}])
    big.spec["containers"] = [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]
    big.label("example.com/x", "y").annotate("example.com/x", "y")
    fed.feed(fed.cache.owners[POD], big)
    fed.feed(fed.cache.owners[POD], gated("p-1"))
    first, second = fed.cache.owners[POD].objects.values()
    assert first.spec is second.spec
    assert b"example.com" not in msgspec.json.encode(first)
    assert b"containers" not in msgspec.json.encode(first)
    assert first.metadata.managed_fields is None
