"""Kinds that wrap pods without an end or with a phase: LeaderWorkerSet, AppWrapper, and the group of pods.

LeaderWorkerSet ``leaderworkerset.x-k8s.io/v1`` (lws: api/leaderworkerset/v1/leaderworkerset_types.go), AppWrapper
``workload.codeflare.dev/v1beta2`` (appwrapper: api/v1beta2/appwrapper_types.go).
"""

from typing import Any

import msgspec

from classifier.objects.meta import Conditioned, Meta, Obj
from classifier.objects.pods import Pod, PodTemplate


class LeaderWorkerTemplate(Obj):
    """One group: its leader and ``size - 1`` workers."""

    size: int | None = None
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate | None = None


class LeaderWorkerSetSpec(Obj):
    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None


class LeaderWorkerSet(Meta):
    spec: LeaderWorkerSetSpec | None = None
    status: Conditioned | None = None


class DeclaredPodSet(Obj):
    """Where a component has pods; ``path`` begins at its ``template``: ``template.spec.template``."""

    replicas: int | None = None
    path: str = ""


class Component(Obj):
    pod_sets: list[DeclaredPodSet] | None = None
    #: An object of any kind.
    template: dict[str, Any] | None = None


class AppWrapperSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    components: list[Component] | None = None


class AppWrapperStatus(Conditioned):
    phase: str | None = None


class AppWrapper(Meta):
    spec: AppWrapperSpec | None = None
    status: AppWrapperStatus | None = None


class PodGroup(Meta):
    """Pods of one ``kueue.x-k8s.io/pod-group-name``, seen as one job. No API object: its metadata are those of the
    oldest pod (then the first by name), which stands for the group."""

    pods: list[Pod] = msgspec.field(default_factory=list)
