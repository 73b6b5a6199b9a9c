"""etcd and Kubernetes' own programs: the flags that matter (reference/controlplane.md, "Starting them")."""

from pathlib import Path
from typing import Final

from e2e.controlplane import certs
from e2e.controlplane.context import Context, answers
from e2e.controlplane.egress import Egress
from e2e.controlplane.processes import Check, Process

#: What the invariants read: every write, with its body and its answer. Reads are not logged.
WRITES: Final = ["create", "update", "patch", "delete", "deletecollection"]
AUDITED: Final = [
    {"group": "kueue.x-k8s.io", "resources": ["workloads", "workloads/status"]},
    {"group": "muster.dev", "resources": ["capacityprofiles"]},
    {"group": "batch", "resources": ["jobs", "jobs/status"]},
    {"group": "", "resources": ["pods", "pods/status", "pods/binding"]},
    {"group": "jobset.x-k8s.io"},
    {"group": "trainer.kubeflow.org"},
    {"group": "ray.io"},
    {"group": "kubeflow.org"},
    {"group": "workload.codeflare.dev"},
    {"group": "autoscaling.x-k8s.io"},
    {"group": "events.k8s.io"},
]
CONTROLLERS: Final = [
    "job-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "ttl-after-finished-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
]
SERVICE_CIDR: Final = "10.0.0.0/24"
#: With Go's own setting a third of the API server's work is the collection of garbage; memory there is enough of. A
#: limit too near to what it really holds (1.5 GiB with 20,000 Workloads) makes it collect all the time.
COLLECT_LESS: Final = {"GOGC": "400", "GOMEMLIMIT": "5GiB"}


def audit_policy() -> dict[str, object]:
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [
            {"level": "RequestResponse", "verbs": WRITES, "resources": AUDITED},
            # Carries nothing secret, and by such a request a reader knows how far it has read.
            {"level": "Metadata", "verbs": WRITES, "resources": [{"group": "", "resources": ["configmaps"]}]},
            {"level": "None"},
        ],
    }


def etcd(context: Context) -> tuple[Process, Check, str]:
    """The program, its check, and the URL the API server uses."""
    address = context.subnet.address
    client = f"http://{address}:{context.subnet.free_port()}"
    peer = f"http://{address}:{context.subnet.free_port()}"
    command: list[str | Path] = [
        context.programs["etcd"],
        f"--data-dir={context.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        # Nothing here outlives a crash: what is written may wait to be written together.
        "--backend-batch-interval=500ms",
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]
    return Process("etcd", command, log=context.logs / "etcd.log"), answers(f"{client}/health"), client


def apiserver(context: Context, etcd_url: str, egress: Egress) -> tuple[Process, Check]:
    address, port = context.server.removeprefix("https://").rsplit(":", 1)
    certificate, key = context.authority.server([address, "127.0.0.1", "localhost", "kubernetes.default.svc"])
    accounts = certs.new_key()
    account_key = certs.write_secret(context.folder / "pki" / "accounts.key", certs.pem(accounts))
    account_pub = certs.write_secret(context.folder / "pki" / "accounts.pub", certs.public_pem(accounts))
    tls_key = certs.write_secret(context.folder / "pki" / "server.key", key)
    tls_cert = context.file("pki/server.crt", certificate)
    ca = context.file("pki/ca.crt", context.authority.certificate)
    command: list[str | Path] = [
        context.programs["kube-apiserver"],
        f"--etcd-servers={etcd_url}",
        f"--bind-address={address}",
        f"--secure-port={port}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=RBAC",
        f"--client-ca-file={ca}",
        f"--tls-cert-file={tls_cert}",
        f"--tls-private-key-file={tls_key}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={account_pub}",
        f"--service-account-signing-key-file={account_key}",
        "--endpoint-reconciler-type=none",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        f"--egress-selector-config-file={context.file('egress.yaml', egress.config)}",
        f"--audit-policy-file={context.file('audit-policy.yaml', audit_policy())}",
        f"--audit-log-path={context.folder / 'audit.log'}",
        "--audit-log-maxsize=0",
        "--profiling=false",
    ]
    process = Process("apiserver", command, log=context.logs / "apiserver.log", env=COLLECT_LESS)
    return process, answers(f"{context.server}/readyz")


def controller_manager(context: Context) -> tuple[Process, Check]:
    """Each controller acts as its own ServiceAccount, as in a real cluster: the audit log tells them apart."""
    address, port = context.subnet.address, context.subnet.free_port()
    command: list[str | Path] = [
        context.programs["kube-controller-manager"],
        f"--kubeconfig={context.kubeconfig('controller-manager', 'system:kube-controller-manager', [])}",
        f"--bind-address={address}",
        f"--secure-port={port}",
        *_serving(context),
        f"--controllers={','.join(CONTROLLERS)}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        "--profiling=false",
    ]
    process = Process("controller-manager", command, log=context.logs / "controller-manager.log", env=COLLECT_LESS)
    return process, answers(f"https://{address}:{port}/healthz")


def scheduler(context: Context) -> tuple[Process, Check]:
    address, port = context.subnet.address, context.subnet.free_port()
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(context.kubeconfig("scheduler", "system:kube-scheduler", [])),
            "qps": 300,
            "burst": 600,
        },
        "leaderElection": {"leaderElect": False},
    }
    command: list[str | Path] = [
        context.programs["kube-scheduler"],
        f"--config={context.file('scheduler.yaml', config)}",
        f"--bind-address={address}",
        f"--secure-port={port}",
        *_serving(context),
    ]
    process = Process("scheduler", command, log=context.logs / "scheduler.log")
    return process, answers(f"https://{address}:{port}/healthz")


def _serving(context: Context) -> list[str]:
    return [
        f"--tls-cert-file={context.folder / 'pki' / 'server.crt'}",
        f"--tls-private-key-file={context.folder / 'pki' / 'server.key'}",
    ]
