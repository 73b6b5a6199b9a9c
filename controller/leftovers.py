"""ProvisioningRequests that stay behind when a wait was ended: the autoscaler buys nodes for a job that will not come.

Kueue deletes them as it evicts since 0.19; before, or with its gate CleanupProvisioningRequestsOnEviction off, they
stay until they expire (reference/kueue.md §5.5).
"""

from collections.abc import Callable
from typing import Final

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.kept import ASK_AGAIN
from classifier.cluster.reflector import Reflector
from classifier.objects import ProvisioningRequest, Workload
from controller.cleanup import PATIENCE
from controller.decide import live_decision
from controller.metrics import Metrics
from controller.tally import Tally

#: Such a request buys nothing any more.
_DEAD: Final = (api.PROVREQ_FAILED, api.PROVREQ_BOOKING_EXPIRED, api.PROVREQ_REVOKED)


class Leftovers:
    """Follows Kueue's ProvisioningRequests; ``touch`` is called with the key of a Workload that got or lost one.

    Nobody waits for the first list: until then, and where the kind is not installed, none is known.
    """

    def __init__(self, client: Client, metrics: Metrics, touch: Callable[[str], None]) -> None:
        self._touch = touch
        self._of: dict[str, set[str]] = {}
        self._tally = Tally(metrics.leftovers)
        self.reflector = Reflector(
            client,
            api.PROVISIONING_REQUESTS,
            ProvisioningRequest,
            label_selector=f"{api.MANAGED}=true",
            project=_trim,
            on_change=self._changed,
            patience=ASK_AGAIN,
        )

    def of(self, workload: Workload) -> tuple[str, ...]:
        """The names of those of a Workload whose wait was ended, from the moment on that it was."""
        if live_decision(workload) is None:
            return ()
        return tuple(sorted(self._of.get(workload.uid, ())))

    def looked_at(self, key: str, workload: Workload, cluster_queue: str, now: int) -> None:
        """Count the Workload if something of it stayed behind."""
        live = live_decision(workload)
        left = live is not None and now >= live.at + PATIENCE and workload.uid in self._of
        self._tally.set(key, cluster_queue if left else None)

    def forget(self, key: str) -> None:
        self._tally.set(key, None)

    def clear(self) -> None:
        """Count none any more: whoever leads next does."""
        self._tally.clear()

    def _changed(self, key: str, old: ProvisioningRequest | None, new: ProvisioningRequest | None) -> None:
        before, after = _buyer(old), _buyer(new)
        if before == after:
            return
        name = key.rpartition("/")[2]
        namespace = key.partition("/")[0]
        if before is not None:
            names = self._of.get(before[0], set())
            names.discard(name)
            if not names:
                self._of.pop(before[0], None)
            self._touch(f"{namespace}/{before[1]}")
        if after is not None:
            self._of.setdefault(after[0], set()).add(name)
            self._touch(f"{namespace}/{after[1]}")


def _buyer(request: ProvisioningRequest | None) -> tuple[str, str] | None:
    """Uid and name of the Workload that a request may still buy nodes for."""
    if request is None or request.metadata.deletion_timestamp is not None:
        return None
    owner = request.controller
    if owner is None or (owner.group, owner.kind) != (api.KUEUE_GROUP, api.WORKLOADS.kind):
        return None
    dead = request.status is not None and any(request.status.is_true(type_) for type_ in _DEAD)
    return None if dead else (owner.uid, owner.name)


def _trim(request: ProvisioningRequest) -> ProvisioningRequest:
    """Whose it is, and whether it is dead."""
    request.spec = None
    meta = request.metadata
    meta.managed_fields = meta.labels = meta.annotations = None
    return request
