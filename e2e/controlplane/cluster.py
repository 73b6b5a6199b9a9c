"""The whole control plane of one run: started together, reached by kubeconfigs, stopped whatever happens."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from classifier import api
from classifier.cluster.client import ApiError, Client
from e2e.controlplane import build, core, kueue, operators
from e2e.controlplane import kinds as kinds_
from e2e.controlplane import kwok as kwok_
from e2e.controlplane.apply import Applier
from e2e.controlplane.certs import Authority, write_kubeconfig
from e2e.controlplane.context import ADMINISTRATORS, Context
from e2e.controlplane.egress import Egress
from e2e.controlplane.loopback import Subnet
from e2e.controlplane.processes import Check, Process, together
from e2e.controlplane.toolchain import Say

#: How long one program may take to become ready, seconds; a cold page cache on a busy machine is slow.
START_TIMEOUT: Final = 120
#: A unix socket's path has at most 107 bytes.
LONGEST_SOCKET: Final = 100
TOKEN_SECONDS: Final = 24 * 3600


class Cluster:
    """``async with Cluster() as cluster``: etcd, the API server, its managers, Kueue and KWOK run until the block ends.

    ``folder`` keeps everything the run writes; without one a temporary folder is made, and removed after a clean end.
    ``jobset`` and ``trainer`` (which brings JobSet) run those too and let Kueue queue them; ``kinds`` installs the CRDs
    of all others and lets Kueue queue those and pods. ``frameworks`` are Kueue's further integrations,
    ``kueue_config`` is merged over its configuration at the top level. Raises ProgramFailed with the tail of the right
    log when a program does not start.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        jobset: bool = False,
        trainer: bool = False,
        kinds: bool = False,
        frameworks: Sequence[str] = (),
        kueue_config: Mapping[str, Any] | None = None,
        say: Say = build.say_on_stderr,
    ) -> None:
        self._given = folder
        self._operators = [operators.jobset] * (jobset or trainer) + [operators.trainer] * trainer
        self._kinds = kinds
        self._frameworks = ("batch/job", *(kinds_.FRAMEWORKS if kinds else ()), *frameworks)
        self._kueue_config = dict(kueue_config or {})
        self._say = say
        self._checks: dict[str, Check] = {}
        self._socket_folder: Path | None = None
        #: In the order they were started.
        self.processes: dict[str, Process] = {}
        self.kubeconfig: Path
        self.admin: Client
        self.egress: Egress
        self.context: Context
        self.applier: Applier
        #: Where etcd serves its clients, in plain HTTP.
        self.etcd_url: str

    # --- life -------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        if self._given is None and error is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def folder(self) -> Path:
        """Everything of this run: logs/, audit.log, kubeconfigs/."""
        return self.context.folder

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    async def _start(self) -> None:
        began = time.monotonic()
        programs, modules = await asyncio.to_thread(self._provide)
        folder = self._given or Path(tempfile.mkdtemp(prefix="muster-"))
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        # Each run begins with nothing; an earlier one had another CA.
        shutil.rmtree(folder / "etcd", ignore_errors=True)
        (folder / "audit.log").unlink(missing_ok=True)
        subnet = Subnet.claim()
        server = f"https://{subnet.address}:{subnet.free_port()}"
        self.context = context = Context(folder, programs, modules, subnet, Authority(), server)
        self.kubeconfig = context.kubeconfig("admin", "admin", [ADMINISTRATORS])
        sockets = folder
        if len(str(folder / "egress-control.sock")) > LONGEST_SOCKET:
            sockets = self._socket_folder = Path(tempfile.mkdtemp(prefix="muster-"))
        self.egress = Egress(sockets, context.logs)
        self.processes["egress"] = self.egress.process

        etcd, check, self.etcd_url = core.etcd(context)
        await together(self.egress.start(), self._run(etcd, check))
        await self._run(*core.apiserver(context, self.etcd_url, self.egress))
        self.admin = await self.client("e2e")
        self.applier = Applier(self.admin)
        await together(
            self._run(*core.controller_manager(context)),
            self._run(*core.scheduler(context)),
            self._run(*kwok_.kwok(context)),
            self._start_queueing(context),
        )
        self._say(f"the control plane is up after {time.monotonic() - began:.1f} s, in {folder}")

    def _provide(self) -> tuple[dict[str, Path], dict[str, Path]]:
        names = [name for name in build.CONTROL_PLANE if name not in ("jobset", "trainer")]
        modules = [kueue.MODULE, kueue.AUTOSCALER_APIS, kwok_.MODULE]
        if operators.jobset in self._operators:
            names, modules = [*names, "jobset"], [*modules, operators.JOBSET]
        if operators.trainer in self._operators:
            names, modules = [*names, "trainer"], [*modules, operators.TRAINER]
        if self._kinds:
            modules = [*modules, *kinds_.MODULES]
        return build.ensure(names, say=self._say), build.module_folders(modules, say=self._say)

    async def _start_queueing(self, context: Context) -> None:
        """Kueue and the operators. All CRDs first: Kueue looks once, when it starts, for the kinds it may queue."""
        others = [make(context) for make in self._operators]
        program = kueue.Kueue(context, [*self._frameworks, *(each.framework for each in others)], self._kueue_config)
        crds, groups = (kinds_.crds(context.modules), kinds_.GROUPS) if self._kinds else ([], ())
        await self.applier.apply([*kueue.crds(context), *(crd for each in others for crd in each.crds), *crds])
        await self.applier.apply(kueue.objects(context, [*(each.group for each in others), *groups]))
        await self.applier.apply([program.config_map])
        await self._route(kueue.NAMESPACE, kueue.SERVICE, program.backend)
        await self.service_account_kubeconfig(kueue.NAMESPACE, kueue.ACCOUNT, file=kueue.ACCOUNT)
        kubelet = asyncio.create_task(program.play_kubelet(self.admin))
        try:
            await together(self._run(program.process, program.ready), *(self._operator(each) for each in others))
        finally:
            kubelet.cancel()
            await asyncio.gather(kubelet, return_exceptions=True)
        # Ready says that it serves; that the API server trusts it shows when a job comes back changed.
        await program.process.ready(self._queued, START_TIMEOUT)

    async def _queued(self) -> bool:
        """Does Kueue's webhook see jobs? It suspends those with a queue."""
        container = {"name": "main", "image": "example.com/none"}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"generateName": "dry-", "labels": {api.QUEUE_NAME: "none"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        }
        try:
            answer = await self.admin.request("POST", api.JOBS.path("default"), params={"dryRun": "All"}, body=job)
        except ApiError:
            return False
        return bool(msgspec.json.decode(answer)["spec"].get("suspend"))

    async def _operator(self, operator: operators.Operator) -> None:
        await self.applier.apply(operator.objects)
        await self._route(operator.namespace, operator.service, operator.backend)
        await self.service_account_kubeconfig(operator.namespace, operator.account, file=operator.account)
        await self._run(operator.process, operator.ready)
        await self.applier.apply(operator.afterwards)

    async def _route(self, namespace: str, service: str, backend: str) -> None:
        await self.egress.route(await self.service_address(namespace, service, 443), [backend])

    async def _run(self, process: Process, check: Check) -> None:
        self.processes[process.name] = process
        self._checks[process.name] = check
        process.start()
        await process.ready(check, START_TIMEOUT)

    async def _stop(self) -> None:
        if hasattr(self, "admin"):
            await self.admin.close()
        # The clients of the API server first, all at once; they are killed where they do not go at once.
        order = list(self.processes.values())
        late = [process for process in order if process.name in ("apiserver", "etcd", "egress")]
        await asyncio.gather(*(process.stop(1) for process in order if process not in late))
        for process in sorted(late, key=lambda each: each.name):
            await process.stop(1)
        if hasattr(self, "context"):
            self.context.subnet.release()
        if self._socket_folder:
            shutil.rmtree(self._socket_folder, ignore_errors=True)

    # --- programs ---------------------------------------------------------------------------------------------

    async def stop(self, name: str) -> None:
        """SIGTERM to one program: "apiserver", "kueue", ...; to kill or pause one see ``processes[name]``."""
        await self.processes[name].stop()

    async def start(self, name: str) -> None:
        """Start a program that was stopped or killed, and wait until it is ready."""
        if name == "egress":
            await self.egress.start()
        else:
            self.processes[name].start()
            await self.processes[name].ready(self._checks[name], START_TIMEOUT)

    # --- credentials ------------------------------------------------------------------------------------------

    async def client(self, user_agent: str = "e2e") -> Client:
        """One more connection as the administrator; the caller closes it."""
        return await Client.connect(kubeconfig=str(self.kubeconfig), user_agent=user_agent)

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """The kubeconfig of a person, by client certificate."""
        return self.context.kubeconfig(f"user-{user.replace('/', '_')}", user, groups)

    async def service_account_kubeconfig(self, namespace: str, name: str, *, file: str | None = None) -> Path:
        """The kubeconfig of a ServiceAccount, with a token as a pod of it would have."""
        return write_kubeconfig(
            self.context.kubeconfig_path(file or f"{namespace}-{name}"),
            server=self.context.server,
            ca=self.context.authority.certificate,
            user={"token": await self.service_account_token(namespace, name)},
            namespace=namespace,
        )

    async def service_account_token(self, namespace: str, name: str) -> str:
        """A token of TokenRequest."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token: str = msgspec.json.decode(await self.admin.request("POST", path, body=request))["status"]["token"]
        return token

    async def service_address(self, namespace: str, name: str, port: int) -> str:
        """``<ClusterIP>:<port>`` of a Service: its key in the egress proxy's table."""
        found = msgspec.json.decode(await self.admin.request("GET", f"/api/v1/namespaces/{namespace}/services/{name}"))
        return f"{found['spec']['clusterIP']}:{port}"
