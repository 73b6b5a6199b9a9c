"""Which Workload, pods and requests are a job's own."""

import msgspec

from classifier.objects import Pod, ProvisioningRequest, Workload
from classifier.report import owner_of, pods_of, requests_of, workload_of
from tests.unit.report.builders import JOB_UID, PENDING, at, job, pod, request, workload

OWNER = owner_of(job())


def another(name: str, *, uid: str = JOB_UID, controller: bool = True, created: float = 0, label: str = "") -> Workload:
    made = msgspec.json.decode(msgspec.json.encode(workload(PENDING)), type=Workload)
    made.metadata.name = name
    made.metadata.creation_timestamp = at(created)
    made.metadata.labels = {"kueue.x-k8s.io/job-uid": label} if label else {}
    assert made.metadata.owner_references
    if controller:
        made.metadata.owner_references[0].uid = uid
    else:
        made.metadata.owner_references = None
    return made


def test_the_controlled_one_decides_the_oldest_of_several() -> None:
    older, younger = another("b", created=1), another("a", created=2)
    labelled = another("c", controller=False, label=JOB_UID)
    assert workload_of(OWNER, [younger, labelled, older]) is older
    assert workload_of(OWNER, [labelled]) is labelled


def test_what_another_controls_is_not_ours_whatever_its_label() -> None:
    foreign = another("a", uid="somebody-else", label=JOB_UID)
    elsewhere = another("b")
    elsewhere.metadata.namespace = "team-b"
    assert workload_of(OWNER, [foreign, elsewhere]) is None


def test_pods_and_requests_by_uid() -> None:
    mine, foreign = pod("b"), msgspec.json.decode(msgspec.json.encode(pod("a")), type=Pod)
    assert foreign.metadata.owner_references
    foreign.metadata.owner_references[0].uid = "an earlier job of that name"
    assert pods_of(OWNER, [mine, foreign]) == (mine,)
    first, second = request(attempt=1, seconds=5), request(attempt=2, seconds=60)
    stray = msgspec.json.decode(msgspec.json.encode(request(attempt=3)), type=ProvisioningRequest)
    stray.metadata.owner_references = None
    assert requests_of(workload(PENDING), [second, stray, first]) == (first, second)
    assert requests_of(None, [first]) == ()
