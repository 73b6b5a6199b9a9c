"""JobSet and Trainer, on request: CRDs, RBAC, webhooks behind their Services, certificates of the run's CA."""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from e2e.controlplane import manifests
from e2e.controlplane.context import Context, answers
from e2e.controlplane.manifests import Document
from e2e.controlplane.processes import Check, Process

JOBSET: Final = "sigs.k8s.io/jobset"
TRAINER: Final = "github.com/kubeflow/trainer/v2"


@dataclass
class Operator:
    """What one of them needs in the cluster, its program, and what is installed once its webhook answers."""

    group: str
    framework: str  # as Kueue's integrations name it
    namespace: str
    account: str  # its ServiceAccount, and the name of the kubeconfig it is started with
    service: str
    backend: str  # where the Service's traffic goes
    process: Process
    ready: Check
    crds: list[Document]
    objects: list[Document]
    afterwards: list[Document] = field(default_factory=list)


def jobset(context: Context) -> Operator:
    name, namespace, service = "jobset", "jobset-system", "jobset-webhook-service"
    account = "jobset-controller-manager"
    components = context.modules[JOBSET] / "config" / "components"
    address = context.subnet.address
    webhook, health = context.subnet.free_port(), context.subnet.free_port()
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": address,
            "port": webhook,
            "certDir": str(_certificates(context, name, f"{service}.{namespace}.svc")),
        },
        "health": {"healthProbeBindAddress": f"{address}:{health}"},
        "metrics": {"bindAddress": "0"},
    }
    configurations = manifests.webhooks(
        components / "webhook" / "manifests.yaml", prefix="jobset-", service=service, namespace=namespace
    )
    for entry in (entry for configuration in configurations for entry in configuration["webhooks"]):
        if entry["name"].endswith("pod.kb.io"):
            # As upstream's patches do: JobSet looks at its own pods alone.
            own = {"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}
            entry["objectSelector"] = {"matchExpressions": [own]}
    return Operator(
        group="jobset.x-k8s.io",
        framework="jobset.x-k8s.io/jobset",
        namespace=namespace,
        account=account,
        service=service,
        backend=f"{address}:{webhook}",
        process=Process(
            name,
            [context.programs["jobset"], f"--config={context.file('jobset.yaml', config)}"],
            log=context.logs / "jobset.log",
            env={"KUBECONFIG": str(context.kubeconfig_path(account))},
        ),
        ready=answers(f"http://{address}:{health}/readyz"),
        crds=manifests.crds(components / "crd" / "bases"),
        objects=[
            manifests.namespace(namespace),
            *manifests.rbac(components / "rbac", prefix="jobset-", namespace=namespace),
            manifests.service(namespace, service, {443: 9443}),
            *_trusting(context, configurations),
        ],
    )


def trainer(context: Context) -> Operator:
    name, namespace, service = "trainer", "kubeflow-system", "kubeflow-trainer-controller-manager"
    base = context.modules[TRAINER] / "manifests" / "base"
    address = context.subnet.address
    webhook, health = context.subnet.free_port(), context.subnet.free_port()
    config = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "webhook": {"host": address, "port": webhook},
        "health": {"healthProbeBindAddress": f"{address}:{health}"},
        "metrics": {"bindAddress": "0"},
    }
    # It has no setting for the folder of its certificates: it is looked for below the temporary folder.
    temporary = _certificates(context, name, f"{service}.{namespace}.svc").parent.parent
    configurations = manifests.webhooks(
        base / "webhook" / "manifests.yaml", prefix="trainer-", service=service, namespace=namespace
    )
    return Operator(
        group="trainer.kubeflow.org",
        framework="trainer.kubeflow.org/trainjob",
        namespace=namespace,
        account=service,
        service=service,
        backend=f"{address}:{webhook}",
        process=Process(
            name,
            [context.programs["trainer"], f"--config={context.file('trainer.yaml', config)}"],
            log=context.logs / "trainer.log",
            env={"KUBECONFIG": str(context.kubeconfig_path(service)), "TMPDIR": str(temporary)},
        ),
        ready=answers(f"http://{address}:{health}/readyz"),
        crds=manifests.crds(base / "crds"),
        objects=[
            manifests.namespace(namespace),
            *manifests.rbac(base / "rbac", prefix="", namespace=namespace),
            manifests.service(namespace, service, {443: 9443}),
            *_trusting(context, configurations),
        ],
        afterwards=list(manifests.documents(base / "runtimes" / "torch_distributed.yaml")),
    )


def _certificates(context: Context, name: str, host: str) -> Path:
    certificate, key = context.authority.server([host])
    context.file(f"{name}/k8s-webhook-server/serving-certs/tls.key", key)
    return context.file(f"{name}/k8s-webhook-server/serving-certs/tls.crt", certificate).parent


def _trusting(context: Context, configurations: list[Document]) -> list[Document]:
    bundle = base64.b64encode(context.authority.certificate).decode()
    for configuration in configurations:
        for entry in configuration["webhooks"]:
            entry["clientConfig"]["caBundle"] = bundle
    return configurations
