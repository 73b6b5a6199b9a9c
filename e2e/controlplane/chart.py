"""Muster's chart: rendered by helm, applied as it is, its Deployments played by :class:`Kubelet`."""

import asyncio
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import yaml
from prometheus_client import parser

from classifier import api
from e2e import builders
from e2e.controlplane import build, manifests
from e2e.controlplane.apply import Applier
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.controlplane.manifests import Document
from e2e.controlplane.node import Kubelet, Pod
from e2e.controlplane.processes import ProgramFailed

CHART: Final = Path(__file__).parents[2] / "charts" / "muster"
NAMESPACE: Final = "muster-system"
RELEASE: Final = "muster"
WEBHOOK: Final = "muster-webhook"
CONTROLLER: Final = "muster-controller"
#: Seconds instead of minutes. The chart's schema refuses these to people.
TEST_VALUES: Final[Mapping[str, Any]] = {
    "webhook": {"drain": "1s", "logLevel": "debug"},
    # One controller: most scenarios ask the only one how it does. Those of the election have two.
    "controller": {
        "replicas": 1,
        "leaderElection": {"leaseDuration": "5s", "renewDeadline": "4s", "retryPeriod": "500ms"},
        "fenceSettle": "1s",
        "recoveryGrace": "2s",
        "outageAfter": "2s",
        "logLevel": "debug",
    },
    "admission": {"notice": "1s"},
    "capacityProfile": {"minTTLAfterTimeout": "2s"},
}


class RenderError(Exception):
    """Helm refused the values; the text is helm's."""


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Helm's own merge of values: maps are merged, all else is replaced."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def render(values: Mapping[str, Any], folder: Path, *, check: bool = False) -> list[Document]:
    """``helm template`` with these values; ``check`` also holds them against the chart's schema."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values)))
    command = [str(build.tool("helm")), "template", RELEASE, str(CHART), "--namespace", NAMESPACE]
    command += ["--values", str(file)]
    command += ["--kube-version", build.kubernetes_version((build.HERE / "go.mod").read_text())]
    command += [] if check else ["--skip-schema-validation"]
    homes = {f"HELM_{kind}_HOME": str(folder / "helm") for kind in ("CACHE", "CONFIG", "DATA")}
    done = subprocess.run(command, capture_output=True, text=True, env=homes, check=False)
    if done.returncode != 0:
        raise RenderError(done.stderr.strip())
    (folder / "rendered.yaml").write_text(done.stdout)
    return list(manifests.documents(folder / "rendered.yaml"))


class Muster:
    """``async with Muster(cluster) as muster``: installed, both Deployments ready; uninstalled at the end."""

    def __init__(self, cluster: Cluster, values: Mapping[str, Any] | None = None, *, patience: float = 60) -> None:
        self.cluster = cluster
        #: Seconds until it must be ready: it has to list what there is.
        self._patience = patience
        self.values = merged(TEST_VALUES, values or {})
        self.node = Kubelet(cluster, NAMESPACE)
        self.documents: list[Document] = []
        self._applier: Applier

    async def __aenter__(self) -> Self:
        self._applier = Applier(self.cluster.admin, "helm")
        await self.apply()
        await self.node.__aenter__()
        try:
            await self.wait_ready(self._patience)
        except BaseException:
            await self.node.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.node.__aexit__(kind, error, trace)
        # A cluster that is about to be stopped may have been stopped by the test already.
        if self.cluster.processes["apiserver"].running and self.cluster.processes["etcd"].running:
            await self.uninstall()

    async def apply(self, values: Mapping[str, Any] | None = None) -> None:
        """Install, or with other values upgrade: what the new rendering lacks is removed."""
        self.values = merged(self.values, values or {})
        rendered = await asyncio.to_thread(render, self.values, self.cluster.folder / "chart")
        await self._applier.apply([manifests.namespace(NAMESPACE), *rendered], NAMESPACE)
        names = {_key(document) for document in rendered}
        await self._applier.delete([old for old in self.documents if _key(old) not in names], NAMESPACE)
        if self.documents:
            await self.node.reconcile()
        self.documents = rendered

    async def uninstall(self) -> None:
        """As helm does: what asks to be kept stays."""
        policy = "helm.sh/resource-policy"
        gone = [each for each in self.documents if (each["metadata"].get("annotations") or {}).get(policy) != "keep"]
        await self._applier.delete(gone, NAMESPACE)
        self.documents = []

    async def wait_ready(self, timeout: float = 60) -> None:
        """Until both Deployments are available and the API server asks the webhook, whose failures it ignores."""
        for name in (WEBHOOK, CONTROLLER):
            await self.node.wait_ready(name, timeout)
        if self.webhooks:
            await self._asked(timeout)

    async def _asked(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        job = builders.job("dry", builders.Queues("default", "none", "none", "none"))
        before = await self.webhook_sum("muster_reviews_total")
        while await self.webhook_sum("muster_reviews_total") < before + 2:
            if time.monotonic() >= deadline:
                raise ProgramFailed(f"the API server does not ask {WEBHOOK} about jobs after {timeout:.0f} s")
            before = await self.webhook_sum("muster_reviews_total")
            await self.cluster.admin.request("POST", api.JOBS.path("default"), params={"dryRun": "All"}, body=job)

    async def webhook_sum(self, metric: str) -> float:
        """A metric's sum over the webhook's pods and all labels."""
        return sum([await scrape(pod, metric) for pod in self.webhooks])

    @property
    def webhooks(self) -> list[Pod]:
        return self.node.pods(WEBHOOK)

    @property
    def controllers(self) -> list[Pod]:
        return self.node.pods(CONTROLLER)

    async def break_webhook(self, fault: Fault | None) -> None:
        """Break the traffic to the webhook's Service, or with None heal it."""
        service = await self.cluster.service_address(NAMESPACE, WEBHOOK, 443)
        await self.cluster.egress.fault(service, fault)


async def scrape(pod: Pod, metric: str) -> float:
    """The sum over all labels of one metric of a pod."""
    async with aiohttp.ClientSession() as session, session.get(pod.url("metrics", "/metrics")) as response:
        response.raise_for_status()
        text = await response.text()
    families = parser.text_string_to_metric_families(text)
    return sum(sample.value for family in families for sample in family.samples if sample.name == metric)


def _key(document: Document) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]
