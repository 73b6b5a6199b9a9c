"""The words about a wait that was ended: one text for the command line, the events and ``admission-message``."""

import shlex
from collections.abc import Sequence

from classifier.instant import format_duration, format_instant


def reactivate_command(workload: str, namespace: str) -> str:
    """The exact command that lets a Workload wait again."""
    patch = '{"spec":{"active":true}}'
    return (
        f"kubectl patch workloads.kueue.x-k8s.io {shlex.quote(workload)} -n {shlex.quote(namespace)} "
        f"--type=merge -p '{patch}'"
    )


def timed_out_message(
    *, workload: str, namespace: str, at: int, waited: int | None, leftovers: Sequence[str] = ()
) -> str:
    """What a user is told when the deadline ended the wait (design §3, "Mirror").

    ``at`` is the instant of the decision, ``waited`` the length of the wait if it is known (both milliseconds),
    ``leftovers`` names ProvisioningRequests that stayed behind and may still buy nodes. Kueue lets batch
    administrators alone change ``spec.active`` (its ClusterRole kueue-batch-admin-role).
    """
    after = "" if waited is None else f", after {format_duration(max(0, waited))}"
    left = f"; still there, may buy nodes: ProvisioningRequest {', '.join(leftovers)}" if leftovers else ""
    return (
        f"admission timed out at {format_instant(at)}{after}{left}; delete and resubmit, "
        f"or ask a batch administrator to run: {reactivate_command(workload, namespace)}"
    )
