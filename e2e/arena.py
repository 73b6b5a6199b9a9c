"""A cluster where Kueue and Muster's controllers reach the API server through one proxy.

Any write of theirs can be held, lost or broken there, so that an order of writes is made and not waited for.
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.chaos import ChaosProxy, Rule, contains
from e2e.chaos.rule import Predicate
from e2e.controlplane import kueue
from e2e.controlplane.chart import CONTROLLER, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Override

#: The scheduler's write that reserves quota, and admits where no check is asked (Kueue: pkg/scheduler/scheduler.go).
ADMISSION: Final = contains("Quota reserved in ClusterQueue")
#: Its write that there is no room (``requeueAndUpdate``).
NO_ROOM: Final = contains('"reason":"Pending"')
#: The workload controller's write that takes an inactive Workload out (pkg/workload/evict).
EVICTION: Final = contains('"reason":"Deactivated"')
COMMIT: Final = contains('"active":false')


@dataclass(frozen=True)
class Arena:
    cluster: Cluster
    muster: Muster
    proxy: ChaosProxy

    def scheduler(self, namespace: str, body: Predicate = ADMISSION) -> Rule:
        """The next such write of Kueue's scheduler: a server-side apply without a resourceVersion."""
        return self.proxy.when(
            "PATCH",
            rf"/namespaces/{namespace}/workloads/[^/]+/status",
            body=body,
            query={"fieldManager": "kueue-admission"},
        )

    def commit(self, namespace: str) -> Rule:
        """The next commit of a controller."""
        return self.proxy.when("PATCH", rf"/namespaces/{namespace}/workloads/[^/]+$", body=COMMIT, agent="muster")

    def answers(self, namespace: str, path: str = "/workloads/", method: str = "PATCH") -> list[int | None]:
        """What the proxy's clients were told of their writes there, in order."""
        return [
            each.status
            for each in self.proxy.requests
            if each.method == method and f"/namespaces/{namespace}/" in each.path and path in each.path
        ]


@asynccontextmanager
async def arena(cluster: Cluster) -> AsyncIterator[Arena]:
    """``cluster`` is one of its own; Kueue is started anew behind the proxy."""
    async with ChaosProxy(cluster.context.server, cluster.folder / "pki" / "ca.crt") as proxy:
        token = await cluster.service_account_token(kueue.NAMESPACE, kueue.ACCOUNT)
        await cluster.stop("kueue")
        shutil.copy(proxy.kubeconfig(token, namespace=kueue.NAMESPACE), cluster.context.kubeconfig_path(kueue.ACCOUNT))
        await cluster.start("kueue")

        def through(token: str) -> Path:
            return proxy.kubeconfig(token, namespace="muster-system")

        muster = Muster(cluster)
        async with muster:
            await muster.node.override(CONTROLLER, Override(kubeconfig=through))
            await muster.node.wait_ready(CONTROLLER)
            yield Arena(cluster, muster, proxy)
