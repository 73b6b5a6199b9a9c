"""Kueue's own configuration (Kueue: apis/config/v1beta2)."""

import pytest

from classifier import api
from classifier.fit.requests import KueueConfig, parse
from tests.builders import config_map, kueue_config

SHIPPED = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
waitForPodsReady:
  timeout: 5m
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector:
  matchExpressions:
  - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kueue-system]}
featureGates:
  PartialAdmission: false
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset, ray.io/raycluster, pod]
  externalFrameworks: [AppWrapper.v1beta2.workload.codeflare.dev]
resources:
  quotaCheckStrategy: IgnoreUndeclared
  excludeResourcePrefixes: [hugepages-]
"""


def read(text: str) -> KueueConfig:
    config = parse(kueue_config(text).done())
    assert isinstance(config, KueueConfig), config
    return config


def test_reads_what_changes_the_count_and_who_is_queued() -> None:
    config = read(SHIPPED)
    assert config.ignore_undeclared
    assert config.exclude_prefixes == ("hugepages-",)


@pytest.mark.parametrize(
    ("resource", "managed"),
    [
        (api.JOBS, True),
        (api.JOBSETS, True),
        (api.RAY_CLUSTERS, True),
        (api.PODS, True),
        (api.APP_WRAPPERS, True),
        (api.WORKLOADS, True),
        (api.PYTORCH_JOBS, False),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_kueue_queues_the_kinds_it_is_told_to(resource: api.Resource, managed: bool) -> None:
    assert read(SHIPPED).manages(resource) is managed


def test_told_nothing_it_queues_jobs_only() -> None:
    config = read("kind: Configuration")
    assert config.manages(api.JOBS)
    assert config.manages(api.JOBSETS) is False


def test_an_empty_text_tells_nothing_of_kinds() -> None:
    assert read("").manages(api.JOBSETS) is None
    assert read("") == KueueConfig()


def test_ignoring_undeclared_resources_has_a_gate() -> None:
    text = "resources: {quotaCheckStrategy: IgnoreUndeclared}\nfeatureGates: {QuotaCheckStrategy: false}"
    assert not read(text).ignore_undeclared


FAULTS = {
    "resources: [": "is not a configuration of Kueue: ",
    "resources: 7": "is not a configuration of Kueue: Expected `object | null`, got `int` - at `$.resources`",
    "[]": "is not a configuration of Kueue: Expected `object`, got `array`",
    "resources: {quotaCheckStrategy: Maybe}": "is not a configuration of Kueue: quotaCheckStrategy is 'Maybe'",
    "resources: {transformations: [{input: cpu, strategy: Keep}]}": (
        "is not a configuration of Kueue: strategy of cpu is 'Keep'"
    ),
    "resources: {transformations: [{input: cpu, outputs: {memory: 1K}}]}": (
        "is not a configuration of Kueue: output of cpu: '1K' is not a quantity"
    ),
}


@pytest.mark.parametrize(("text", "fault"), FAULTS.items(), ids=FAULTS)
def test_says_why_it_cannot_be_read(text: str, fault: str) -> None:
    config = parse(kueue_config(text).done())
    assert isinstance(config, str)
    assert config.startswith(fault)


def test_says_which_key_is_missing() -> None:
    assert (
        parse(config_map("kueue-manager-config", "kueue-system").done()) == "has no key controller_manager_config.yaml"
    )
