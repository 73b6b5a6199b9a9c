"""The job kinds whose operators do not run here: their CRDs, read from their modules, and Kueue's integrations.

Kueue makes their Workloads from the objects alone; what an operator would do, a scenario plays (:mod:`e2e.played`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from e2e.controlplane import manifests
from e2e.controlplane.manifests import Document


class Source(NamedTuple):
    """A module, where its CRDs lie, and which of them are job kinds that Kueue queues, with Kueue's framework."""

    module: str
    folder: str
    group: str
    frameworks: dict[str, str]  # by the CRD's plural


SOURCES: Final = (
    Source(
        "github.com/ray-project/kuberay/ray-operator",
        "config/crd/bases",
        "ray.io",
        {"rayjobs": "ray.io/rayjob", "rayclusters": "ray.io/raycluster"},
    ),
    # Its own MPIJob is v1, which nobody reads any more: that kind comes from the MPI operator.
    Source(
        "github.com/kubeflow/training-operator",
        "manifests/base/crds",
        "kubeflow.org",
        {
            "pytorchjobs": "kubeflow.org/pytorchjob",
            "tfjobs": "kubeflow.org/tfjob",
            "xgboostjobs": "kubeflow.org/xgboostjob",
            "paddlejobs": "kubeflow.org/paddlejob",
            "jaxjobs": "kubeflow.org/jaxjob",
        },
    ),
    Source("github.com/kubeflow/mpi-operator", "manifests/base", "kubeflow.org", {"mpijobs": "kubeflow.org/mpijob"}),
    Source(
        "sigs.k8s.io/lws",
        "config/crd/bases",
        "leaderworkerset.x-k8s.io",
        {"leaderworkersets": "leaderworkerset.x-k8s.io/leaderworkerset"},
    ),
    Source(
        "github.com/project-codeflare/appwrapper",
        "config/crd/bases",
        "workload.codeflare.dev",
        {"appwrappers": "workload.codeflare.dev/appwrapper"},
    ),
)
MODULES: Final = tuple(source.module for source in SOURCES)
GROUPS: Final = tuple(dict.fromkeys(source.group for source in SOURCES))
#: Pods with a queue's label are queued one by one or as groups; LeaderWorkerSets need that integration too. A pod whose
#: owner Kueue queues is never gated, nor is any in a namespace of the system (Kueue: managedJobsNamespaceSelector).
FRAMEWORKS: Final = ("pod", *(framework for source in SOURCES for framework in source.frameworks.values()))


def crds(modules: Mapping[str, Path]) -> list[Document]:
    """The CRDs of the kinds above, and no other of their folders."""
    return [
        crd
        for source in SOURCES
        for crd in manifests.crds(modules[source.module] / source.folder)
        if crd["spec"]["group"] == source.group and crd["spec"]["names"]["plural"] in source.frameworks
    ]
