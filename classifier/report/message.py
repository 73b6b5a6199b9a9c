"""The words about a wait that was ended: one text for the command line, the events and ``admission-message``."""

import shlex
from collections.abc import Sequence
from typing import Final

from classifier.instant import format_duration, format_instant

#: How the message begins to tell what may change after the decision: leftovers, and what becomes of the job.
_LEFT: Final = "; still there, may buy nodes: ProvisioningRequest "
_DELETED: Final = "; to be deleted at "
_KEPT: Final = "; not deleted by Muster: "


def reactivate_command(workload: str, namespace: str) -> str:
    """The exact command that lets a Workload wait again."""
    patch = '{"spec":{"active":true}}'
    return (
        f"kubectl patch workloads.kueue.x-k8s.io {shlex.quote(workload)} -n {shlex.quote(namespace)} "
        f"--type=merge -p '{patch}'"
    )


def timed_out_message(
    *,
    workload: str,
    namespace: str,
    at: int,
    waited: int | None,
    leftovers: Sequence[str] = (),
    delete_after: int | None = None,
    kept: str | None = None,
) -> str:
    """What a user is told when the deadline ended the wait (design §3, "Mirror").

    ``at`` is the instant of the decision, ``waited`` the length of the wait if it is known (both milliseconds),
    ``leftovers`` names ProvisioningRequests that stayed behind and may still buy nodes. ``delete_after`` (ms) is when
    the job will be deleted, ``kept`` why it is not although a policy asks for it. Kueue lets batch administrators
    alone change ``spec.active`` (its ClusterRole kueue-batch-admin-role).
    """
    after = "" if waited is None else f", after {format_duration(max(0, waited))}"
    left = f"{_LEFT}{', '.join(leftovers)}" if leftovers else ""
    fate = "" if delete_after is None else f"{_DELETED}{format_instant(delete_after)} unless reactivated before"
    fate = fate if kept is None else f"{_KEPT}{kept}"
    return (
        f"admission timed out at {format_instant(at)}{after}{left}{fate}; delete and resubmit, "
        f"or ask a batch administrator to run: {reactivate_command(workload, namespace)}"
    )


def tells_more(message: str | None) -> bool:
    """Whether a message tells of leftovers, or of what becomes of the job: what has to be kept up to date."""
    return message is not None and any(word in message for word in (_LEFT, _DELETED, _KEPT))
