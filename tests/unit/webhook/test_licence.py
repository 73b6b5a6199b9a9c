"""What is denied and when: on creation and on changes while Kueue holds the object; never what has begun."""

import copy
from random import Random
from typing import Any

import pytest

from classifier import api
from classifier.fit import Outcome, Verdict
from classifier.objects import Meta
from e2e import kinds as samples
from e2e.builders import Document
from tests.reviews import laws
from tests.reviews.objects import KINDS, held, templates
from tests.reviews.world import Clock, Groups, Views
from webhook.decide import Reviewer
from webhook.metrics import Metrics
from webhook.review import Answer

HELD_BY_A_FIELD = [name for name, kind in KINDS.items() if kind.suspend]
PARENT = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "whole", "uid": "1", "controller": True}


def never(obj: Meta, world: Any, now: int) -> Verdict:
    """Everything but what says of itself that it fits."""
    if obj.annotation("fits"):
        return Verdict(outcome=Outcome.FITS, line="preflight: fits", reason="it fits")
    reason = "gang needs 3 node(s) of gpupool (max 2)"
    line = f"preflight: {reason}: cannot fit; request less"
    return Verdict(outcome=Outcome.NEVER_FITS, denied=True, mode="Enforce", profile="gpu", line=line, reason=reason)


class Formed(Groups):
    async def formed(self, namespace: str, name: str) -> bool:
        assert (namespace, name) == ("team", "train")
        return True


def validated(name: str, obj: Document, old: Document | None = None, groups: Any = None, **extra: Any) -> Answer:
    reviewer = Reviewer(Views(), groups or Groups(), Clock(), Metrics(), never)
    request = laws.request(KINDS[name], obj, old)
    for key, value in extra.items():
        setattr(request, key, value)
    return laws.ask(reviewer.validate(request))


def fresh(name: str, hold: bool = True) -> Document:
    return held(KINDS[name], KINDS[name].make(Random(0)), hold)


def annotated(obj: Document, **annotations: str) -> Document:
    obj = copy.deepcopy(obj)
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), **annotations}
    return obj


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_denied_at_creation(name: str) -> None:
    denial = validated(name, fresh(name)).denial
    assert denial is not None
    assert denial.message.endswith("cannot fit; request less")


@pytest.mark.parametrize("name", [name for name in KINDS if name != "workload"])
def test_what_kueue_does_not_hold_is_warned_of_alone(name: str) -> None:
    """Its integration is off, or its namespace not managed: quota says nothing about it."""
    answer = validated(name, fresh(name, hold=False))
    assert answer.denial is None
    assert answer.warnings == (
        "muster: preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit",
        "muster: not denied: Kueue does not hold it",
    )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "change",
    [
        {"ownerReferences": [PARENT]},
        {"labels": {api.QUEUE_NAME: "gpu", api.MULTIKUEUE_ORIGIN: "manager"}},
        {"deletionTimestamp": "2026-11-29T10:00:00Z"},
    ],
    ids=["child", "remote-copy", "being-deleted"],
)
def test_what_is_not_its_own_job_is_never_judged(name: str, change: Document) -> None:
    obj = fresh(name)
    obj["metadata"].update(change)
    assert validated(name, obj) == Answer()


def test_kueues_own_workload_is_never_judged() -> None:
    for change in (
        {"ownerReferences": [{**PARENT, "controller": False, "kind": "Pod"}]},
        {"labels": {api.JOB_UID: "1"}},
    ):
        obj = fresh("workload")
        obj["metadata"].update(change)
        assert validated("workload", obj) == Answer()


@pytest.mark.parametrize("parent", ["leaderworkerset", "statefulset"])
def test_pods_of_what_serves_are_never_judged(parent: str) -> None:
    obj = annotated(fresh("pod"), **{"kueue.x-k8s.io/pod-suspending-parent": parent})
    assert validated("pod", obj) == Answer()


# --- updates --------------------------------------------------------------------------------------------------------


def changed(name: str) -> tuple[Document, Document]:
    """One that fits, and the same with another gang, which does not."""
    old = fresh(name)
    new = copy.deepcopy(old)
    if name == "trainjob":
        new["spec"]["trainer"]["numNodes"] = 7
    else:
        for pods in templates(new):
            pods["spec"]["nodeSelector"] = {"pool": "other"}
    return annotated(old, fits="yes"), new


@pytest.mark.parametrize("name", [*HELD_BY_A_FIELD, "workload"])
def test_a_change_of_the_gang_is_judged_while_it_is_held(name: str) -> None:
    old, new = changed(name)
    assert validated(name, new, old).denial is not None


@pytest.mark.parametrize("name", HELD_BY_A_FIELD)
def test_a_change_of_the_queue_is_judged_while_it_is_held(name: str) -> None:
    old = annotated(fresh(name), fits="yes")
    old["metadata"]["labels"] = {}
    assert validated(name, fresh(name), old).denial is not None


@pytest.mark.parametrize("name", HELD_BY_A_FIELD)
@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (False, False)])
def test_letting_go_and_stopping_are_never_denied(name: str, before: bool, after: bool) -> None:
    old, new = changed(name)
    assert validated(name, held(KINDS[name], new, after), held(KINDS[name], old, before)) == Answer()


@pytest.mark.parametrize("name", [*HELD_BY_A_FIELD, "workload"])
def test_metadata_and_finalizers_are_nobodys_gang(name: str) -> None:
    old = annotated(fresh(name), fits="yes")
    old["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    assert validated(name, annotated(fresh(name), team="ml"), old) == Answer()


def test_what_did_not_fit_before_may_be_changed() -> None:
    """Kueue restores the pod template of a Job it stops in an update of its own; that must go through."""
    _, old = changed("job")
    answer = validated("job", fresh("job"), old)
    assert answer.denial is None
    assert answer.warnings[1] == "muster: not denied: it did not fit before either"


@pytest.mark.parametrize("name", ["pod", "podgroup", "leaderworkerset"])
def test_kinds_that_no_field_holds_are_judged_at_creation_alone(name: str) -> None:
    assert validated(name, fresh(name), annotated(fresh(name), fits="yes")) == Answer()


def test_a_workload_with_quota_is_not_judged_any_more() -> None:
    old, new = changed("workload")
    for obj in (old, new):
        obj["status"] = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}
    assert validated("workload", new, old) == Answer()


@pytest.mark.parametrize(("field", "value"), [("sub_resource", "status"), ("operation", "DELETE")])
def test_nothing_else_is_ever_judged(field: str, value: str) -> None:
    old, new = changed("job")
    assert validated("job", new, old, **{field: value}) == Answer()


def test_an_update_that_cannot_be_read_is_let_through() -> None:
    old, new = changed("job")
    new["spec"]["parallelism"] = "three"
    assert validated("job", new, old) == validated("job", old, new) == Answer()


# --- pod groups -----------------------------------------------------------------------------------------------------


def test_a_pod_of_a_group_that_was_let_in_is_warned_of_alone() -> None:
    answer = validated("podgroup", fresh("podgroup"), groups=Formed())
    assert answer.denial is None
    assert answer.warnings[1] == "muster: not denied: pod group train exists already"


def test_a_bare_pod_is_of_no_group() -> None:
    assert validated("pod", fresh("pod"), groups=Formed()).denial is not None


def test_the_sample_of_a_group_is_one_of_its_pods() -> None:
    assert fresh("podgroup")["metadata"]["labels"][samples.GROUP_NAME] == "train"
