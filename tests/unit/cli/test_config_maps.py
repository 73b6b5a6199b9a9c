"""Kueue's configuration and the rest of what refines a verdict: read where it is, and said where it is not."""

from typing import cast

import pytest
import yaml

from classifier import api
from classifier.cli.watch import Following
from classifier.cluster.client import Client
from classifier.cluster.configmaps import USUAL, ConfigMapName, ConfigMaps
from classifier.cluster.files import load
from classifier.cluster.reader import Reader
from classifier.cluster.snapshot import TYPES
from classifier.cluster.world import assumed, world_of
from classifier.fit.kinds import PODSETS
from classifier.instant import parse_instant
from classifier.objects import Job
from classifier.report import owner_of
from classifier.report.screen import lines
from tests.builders import cluster_queue, cohort, config_map
from tests.unit.cli.conftest import WORLD, Muster, Write, gang, waiting

NOTE = "muster: Kueue's configuration (kueue-system/kueue-manager-config) {}; its defaults are assumed\n"

REFINING = """\
apiVersion: v1
kind: List
items:
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: research}, spec: {parentName: all}}
- {apiVersion: kueue.x-k8s.io/v1beta1, kind: Topology, metadata: {name: racks}, spec: {levels: [{nodeLabel: rack}]}}
- {apiVersion: v1, kind: LimitRange, metadata: {name: defaults, namespace: team-a}, spec: {limits: []}}
- {apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata}
- {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: own, namespace: team-a}}
- {apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: torch}}
- {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: gpus}}
- {apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, metadata: {name: a, namespace: infra}}
- {apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: a, namespace: infra}}
- {apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {name: a, namespace: infra}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: cluster-autoscaler-status, namespace: kube-system}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: kube-system}}
- {apiVersion: example.com/v1, kind: Unheard, metadata: {name: of}}
"""


def test_every_kind_that_refines_a_verdict_is_loaded(write: Write) -> None:
    snapshot = load([write("world.yaml", REFINING)], "default")
    world = world_of(snapshot)
    assert set(world.cohorts) == {"research"}
    assert world.topologies["racks"].levels == ["rack"]
    assert set(world.limit_ranges) == {"team-a/defaults"}
    assert set(world.runtime_classes) == {"kata"}
    assert set(world.runtimes.namespaced) == {"team-a/own"}
    assert set(world.runtimes.cluster) == {"torch"}
    assert set(world.node_pools) == {"gpus"}
    assert set(world.machine_groups) == {f"Machine{kind}/infra/a" for kind in ("Deployment", "Set", "Pool")}
    assert world.autoscaler_status is not None
    assert api.LIMIT_RANGES not in world.unread


def test_every_kind_that_is_judged_can_be_read_from_files() -> None:
    """A group of pods is read as its pods."""
    assert {resource.plural for resource in PODSETS} <= {resource.plural for resource in TYPES}


def test_kueue_runs_with_its_defaults_where_files_say_nothing(write: Write) -> None:
    world = world_of(load([write("world.yaml", REFINING)], "default"))
    assert world.kueue_config is not None
    assert world.kueue_config.data == {"controller_manager_config.yaml": ""}


def test_another_name_is_another_object(write: Write) -> None:
    own = config_map("config", "queues", **{"controller_manager_config.yaml": "x"}).raw()
    snapshot = load([write("world.yaml", own)], "default")
    where = ConfigMaps(ConfigMapName("queues", "config"), None)
    world = world_of(snapshot, where)
    assert world.kueue_config is not None
    assert world.kueue_config.namespace == "queues"
    assert assumed(snapshot, where, files=True) == []
    assert len(assumed(snapshot, USUAL, files=True)) == 1


def test_files_must_hold_the_cohorts_their_queues_borrow_in(write: Write) -> None:
    queue = cluster_queue("gpu-a100")
    queue.spec["cohortName"] = "research"
    snapshot = load([write("world.yaml", queue.raw())], "default")
    where = ConfigMaps(None, None)
    said = "Cohort research is not in these files; it is taken to have no quota but that of the ClusterQueues given"
    assert said in assumed(snapshot, where, files=True)
    assert said not in assumed(snapshot, where, files=False)
    whole = load([write("world.yaml", queue.raw()), write("cohort.yaml", cohort("research").raw())], "default")
    assert said not in assumed(whole, where, files=True)


def without_config(world: str) -> str:
    with open(world) as file:
        return yaml.safe_dump_all(doc for doc in yaml.safe_load_all(file) if doc["kind"] != "ConfigMap")


def test_files_without_it_are_judged_by_defaults_and_that_is_said(muster: Muster, write: Write, world: str) -> None:
    job = write("job.yaml", gang())
    bare = write("bare.yaml", without_config(world))
    with_it, without = (muster("preflight", "-f", job, "--with", path) for path in (world, bare))
    assert (with_it.code, with_it.err) == (0, "")
    assert (without.code, without.out, without.err) == (0, with_it.out, NOTE.format("is not in these files"))


@pytest.mark.parametrize("kind", ["kueue-config", "autoscaler-status"])
def test_what_is_no_name_is_a_usage_error(muster: Muster, write: Write, world: str, kind: str) -> None:
    ran = muster("preflight", "-f", write("job.yaml", gang()), "--with", world, f"--{kind}", "config")
    assert ran.code == 2
    assert "'config' is not the NAMESPACE/NAME of a ConfigMap" in ran.err


def test_every_judgement_is_by_the_configuration_that_is_named(muster: Muster, write: Write) -> None:
    """Where Kueue runs elsewhere: what it leaves out there needs no quota, whichever command is asked."""
    job = gang(uid="u1", created="2026-11-29T10:00:00Z")
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["example.com/licence"] = 1
    left_out = "resources: {excludeResourcePrefixes: [example.com/]}"
    own = config_map("config", "queues", **{"controller_manager_config.yaml": left_out}).raw()
    path = write("dump.yaml", WORLD, job, waiting("train", "u1"), own)
    named = ("--kueue-config", "queues/config", "--now", "2026-11-29T10:00:40Z")
    asked = (("status", "job/train", "-f", path), ("preflight", "-f", path, "--with", path), ("audit", "-f", path))
    usual, elsewhere = ([muster(*words, *more).out for words in asked] for more in (named[2:], named))
    assert all("does not cover example.com/licence" in told for told in usual)
    assert all("does not say how much example.com/licence a node has" in told for told in elsewhere)
    reader = Reader(cast("Client", None), ConfigMaps(ConfigMapName("queues", "config")))
    reader.snapshot = load([path], "default")
    followed = reader.snapshot.get(api.JOBS, Job, "train", "team-a")
    assert followed is not None
    report = Following(cast("Client", None), reader, owner_of(followed), "muster-fence").report(parse_instant(named[3]))
    assert "\n".join(lines(report)) + "\n" == elsewhere[0], "and so does -w"
