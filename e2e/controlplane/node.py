"""Plays the node for Deployments: their pods are processes here, with an address and a ServiceAccount of their own.

Nothing about the Deployment is changed for that: the rendered command, arguments, environment, probes and Services are
what runs. The command is looked up beside our own Python.
"""

import asyncio
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec

from classifier.cluster.client import MERGE_PATCH, ApiError, Unreachable
from e2e.controlplane import podspec
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.podspec import Probe
from e2e.controlplane.processes import Process, ProgramFailed

#: How often the node looks at its pods, seconds; how often it reads Deployments and Services.
TICK: Final = 0.1
RESYNC: Final = 2.0
#: A pod that is not ready is probed as often as it is looked at; one that is, by its period but at least this often.
READY_PERIOD: Final = 1.0
#: Before the second and every further restart of a pod, seconds. (Kubelet: 10 s, doubling.)
BACKOFF: Final = 0.5

Object = Mapping[str, Any]

log = logging.getLogger("e2e.node")


@dataclass(frozen=True)
class Override:
    """What a test changes of one Deployment's pods."""

    #: ``{"--notice": "1s"}``: replaces a flag's value, or adds the flag.
    arguments: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    #: Makes the pods' kubeconfig from their token: to send them through a proxy in front of the API server.
    kubeconfig: Callable[[str], Path] | None = None


