"""Three-valued matching: labels, affinity, taints, and what else keeps pods apart."""

from typing import Any

import msgspec
import pytest

from classifier.fit.gang import Podset
from classifier.fit.matching.eligible import refusal
from classifier.fit.matching.match import Labels, Match, match_expression, match_pod, untolerated
from classifier.fit.matching.placement import doubt, one_per_node
from classifier.objects import Expression, JobSet, LeaderWorkerSet, Meta, PodSpec, PodTemplate, Taint, Toleration
from tests.builders import flavor
from tests.unit.fit.kinds.shapes import made, only

YES, NO, UNKNOWN = Match.YES, Match.NO, Match.UNKNOWN
KNOWN = {"model": "a100", "gen": "8", "padded": "0" * 60 + "8"}
OPEN = Labels(KNOWN)
COMPLETE = Labels(KNOWN, complete=True)
ZONE = "topology.kubernetes.io/zone"


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def term(*expressions: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": k, "operator": o, "values": v} for k, o, v in expressions]}


def spec(**fields: Any) -> PodSpec:
    return msgspec.convert(fields, PodSpec)


@pytest.mark.parametrize(
    ("expression", "when_open", "when_complete"),
    [
        (("model", "In", ["a100", "h100"]), YES, YES),
        (("model", "In", ["h100"]), NO, NO),
        (("model", "NotIn", ["a100"]), NO, NO),
        (("model", "Exists", []), YES, YES),
        (("model", "DoesNotExist", []), NO, NO),
        (("gen", "Gt", ["7"]), YES, YES),
        (("gen", "Lt", ["8"]), NO, NO),
        (("padded", "Gt", ["4"]), YES, YES),
        (("padded", "Lt", ["0" * 60 + "9"]), YES, YES),
        (("model", "Gt", ["1"]), NO, NO),
        (("gen", "Gt", ["x"]), UNKNOWN, UNKNOWN),
        (("gen", "Like", ["8"]), UNKNOWN, UNKNOWN),
        (("team", "In", ["a"]), UNKNOWN, NO),
        (("team", "NotIn", ["a"]), UNKNOWN, YES),
        (("team", "Exists", []), UNKNOWN, NO),
        (("team", "DoesNotExist", []), UNKNOWN, YES),
        # Set by kubelet and clouds: no profile's list is complete about them.
        ((ZONE, "In", ["a"]), UNKNOWN, UNKNOWN),
        (("kubernetes.io/arch", "In", ["arm64"]), UNKNOWN, UNKNOWN),
        (("node.kubernetes.io/instance-type", "Exists", []), UNKNOWN, UNKNOWN),
        (("cloud.google.com/gke-nodepool", "DoesNotExist", []), UNKNOWN, UNKNOWN),
    ],
)
def test_expression(expression: tuple[str, str, list[str]], when_open: Match, when_complete: Match) -> None:
    key, operator, values = expression
    one = Expression(key=key, operator=operator, values=values)
    assert match_expression(one, OPEN) is when_open
    assert match_expression(one, COMPLETE) is when_complete


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (spec(), YES),
        (spec(nodeSelector={"model": "a100", "team": "x"}), UNKNOWN),
        (spec(nodeSelector={"model": "h100", "team": "x"}), NO),
        (spec(affinity=affinity(term(("model", "In", ["h100"])), term(("gen", "In", ["8"])))), YES),
        (spec(affinity=affinity(term(("model", "In", ["h100"])), term(("team", "In", ["x"])))), UNKNOWN),
        (spec(affinity=affinity(term(("model", "In", ["a100"]), ("gen", "In", ["9"])))), NO),
        (spec(affinity=affinity({})), NO),  # an empty term matches no node
        (spec(affinity=affinity()), UNKNOWN),
        (spec(affinity=affinity({"matchFields": [{"key": "metadata.name", "operator": "In"}]})), UNKNOWN),
    ],
)
def test_pod(pod: PodSpec, expected: Match) -> None:
    assert match_pod(pod, OPEN)[0] is expected


TAINT = Taint(key="sku", value="gpu", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(key="sku", value="gpu"), True),
        (Toleration(key="sku", operator="Equal", value="gpu", effect="NoSchedule"), True),
        (Toleration(key="sku", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="sku", value="cpu"), False),
        (Toleration(key="sku", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(value="gpu"), False),
        (Toleration(key="sku", operator="Gt", value="1"), True),  # a later release's operator: perhaps
    ],
)
def test_toleration(toleration: Toleration, tolerated: bool) -> None:
    assert (untolerated([TAINT], [toleration]) is None) is tolerated


