"""Objects that are not judged at all (design §4, reference/capacity.md §3.2): whose gang it is, or who runs it."""

from classifier import api
from classifier.fit.quota.selector import takes
from classifier.fit.requests import KueueConfig, parse
from classifier.objects import ClusterQueue, ConfigMap, Meta, Namespace, RayJob, Workload
from classifier.scope import queue_of, why_not_ours


def why_not_judged(obj: Meta) -> str | None:
    """The reason in the object itself, to be read after its name; None if it is judged."""
    reason = why_not_ours(obj)
    if reason is not None:
        return reason
    if obj.label(api.PREBUILT_WORKLOAD) or obj.annotation(api.PREBUILT_WORKLOAD):
        return "runs a prebuilt Workload, which is judged instead"
    if isinstance(obj, RayJob) and obj.spec is not None and obj.spec.cluster_selector:
        return "runs in a RayCluster that is there already, and is not queued"
    if not queue_of(obj):
        return "has no spec.queueName" if isinstance(obj, Workload) else f"has no {api.QUEUE_NAME} label"
    return None


def why_not_judged_waiting(workload: Workload) -> str | None:
    """The same of a Workload that Kueue has queued, whoever owns it."""
    if workload.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if workload.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "is MultiKueue's copy of one of another cluster"
    if workload.annotation(api.SLICE_REPLACEMENT_FOR) is not None:
        return "is a slice of an elastic job that runs already"
    return None if workload.queue_name else "has no spec.queueName"


def why_not_queued(kind: api.Resource, namespace: Namespace | None, config_map: ConfigMap | None) -> str | None:
    """A kind or a namespace that Kueue's configuration leaves out: what is of it runs whenever its author lets it,
    whatever queue it names (Kueue: pkg/controller/jobframework/reconciler.go). Workloads are Kueue's own."""
    config = parse(config_map) if config_map is not None else None
    if not isinstance(config, KueueConfig) or kind == api.WORKLOADS:
        return None
    if config.manages(kind) is False:
        return f"Kueue does not queue kind {kind.kind} here (integrations.frameworks)"
    if config.namespaces is not None and namespace is not None and takes(config.namespaces, namespace) is False:
        return f"Kueue does not queue jobs of namespace {namespace.name} (managedJobsNamespaceSelector)"
    return None


def multikueue_check(queue: ClusterQueue, controllers: dict[str, str]) -> str | None:
    """The check by which the queue sends its jobs to other clusters, whose capacity is not known here."""
    return next((name for name in queue.check_names if controllers.get(name) == api.MULTIKUEUE_CONTROLLER), None)
