"""What a user hears beside the verdict, and what stands between a gang and its queue."""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.fit import Outcome, Verdict, World, judge
from classifier.objects import JobSet, LimitRange, ProvisioningRequestConfig, RuntimeClass
from tests.builders import (
    GPU,
    T0,
    Builder,
    LocalQueueBuilder,
    check,
    cluster_queue,
    config_map,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    kueue_config,
    local_queue,
    namespace,
    profile,
)
from tests.unit.fit.gangs import gang, part

GROWS = Outcome.FITS_AFTER_SCALE_UP
ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"


def verdict(built: Any, cluster: World) -> Verdict:
    return judge(built if isinstance(built, JobSet) else built.done(), cluster, now=T0)


def small() -> Any:
    return job().queue("gpu").pods(2).gpus(8)


# The way to the queue.


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        (None, "ClusterQueue gpu-a100 has no namespaceSelector: it selects no namespace"),
        ({"matchLabels": {"a": "b"}}, "the namespaceSelector of ClusterQueue gpu-a100 does not select team"),
    ],
)
def test_a_queue_that_does_not_take_the_namespace_is_misconfigured(selector: Any, reason: str) -> None:
    queue = cluster_queue().group(["cpu", GPU], "a100-scale")
    queue.spec["namespaceSelector"] = selector
    found = verdict(small(), gpu_world(queue))
    assert (found.outcome, found.reason) == (Outcome.MISCONFIGURED, reason)
    assert found.warnings == [f"preflight: misconfigured: {reason}"]
    assert verdict(small().pods(3), gpu_world(queue)).denied  # which is true all the same


def test_a_kind_that_kueue_leaves_out_is_not_judged() -> None:
    cluster = gpu_world(kueue_config("integrations: {frameworks: [jobset.x-k8s.io/jobset]}"))
    found = verdict(small().pods(3), cluster)
    assert (found.outcome, found.denied) == (Outcome.SKIPPED, False)
    assert found.warnings == ["preflight: skipped: Kueue does not queue kind Job here (integrations.frameworks)"]
    assert verdict(small().pods(3), gpu_world(kueue_config("kind: Configuration"))).denied  # batch/job is the default


def test_a_namespace_whose_jobs_kueue_leaves_alone_is_not_judged() -> None:
    """Its author may hold a job there by hand, and let it run by hand, whatever quota says."""
    text = "managedJobsNamespaceSelector: {matchLabels: {kueue-managed: 'true'}}"
    found = verdict(small().pods(3), gpu_world(kueue_config(text), namespace()))
    assert (found.outcome, found.denied) == (Outcome.SKIPPED, False)
    assert found.warnings == [
        "preflight: skipped: Kueue does not queue jobs of namespace team (managedJobsNamespaceSelector)"
    ]
    assert verdict(small().pods(3), gpu_world(kueue_config(text), namespace().label("kueue-managed", "true"))).denied
    unknown = gpu_world(kueue_config(text))
    unknown.namespaces = {}
    assert verdict(small().pods(3), unknown).denied


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_is_told_and_changes_nothing(policy: str) -> None:
    stopped: LocalQueueBuilder = local_queue()
    stopped.spec["stopPolicy"] = policy
    found = verdict(small(), gpu_world(stopped))
    assert found.outcome is GROWS
    assert found.warnings == [f"LocalQueue team/gpu is stopped (stopPolicy {policy})"]


# The pods.


def test_what_kueue_refuses_for_its_content_does_not_fit() -> None:
    odd = job().queue("gpu").requests({"cpu": 4}, {"cpu": 2})
    found = verdict(odd, gpu_world())
    assert found.outcome is Outcome.UNKNOWN
    assert found.reason == "Kueue does not queue it: main: containers[0] requests more cpu than its limit"
    assert found.warnings


def test_a_missing_runtime_class_is_told() -> None:
    found = verdict(small().pod_spec(runtimeClassName="kata"), gpu_world())
    assert found.outcome is Outcome.UNKNOWN
    assert "RuntimeClass kata of main is not found: its pods will be refused after quota is reserved" in found.warnings
    unread = gpu_world()
    unread.unread = frozenset({api.RUNTIME_CLASSES})
    assert verdict(small().pod_spec(runtimeClassName="kata"), unread).warnings == []


def with_runtime_class(**fields: Any) -> World:
    cluster = gpu_world()
    cluster.runtime_classes = {"kata": msgspec.convert({"metadata": {"name": "kata"}, **fields}, RuntimeClass)}
    return cluster


