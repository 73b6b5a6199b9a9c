"""The autoscaler's status in both forms, in values of our own."""

from typing import Any

import yaml

from classifier.fit.facts import PoolFacts, Sources
from classifier.fit.world import World
from classifier.instant import format_instant
from classifier.objects import Pool
from tests.builders import T0, Builder, config_map

AKS = "aks-gpupool-00000001-vmss"
SOURCE = "ConfigMap/kube-system/cluster-autoscaler-status"
#: When the groups below went into backoff.
SINCE = T0 - 90_000


def go_time(at: int) -> str:
    day, _, clock = format_instant(at).partition("T")
    return f"{day} {clock.removesuffix('Z')} +0000 UTC"


def group(name: str = AKS, most: int | None = 2, target: int = 1, ready: int = 1, **scale_up: Any) -> dict[str, Any]:
    """One entry of ``nodeGroups``."""
    health: dict[str, Any] = {
        "status": "Healthy",
        "cloudProviderTarget": target,
        "minSize": 0,
        "nodeCounts": {
            "registered": {"total": ready, "ready": ready, "notStarted": 0, "unready": {"total": 0}},
            "longUnregistered": 0,
            "unregistered": target - ready,
        },
        "lastProbeTime": "2026-11-29T10:00:00Z",
        "lastTransitionTime": None,
    }
    if most is not None:
        health["maxSize"] = most
    return {"name": name, "health": health, "scaleUp": {"status": "NoActivity", "backoffInfo": {}} | scale_up}


def backing_off(name: str = AKS, **sizes: Any) -> dict[str, Any]:
    info = {"errorCode": "QuotaExceeded", "errorMessage": "the region\nhas no more of these"}
    return group(name, **sizes, status="Backoff", backoffInfo=info, lastTransitionTime=format_instant(SINCE))


def document(*groups: dict[str, Any], at: int = T0, **more: Any) -> str:
    status = {"autoscalerStatus": "Running", "clusterWide": {"health": {"status": "Healthy"}}, "message": ""}
    return yaml.safe_dump({**status, "nodeGroups": list(groups), "time": go_time(at), **more})


def old_text(name: str = AKS, scale_up: str = "NoActivity", at: int = T0, most: int = 2) -> str:
    """What Cluster Autoscaler wrote before 1.30."""
    probe = f"               LastProbeTime:      {go_time(at)} m=+238.237952298\n"
    since = f"               LastTransitionTime: {go_time(SINCE)} m=+12.979835247\n"
    before = f"               LastTransitionTime: {go_time(SINCE - 60_000)} m=+2.5\n"
    counts = "unready=0 (resourceUnready=0) notStarted=0 longNotStarted=0 registered=1 longUnregistered=0"
    return (
        f"Cluster-autoscaler status at {go_time(at)}:\n"
        "Cluster-wide:\n"
        f"  Health:      Healthy (ready=4 {counts})\n{probe}{since}"
        f"  ScaleUp:     Backoff (ready=4 registered=4)\n{probe}{since}"
        f"  ScaleDown:   NoCandidates (candidates=0)\n{probe}{since}"
        "\nNodeGroups:\n"
        f"  Name:        {name}\n"
        f"  Health:      Healthy (ready=1 {counts} cloudProviderTarget=1 (minSize=0, maxSize={most}))\n{probe}{before}"
        f"  ScaleUp:     {scale_up} (ready=1 cloudProviderTarget=1)\n{probe}{since}"
        f"  ScaleDown:   NoCandidates (candidates=0)\n{probe}{before}\n"
    )


def status_map(text: str) -> Builder[Any]:
    return config_map("cluster-autoscaler-status", "kube-system", status=text)


def pool(name: str = "gpupool", labels: dict[str, str] | None = None, **fields: Any) -> Pool:
    return Pool(name=name, node_labels={"agentpool": name} if labels is None else labels, **fields)


def told(text: str, of: Pool | None = None) -> PoolFacts | None:
    """What a status with this text says of a pool."""
    facts = Sources(World(autoscaler_status=status_map(text).done())).of(of or pool())
    assert len(facts) <= 1
    return facts[0] if facts else None
