"""Whose wait Muster bounds, and whose it never touches (design §3, "Whose wait is bounded"). Pure."""

from classifier import api
from classifier.objects import Meta, OwnerReference, Workload
from classifier.state.kinds import is_child, view_of


def owner_of(workload: Workload) -> OwnerReference | None:
    """The one controller owner of a Workload; None if it has none (pod groups and people's own Workloads)."""
    return workload.controller


def why_never(workload: Workload) -> str | None:
    """Why a Workload's wait is not bounded, as far as the Workload alone tells; None if nothing speaks against it."""
    if workload.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "it is the copy of a Workload on a MultiKueue manager, which bounds it there"
    if workload.annotation(api.SLICE_REPLACEMENT_FOR) is not None:
        return "it is a scale-up slice of an elastic job that runs already"
    owner = owner_of(workload)
    if owner is None:
        return "it has no controller owner"
    if view_of(owner) is None:
        return f"Muster does not bound jobs of kind {owner.kind}"
    return None


def why_never_owner(owner: Meta, reference: OwnerReference) -> str | None:
    """Why the wait of this owner's Workload is not bounded, as far as the owner tells."""
    view = view_of(reference)
    if view is None:
        return f"Muster does not bound jobs of kind {reference.kind}"
    if view.managed_elsewhere(owner):
        return "another controller manages it (spec.managedBy)"
    if is_child(owner):
        parent = owner.controller
        return f"it belongs to {parent.kind}/{parent.name}, whose wait counts" if parent else None
    return None