def test_a_runtime_class_adds_overhead_selector_and_tolerations() -> None:
    pods = small().pod_spec(runtimeClassName="kata")
    assert verdict(pods, with_runtime_class()).outcome is GROWS
    heavy = with_runtime_class(overhead={"podFixed": {"cpu": "95"}})
    assert verdict(pods, heavy).denied
    elsewhere = with_runtime_class(scheduling={"nodeSelector": {"agentpool": "other"}})
    found = verdict(pods, elsewhere)
    assert (found.outcome, found.binding) == (Outcome.NEVER_FITS, "selector")
    tainted = gpu_profile().pool("other", taints=[{"key": "kata", "effect": "NoSchedule"}])
    tainted.spec["pools"] = tainted.spec["pools"][1:]
    cluster = gpu_world(flavor(), profile=tainted)
    assert verdict(pods, cluster).outcome is Outcome.UNKNOWN
    cluster.runtime_classes = with_runtime_class(
        scheduling={"tolerations": [{"key": "kata", "operator": "Exists"}]}
    ).runtime_classes
    assert verdict(pods, cluster).outcome is GROWS


def test_what_a_limit_range_adds_is_not_promised_away() -> None:
    cluster = gpu_world()
    raw = {
        "metadata": {"name": "defaults", "namespace": "team"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "60"}}]},
    }
    cluster.limit_ranges = {"team/defaults": msgspec.convert(raw, LimitRange)}
    halves = job().queue("gpu").pods(4).gpus(4)
    assert verdict(halves, gpu_world()).outcome is GROWS
    found = verdict(halves, cluster)
    assert found.outcome is Outcome.UNKNOWN
    assert found.reason == "pods of main may take more than they request, by a LimitRange or as Kueue counts"


# What may hold up a gang that fits.


def provisioned(**spec: Any) -> World:
    capacity = check()
    capacity.spec["parameters"] = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "pool"}
    cpu = profile("cpu", "cpu").closed().pool("cpupool", 3, {"cpu": "16", "memory": "64Gi", "pods": "110"})
    queue = cluster_queue().group(["cpu"], "cpu").group([GPU], "a100-scale").checks("capacity")
    cluster = gpu_world(queue, flavor("cpu").node_labels(agentpool="cpupool"), cpu, capacity)
    config = {"metadata": {"name": "pool"}, "spec": {"provisioningClassName": ATOMIC, **spec}}
    cluster.provisioning_configs = {"pool": msgspec.convert(config, ProvisioningRequestConfig)}
    return cluster


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({}, ["one ProvisioningRequest grows one node group, head and work need two; see managedResources"]),
        ({"managedResources": [GPU]}, []),
        ({"provisioningClassName": "check-capacity.autoscaling.x-k8s.io"}, []),
    ],
)
def test_one_atomic_request_grows_one_node_group(spec: dict[str, Any], warnings: list[str]) -> None:
    found = verdict(gang(part("head", 1, {"cpu": 1}), part("work", 2, {GPU: 8})), provisioned(**spec))
    assert found.outcome is GROWS
    assert found.warnings == warnings


def test_a_parameter_that_job_and_config_set_otherwise_is_told() -> None:
    cluster = provisioned(managedResources=[GPU], parameters={"ValidUntilSeconds": "600"})
    told = "provreq.kueue.x-k8s.io/ValidUntilSeconds is not that of ProvisioningRequestConfig pool: "
    [warning] = verdict(small().annotate("provreq.kueue.x-k8s.io/ValidUntilSeconds", "60"), cluster).warnings
    assert warning.startswith(told)
    assert verdict(small().annotate("provreq.kueue.x-k8s.io/ValidUntilSeconds", "600"), cluster).warnings == []
    assert verdict(small().annotate("provreq.kueue.x-k8s.io/other", "60"), cluster).warnings == []


STATUS = """\
autoscalerStatus: Running
clusterWide: {}
nodeGroups:
- name: gpupool-group
  health: {status: Healthy, cloudProviderTarget: 0, minSize: 0, maxSize: 2}
  scaleUp:
    status: Backoff
    backoffInfo: {errorCode: QuotaExceeded, errorMessage: none left}
    lastTransitionTime: "2026-11-29T09:59:00Z"
time: 2026-11-29 09:59:50 +0000 UTC
"""


def backed_off() -> Builder[Any]:
    return config_map("cluster-autoscaler-status", "kube-system", status=STATUS)


def test_a_node_group_in_backoff_is_no_reason_to_deny() -> None:
    told = gpu_profile()
    told.spec["pools"][0]["nodeGroups"] = ["gpupool-group"]
    found = verdict(small(), gpu_world(backed_off(), profile=told))
    assert found.outcome is GROWS
    [warning] = found.warnings
    assert warning == ("preflight: fits; node group gpupool-group in backoff since 2026-11-29T09:59:00Z; expect a wait")
    assert verdict(small(), gpu_world(namespace(), profile=told)).warnings == []
