"""Kueue as its own manifests install it: CRDs, RBAC, webhooks behind a Service, certificates of its own."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from classifier import api
from classifier.cluster.client import Client
from e2e.controlplane import manifests
from e2e.controlplane.context import Context, answers
from e2e.controlplane.manifests import Document
from e2e.controlplane.processes import Check, Process

MODULE: Final = "sigs.k8s.io/kueue"
AUTOSCALER_APIS: Final = "k8s.io/autoscaler/cluster-autoscaler/apis"
NAMESPACE: Final = "kueue-system"
#: Its ServiceAccount, and the name of the kubeconfig it is started with.
ACCOUNT: Final = "kueue-controller-manager"
SERVICE: Final = "kueue-webhook-service"
SECRET: Final = "kueue-webhook-server-cert"
#: Where its manifests mount its configuration from.
CONFIG: Final = "kueue-manager-config"
#: Only these have versions that Kueue's webhook converts (reference/controlplane.md).
CONVERTED: Final = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
#: Groups every cluster serves; the others' webhooks are installed with their CRDs.
BUILT_IN: Final = ("", "apps", "batch", api.KUEUE_GROUP)


def crds(context: Context) -> list[Document]:
    """Kueue's CRDs and ProvisioningRequest's, which Kueue looks for once, when it starts."""
    own = manifests.crds(context.modules[MODULE] / "config" / "components" / "crd" / "bases")
    converted = [
        manifests.with_conversion(crd, service=SERVICE, namespace=NAMESPACE)
        if crd["spec"]["names"]["plural"] in CONVERTED
        else crd
        for crd in own
    ]
    return [*converted, *manifests.crds(context.modules[AUTOSCALER_APIS] / "config" / "crd")]


def objects(context: Context, groups: Sequence[str]) -> list[Document]:
    """All else it needs in the cluster. ``groups``: API groups of other job kinds that are installed here."""
    components = context.modules[MODULE] / "config" / "components"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": NAMESPACE}}
    return [
        manifests.namespace(NAMESPACE),
        *manifests.rbac(components / "rbac", prefix="kueue-", namespace=NAMESPACE),
        secret,
        manifests.service(NAMESPACE, SERVICE, {443: 9443}),
        *webhooks(context, groups),
    ]


def webhooks(context: Context, groups: Sequence[str]) -> list[Document]:
    return manifests.webhooks(
        context.modules[MODULE] / "config" / "components" / "webhook" / "manifests.yaml",
        prefix="kueue-",
        service=SERVICE,
        namespace=NAMESPACE,
        served=lambda group: group in BUILT_IN or group in groups,
    )


class Kueue:
    """The program and its certificates."""

    def __init__(self, context: Context, frameworks: Sequence[str], more: Mapping[str, Any]) -> None:
        address = context.subnet.address
        webhook, health, metrics = (context.subnet.free_port() for _ in range(3))
        #: Where its Service's traffic goes.
        self.backend = f"{address}:{webhook}"
        #: Its Prometheus metrics (HTTPS, for those who may read /metrics).
        self.metrics = f"https://{address}:{metrics}/metrics"
        self.certificates = context.folder / "kueue-certs"
        config = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"{address}:{health}"},
            "metrics": {"bindAddress": f"{address}:{metrics}"},
            "webhook": {"host": address, "port": webhook, "certDir": str(self.certificates)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": SERVICE,
                "webhookSecretName": SECRET,
            },
            "controller": {
                "groupKindConcurrency": {
                    "Job.batch": 5,
                    "Pod": 5,
                    "Workload.kueue.x-k8s.io": 10,
                    "LocalQueue.kueue.x-k8s.io": 5,
                    "ClusterQueue.kueue.x-k8s.io": 5,
                    "ResourceFlavor.kueue.x-k8s.io": 1,
                }
            },
            "clientConnection": {"qps": 300, "burst": 500},
            "integrations": {"frameworks": list(frameworks)},
            **more,
        }
        #: The same for all to read, as its manifests install it.
        self.config_map: Document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG, "namespace": NAMESPACE},
            "data": {"controller_manager_config.yaml": yaml.safe_dump(config)},
        }
        command: list[str | Path] = [
            context.programs["kueue"],
            f"--config={context.file('kueue.yaml', config)}",
            f"--kubeconfig={context.kubeconfig_path(ACCOUNT)}",
            "--feature-gates=VisibilityOnDemand=false",
        ]
        self.process = Process("kueue", command, log=context.logs / "kueue.log")
        self.ready: Check = answers(f"http://{address}:{health}/readyz")

    async def play_kubelet(self, client: Client) -> None:
        """Bring the certificates Kueue makes for itself to where it waits for them, as the Secret's mount would."""
        path = api.SECRETS.path(NAMESPACE, SECRET)
        while True:
            secret = msgspec.json.decode(await client.request("GET", path))
            data = secret.get("data") or {}
            if "tls.crt" in data:
                break
            await asyncio.sleep(0.05)
        self.certificates.mkdir(exist_ok=True)
        for name, value in data.items():
            # Renamed into place: Kueue looks for the files while we write.
            partial = self.certificates / f".{name}"
            partial.write_bytes(base64.b64decode(value))
            partial.rename(self.certificates / name)