class Pod:
    """One replica: a process that is restarted when it ends, as the kubelet would."""

    def __init__(self, name: str, deployment: Object, override: Override, address: str, process: Process) -> None:
        self.name = name
        self.address = address
        self.process = process
        self.template: Object = deployment["spec"]["template"]
        self.labels: Mapping[str, str] = self.template["metadata"]["labels"]
        self.deployment: str = deployment["metadata"]["name"]
        #: Changes with everything that makes a Deployment replace its pods.
        self.revision = (msgspec.json.encode(self.template), override)
        self.ready = False
        self.stopping = False
        self.restarts = 0
        #: False: stays dead when it ends (a test wants to look first).
        self.restart = True
        self._readiness = podspec.probe(self.template, "readinessProbe")
        self._liveness = podspec.probe(self.template, "livenessProbe")
        self._next_readiness = self._next_liveness = self._restart_at = 0.0
        self._failed = {"readiness": 0, "liveness": 0}

    async def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal; after SIGKILL it is dead when this returns, and the node will start it again."""
        self.process.signal(number)
        if number == signal.SIGKILL:
            await self.process.ended(10)
            self.ready = False

    def pause(self) -> None:
        self.process.pause()

    def resume(self) -> None:
        self.process.resume()

    def port(self, wanted: int | str) -> int:
        return podspec.port(self.template, wanted)

    def url(self, port: int | str, path: str) -> str:
        """Of a plain HTTP path of this pod: ``pod.url("metrics", "/metrics")``."""
        return f"http://{self.address}:{self.port(port)}{path}"

    async def tend(self, http: aiohttp.ClientSession) -> None:
        """One look: restart what ended, probe what runs."""
        now = time.monotonic()
        if not self.process.running:
            self.ready = False
            if self.stopping or not self.restart:
                return
            if self._restart_at == 0:
                self._restart_at = now + (BACKOFF if self.restarts else 0)
            if now >= self._restart_at:
                self.restarts += 1
                self._restart_at = 0
                self._failed = {"readiness": 0, "liveness": 0}
                self._next_readiness = 0
                self.process.start()
            return
        if now >= self._next_readiness and not self.stopping:
            self.ready = await self._probe(http, "readiness", self._readiness, default=True)
            period = min(self._readiness.period, READY_PERIOD) if self._readiness else READY_PERIOD
            self._next_readiness = now + (period if self.ready else 0)
        if self._liveness and now >= self._next_liveness and not self.stopping:
            self._next_liveness = now + self._liveness.period
            if not await self._probe(http, "liveness", self._liveness, default=True):
                self.process.signal(signal.SIGKILL)

    async def _probe(self, http: aiohttp.ClientSession, name: str, probe: Probe | None, *, default: bool) -> bool:
        """Whether the pod counts as ready or alive: a probe has failed only after its threshold."""
        if probe is None:
            return default
        url = f"{probe.scheme}://{self.address}:{probe.port}{probe.path}"
        try:
            async with http.get(url, timeout=aiohttp.ClientTimeout(total=probe.timeout), ssl=False) as response:
                passed = 200 <= response.status < 400
        except (aiohttp.ClientError, TimeoutError, OSError):
            passed = False
        self._failed[name] = 0 if passed else self._failed[name] + 1
        if passed:
            return True
        was_ready = self.ready if name == "readiness" else True
        return was_ready and self._failed[name] < probe.failures

    async def stop(self) -> None:
        """As a deletion does: SIGTERM, and SIGKILL after its grace."""
        self.stopping = True
        self.ready = False
        await self.process.stop(float(self.template["spec"].get("terminationGracePeriodSeconds", 30)))


class Kubelet:
    """``async with Kubelet(cluster, "muster-system") as node``: plays every Deployment of that namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._pods: list[Pod] = []
        self._leaving: set[asyncio.Task[None]] = set()
        self._overrides: dict[str, Override] = {}
        self._routes: dict[str, list[str]] = {}
        self._services: list[Object] = []
        self._numbers: dict[str, int] = {}
        self._http: aiohttp.ClientSession
        self._task: asyncio.Task[None]
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession()
        self._task = asyncio.create_task(self._run(), name="kubelet")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(pod.stop() for pod in self._pods), *self._leaving)
        for service in self._routes:
            await self._cluster.egress.unroute(service)
        await self._http.close()

    # --- for the test -----------------------------------------------------------------------------------------

    def pods(self, deployment: str) -> list[Pod]:
        """The pods of a Deployment that are not on their way out."""
        return [pod for pod in self._pods if pod.deployment == deployment and not pod.stopping]

    async def override(self, deployment: str, override: Override | None) -> None:
        """Change what a Deployment's pods are started with (None: as rendered); pods that run are replaced."""
        self._overrides.pop(deployment, None)
        if override:
            self._overrides[deployment] = override
        await self.reconcile()

    async def scale(self, deployment: str, replicas: int) -> None:
        """Set a Deployment's replicas, and carry it out: pods beyond are gone when this returns."""
        path = f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{deployment}"
        body = {"spec": {"replicas": replicas}}
        await self._cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        await self.reconcile()
        await asyncio.gather(*self._leaving)

    async def wait_ready(self, deployment: str, timeout: float = 60) -> None:
        """Wait until as many pods as the Deployment wants are ready, as it is now. Raises ProgramFailed with logs."""
        deadline = time.monotonic() + timeout
        while not await self._available(deployment):
            if not self._task.done() and time.monotonic() < deadline:
                await asyncio.sleep(TICK / 2)
                continue
            if self._task.done():
                await self._task
            found = [pod.process.describe(f"({pod.restarts} restarts) is not ready") for pod in self.pods(deployment)]
            raise ProgramFailed(
                f"Deployment {deployment} is not available after {timeout:.0f} s:\n" + "\n".join(found or ["no pod"])
            )

    async def reconcile(self) -> None:
        """Read Deployments and Services now, and start, replace and stop pods accordingly."""
        async with self._lock:
            deployments = await self._list(f"/apis/apps/v1/namespaces/{self._namespace}/deployments")
            self._services = await self._list(f"/api/v1/namespaces/{self._namespace}/services")
            for deployment in deployments:
                await self._roll(deployment)
            names = {deployment["metadata"]["name"] for deployment in deployments}
            for pod in self._pods:
                if pod.deployment not in names:
                    self._leave(pod)
            await self._map_services()

    # --- the loop ---------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        next_sync = 0.0
        while True:
            if time.monotonic() >= next_sync:
                try:
                    await self.reconcile()
                except (ApiError, Unreachable) as error:
                    # Without API server a node keeps its pods as they are.
                    log.warning("cannot read what to run: %s", error)
                next_sync = time.monotonic() + RESYNC
            await asyncio.gather(*(pod.tend(self._http) for pod in self._pods))
            await self._map_services()
            await asyncio.sleep(TICK)

    async def _list(self, path: str) -> list[Object]:
        items: list[Object] = msgspec.json.decode(await self._cluster.admin.request("GET", path))["items"]
        return items

    async def _available(self, deployment: str) -> bool:
        path = f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{deployment}"
        found = msgspec.json.decode(await self._cluster.admin.request("GET", path))
        pods = self.pods(deployment)
        override = self._overrides.get(deployment, Override())
        current = (msgspec.json.encode(found["spec"]["template"]), override)
        return len(pods) == found["spec"]["replicas"] and all(pod.ready and pod.revision == current for pod in pods)

    async def _roll(self, deployment: Object) -> None:
        """New pods first; old ones leave when all new ones are ready (maxUnavailable 0)."""
        name = deployment["metadata"]["name"]
        override = self._overrides.get(name, Override())
        revision = (msgspec.json.encode(deployment["spec"]["template"]), override)
        pods = self.pods(name)
        current = [pod for pod in pods if pod.revision == revision]
        wanted: int = deployment["spec"].get("replicas", 1)
        for pod in current[wanted:]:
            self._leave(pod)
        for _ in range(wanted - len(current)):
            self._pods.append(await self._create(deployment, override))
        if all(pod.ready for pod in self.pods(name) if pod.revision == revision):
            for pod in pods:
                if pod.revision != revision:
                    self._leave(pod)

    async def _create(self, deployment: Object, override: Override) -> Pod:
        template = deployment["spec"]["template"]
        name = deployment["metadata"]["name"]
        number = self._numbers[name] = self._numbers.get(name, -1) + 1
        pod_name = f"{name}-{number}"
        address = self._cluster.context.subnet.pod_address()
        account = podspec.service_account(template)
        if override.kubeconfig:
            kubeconfig = override.kubeconfig(await self._cluster.service_account_token(self._namespace, account))
        else:
            kubeconfig = await self._cluster.service_account_kubeconfig(self._namespace, account, file=pod_name)
        command = podspec.command(
            template,
            name=pod_name,
            namespace=self._namespace,
            address=address,
            arguments=override.arguments,
            env=override.env,
        )
        folder = Path(sys.executable).parent
        program = shutil.which(command.arguments[0], path=str(folder))
        if program is None:
            raise ProgramFailed(f"Deployment {name} runs {command.arguments[0]}, which is not in {folder}")
        process = Process(
            pod_name,
            [program, *command.arguments[1:]],
            log=self._cluster.context.logs / f"{pod_name}.log",
            # A container sees nothing of ours.
            env={"PATH": f"{folder}:{os.defpath}", **command.env, "KUBECONFIG": str(kubeconfig)},
            inherit=False,
        )
        pod = Pod(pod_name, deployment, override, address, process)
        process.start()
        return pod

    def _leave(self, pod: Pod) -> None:
        """Take a pod out: out of its Services at once, and stopped on its own time."""
        if pod.stopping:
            return
        pod.stopping = True
        pod.ready = False

        async def leave() -> None:
            await pod.stop()
            self._pods.remove(pod)

        task = asyncio.create_task(leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _map_services(self) -> None:
        """Endpoints: each port of each Service leads to the ready pods it selects."""
        routes: dict[str, list[str]] = {}
        for service in self._services:
            spec = service["spec"]
            if spec["clusterIP"] == "None":
                continue
            ready = [pod for pod in self._pods if pod.ready and podspec.selected(spec.get("selector"), pod.labels)]
            for port in spec["ports"]:
                backends = [f"{pod.address}:{pod.port(port.get('targetPort', port['port']))}" for pod in ready]
                routes[f"{spec['clusterIP']}:{port['port']}"] = backends
        for gone in self._routes.keys() - routes.keys():
            await self._cluster.egress.unroute(gone)
        for service_port, backends in routes.items():
            await self._cluster.egress.route(service_port, backends)
        self._routes = routes
