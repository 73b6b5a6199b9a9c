"""Of an owner the controller keeps no pods: there are tens of thousands of them."""

import gc
from typing import Any

import msgspec
import pytest

from classifier.objects import Meta, Workload
from classifier.state.kinds import view_for
from controller.trim import trim_owner
from tests.unit.fit.kinds.full import FULL

OWNERS = {struct.__name__: (struct, raw) for struct, raw in FULL.items() if struct is not Workload}


@pytest.mark.parametrize(("struct", "raw"), OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("suspended", [True, False])
def test_nothing_of_its_pods_is_kept_but_whether_they_may_run(
    struct: type[Meta], raw: dict[str, Any], suspended: bool
) -> None:
    lever = {"suspend": suspended, "runPolicy": {"suspend": suspended}}
    gates = [{"name": "kueue.x-k8s.io/admission"}] if suspended else []
    spec = {**raw["spec"], **lever, "schedulingGates": gates, "managedBy": "example.com/other"}
    obj = msgspec.json.decode(msgspec.json.encode({**raw, "spec": spec}), type=struct)
    view = view_for(obj)
    assert view is not None
    before = view.suspended(obj), view.foreign(obj)
    trimmed = trim_owner(obj)
    assert (view.suspended(trimmed), view.foreign(trimmed)) == before
    assert b"containers" not in msgspec.json.encode(trimmed)


@pytest.mark.parametrize(("struct", "raw"), OWNERS.values(), ids=OWNERS)
def test_python_s_collector_does_not_walk_through_what_is_kept(struct: type[Meta], raw: dict[str, Any]) -> None:
    """A pass over 20,000 Workloads and their jobs held up everything for 100 ms; they are trees, and know no cycles."""
    trimmed = trim_owner(msgspec.json.decode(msgspec.json.encode(raw), type=struct))
    assert not gc.is_tracked(trimmed)
    assert not gc.is_tracked(trimmed.metadata)