def test_a_preference_keeps_nobody_away() -> None:
    assert untolerated([Taint(key="sku", effect="PreferNoSchedule")], []) is None


@pytest.mark.parametrize(
    ("pod", "binding"),
    [
        (spec(), None),
        (spec(nodeSelector={"pool": "a"}), None),
        (spec(nodeSelector={"pool": "b"}), "selector"),
        (spec(nodeSelector={"elsewhere": "b"}), None),  # keys the flavor does not set never reject
        (spec(affinity=affinity(term(("pool", "In", ["b"])))), "selector"),
        (spec(affinity=affinity(term(("pool", "In", ["b"]), ("elsewhere", "Exists", [])))), "selector"),
        # One term without any key of the flavor, and Kueue ignores the affinity.
        (spec(affinity=affinity(term(("pool", "In", ["b"])), term(("elsewhere", "Exists", [])))), None),
        (spec(affinity=affinity(term(("pool", "In", ["b"])), term(("pool", "NotIn", ["b"])))), None),
    ],
)
def test_a_flavor_is_refused_as_kueue_refuses_it(pod: PodSpec, binding: str | None) -> None:
    refused = refusal("main", pod, flavor().node_labels(pool="a").done())
    assert (refused.binding if refused else None) == binding


def test_a_flavor_tolerates_its_own_taint() -> None:
    tainted = flavor().taint("sku", "gpu")
    refused = refusal("main", spec(), tainted.done())
    assert refused is not None
    assert refused.binding == "taint"
    assert refusal("main", spec(), tainted.tolerate(key="sku", operator="Exists").done()) is None


def podset(labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **fields: Any) -> Podset:
    template = {"metadata": {"labels": labels or {}, "annotations": annotations or {}}, "spec": fields}
    return Podset("main", 2, 2, msgspec.convert(template, PodTemplate), "team")


def apart(key: str = "kubernetes.io/hostname", **term: Any) -> dict[str, Any]:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **term}]}}


def ports(**port: int) -> list[dict[str, Any]]:
    return [{"name": "c", "ports": [port]}]


SELF = {"matchLabels": {"app": "train"}}
INDEX = "batch.kubernetes.io/job-completion-index"
HAS_INDEX = {"key": INDEX, "operator": "In", "values": ["0"]}


@pytest.mark.parametrize(
    ("pods", "alone"),
    [
        (podset(), False),
        (podset(containers=ports(containerPort=80)), False),
        (podset(containers=ports(hostPort=80)), True),
        (podset(containers=ports(containerPort=80), hostNetwork=True), True),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF)), True),
        (podset({"app": "train"}, affinity=apart(labelSelector={})), True),
        (podset({"job-name": "x"}, affinity=apart(labelSelector={"matchLabels": {"job-name": "x"}})), False),
        (podset({"ray.io/group": "x"}, affinity=apart(labelSelector={"matchLabels": {"ray.io/group": "x"}})), False),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, namespaces=["team"])), True),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, namespaces=["other"])), False),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, mismatchLabelKeys=["app"])), False),
        # Which of the pods a label keyed by value keeps apart is decided when they are made.
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, matchLabelKeys=["app"])), False),
        (podset({"app": "train"}, affinity=apart(labelSelector={}, matchLabelKeys=[INDEX])), False),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, matchLabelKeys=[])), True),
        # The job controller gives each pod its own.
        (podset({INDEX: "0"}, affinity=apart(labelSelector={"matchLabels": {INDEX: "0"}})), False),
        (podset({INDEX: "0"}, affinity=apart(labelSelector={"matchExpressions": [HAS_INDEX]})), False),
        (podset({"app": "other"}, affinity=apart(labelSelector=SELF)), False),
        # Who names the node is never scheduled, and kubelet asks for ports alone.
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF), nodeName="n1"), False),
        (podset(containers=ports(hostPort=80), nodeName="n1"), True),
        (podset({"app": "train"}, affinity=apart()), False),  # no selector selects nothing
        (podset({"app": "train"}, affinity=apart(ZONE, labelSelector=SELF)), False),
        # The job controller adds labels later: what is absent now may be there then.
        (podset(affinity=apart(labelSelector={"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})), False),
    ],
)
def test_one_per_node(pods: Podset, alone: bool) -> None:
    assert one_per_node(pods) is alone


@pytest.mark.parametrize(
    ("pods", "clause"),
    [
        (podset(), None),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF)), None),
        (podset(affinity=apart(labelSelector=SELF)), "anti-affinity"),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, matchLabelKeys=["app"])), "anti-affinity"),
        (podset({"app": "train"}, affinity=apart(labelSelector=SELF, mismatchLabelKeys=["app"])), "anti-affinity"),
        (podset({"app": "train"}, affinity=apart(ZONE, labelSelector=SELF)), "anti-affinity"),
        (podset(nodeName="gpu-1"), "names its node"),
        (podset(volumes=[{"name": "v", "ephemeral": {}}]), "volume"),
        (podset(resourceClaims=[{"name": "gpu"}]), "ResourceClaim"),
        (podset(topologySpreadConstraints=[{"whenUnsatisfiable": "DoNotSchedule"}]), "spread"),
        (podset(topologySpreadConstraints=[{"whenUnsatisfiable": "ScheduleAnyway"}]), None),
        (podset(annotations={"kueue.x-k8s.io/podset-required-topology": "rack"}), "topology"),
        (podset(initContainers=[{"restartPolicy": "Always", "ports": [{"hostPort": 80}]}]), "init container"),
        (podset(annotations={"kueue.x-k8s.io/podset-preferred-topology": "rack"}), None),
        (podset(runtimeClassName="kata"), None),
    ],
)
def test_what_cannot_be_seen_through_is_named(pods: Podset, clause: str | None) -> None:
    found = doubt(pods)
    assert found is None if clause is None else clause in (found or "")


@pytest.mark.parametrize(
    "key",
    [
        ZONE,
        "kubernetes.io/hostname",
        "beta.kubernetes.io/arch",
        "kubernetes.azure.com/sku-cpu",
        "agentpool",
        "accelerator",
        "cloud.google.com/gke-accelerator",
        "topology.gke.io/zone",
        "eks.amazonaws.com/capacityType",
        "topology.ebs.csi.aws.com/zone",
        "csi.hetzner.cloud/location",
        "topology.topolvm.io/node",
        "node.openshift.io/os_id",
        "karpenter.sh/capacity-type",
        "karpenter.k8s.aws/instance-family",
        "backend.coreweave.cloud/leafgroup",
        "k8s.scaleway.com/pool-name",
        "node.cluster.x-k8s.io/pool",
        "worker.gardener.cloud/pool",
        "lke.linode.com/pool-id",
        "vke.vultr.com/node-pool",
        "instance.hetzner.cloud/provided-by",
        "rke.cattle.io/machine",
        "k3s.io/hostname",
        "nvidia.com/gpu.product",
        "feature.node.kubernetes.io/pci-10de.present",
    ],
)
def test_no_list_of_labels_is_complete_about_what_others_set(key: str) -> None:
    """Kubelet, its CSI drivers, the cloud, the autoscaler and device operators label nodes too."""
    assert match_expression(Expression(key=key, operator="Exists"), COMPLETE) is UNKNOWN


@pytest.mark.parametrize("key", ["team", "example.com/rack", "notkubernetes.io/x", "mycsi.example.com/x", "myk8s.io/x"])
def test_a_complete_list_of_labels_speaks_for_all_others(key: str) -> None:
    assert match_expression(Expression(key=key, operator="Exists"), COMPLETE) is NO


JOBS_APART = "alpha.jobset.sigs.k8s.io/exclusive-topology"
GROUPS_APART = "leaderworkerset.sigs.k8s.io/exclusive-topology"
POD: dict[str, Any] = {"spec": {"containers": []}}
ONE_APART = {"name": "a", "template": {"metadata": {"annotations": {JOBS_APART: ZONE}}}}


@pytest.mark.parametrize(
    "obj",
    [
        made(JobSet, {"replicatedJobs": [{"name": "a"}]}, annotations={JOBS_APART: ZONE}),
        made(JobSet, {"replicatedJobs": [ONE_APART]}),
        made(LeaderWorkerSet, {"leaderWorkerTemplate": {"workerTemplate": POD}}, annotations={GROUPS_APART: ZONE}),
    ],
    ids=["set", "one of a set", "group"],
)
def test_a_domain_to_itself_is_not_promised(obj: Meta) -> None:
    """The kind's controller adds affinities to the pods that no template shows."""
    assert doubt(only(obj)) == f"is to have domains of {ZONE} to itself"
