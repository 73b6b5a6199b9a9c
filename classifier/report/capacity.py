"""The phase between quota and admission: a capacity check has asked an autoscaler for nodes.

A capacity check is an AdmissionCheck of Kueue's ProvisioningRequest controller. What the request says is not what
exists: ``Provisioned=True/CapacityIsProvisioned`` means that a resize call was accepted, the nodes may not be there
(reference/capacity.md §1.2). So the phase is done when nodes are ready or the pods have one, not before.
"""

from collections.abc import Iterator
from typing import Final

from classifier import api
from classifier.instant import instant_or_none
from classifier.objects import AdmissionCheckState, ProvisioningRequest
from classifier.report.deadline import Deadline, clause
from classifier.report.phase import CAPACITY, NOTHING, Phase, State, age, joined
from classifier.report.picture import Picture
from classifier.report.pools import PoolCount
from classifier.report.submitted import deactivated, ended_here, lost_quota, words

#: Of a longer name of a request Kueue keeps so many bytes, and adds a hash
#: (Kueue: pkg/controller/admissionchecks/provisioning, limitObjectName).
_LONGEST: Final = 247


def is_capacity_check(picture: Picture, name: str) -> bool:
    """Whether a check asks for capacity, by its controller.

    Where checks may not be read it counts as one: nobody may say that a check that holds the job up is not there.
    """
    if picture.checks is not None and name in picture.checks:
        spec = picture.checks[name].spec
        return spec is not None and spec.controller_name == api.PROVISIONING_CONTROLLER
    if any(p.spec.provisioning is not None and p.spec.provisioning.admission_check == name for p in picture.profiles):
        return True
    return picture.checks is None


def check_states(picture: Picture) -> Iterator[AdmissionCheckState]:
    """The Workload's checks as Kueue lists them; before it does, those of the ClusterQueue, all Pending."""
    listed = picture.workload.status.admission_checks if picture.workload and picture.workload.status else None
    if listed:
        yield from listed
    elif picture.cluster_queue is not None:
        for name in picture.cluster_queue.check_names:
            yield AdmissionCheckState(name=name, state="Pending")


def other_checks(picture: Picture) -> str | None:
    """Checks that are not about capacity and still keep the Workload from being admitted."""
    waiting = [s for s in check_states(picture) if s.state != "Ready" and not is_capacity_check(picture, s.name)]
    return (
        ", ".join(f"AdmissionCheck {s.name} is {s.state}{f': {s.message}' if s.message else ''}" for s in waiting)
        or None
    )


def capacity(picture: Picture, pools: tuple[PoolCount, ...], deadline: Deadline, placed: int, now: int) -> Phase:
    """``placed``: how many nodes the gang's pods are on, 0 until every pod has one."""
    workload = picture.workload
    checks = [s for s in check_states(picture) if is_capacity_check(picture, s.name)]
    queue = picture.cluster_queue.name if picture.cluster_queue else ""
    ended, stopped = ended_here(picture, deadline), deactivated(picture)
    reserved = workload is not None and workload.is_true(api.QUOTA_RESERVED)
    if (ended or stopped) and workload is not None and (reserved or lost_quota(workload)):
        # The wait ended while quota was held: whatever was waited for then, it came after quota.
        state, text = (State.FAILED, ended) if ended else stopped or (State.FAILED, "")
        return Phase(CAPACITY, state, joined(_progress(pools) if checks else None, text), deadline.committed_at)
    finished = picture.owner.finish is not None
    if not checks:
        known = picture.cluster_queue is not None or (workload is not None and reserved)
        text = f"not needed: {f'ClusterQueue {queue}' if queue else 'the queue'} has no capacity check"
        if finished or reserved or (workload is None and not picture.owner.queue):
            return Phase(CAPACITY, State.DONE, text if known or not picture.owner.queue else NOTHING)
        return Phase(CAPACITY, State.WAITING, text if known else NOTHING)
    if not reserved and not finished:
        return Phase(CAPACITY, State.WAITING)
    check = next((s for s in checks if s.state != "Ready"), checks[0])
    request = _request_of(picture, check.name)
    if placed or finished:
        return _provisioned(pools, request, placed, finished)
    if check.state == "Rejected":
        text = f"AdmissionCheck {check.name} rejected the Workload: {check.message or 'no reason given'}"
        return Phase(CAPACITY, State.FAILED, text, instant_or_none(check.last_transition_time))
    if check.state == "Ready":
        return _ready(pools, check, request, picture.requests is not None and picture.checks is not None, now)
    return _pending(picture, pools, check, request, deadline, now)


def _progress(pools: tuple[PoolCount, ...]) -> str | None:
    return ", ".join(p.progress for p in pools if p.progress) or None


def _readiness(pools: tuple[PoolCount, ...]) -> str | None:
    return ", ".join(p.readiness for p in pools if p.readiness) or None


def _request_of(picture: Picture, check: str) -> ProvisioningRequest | None:
    """The newest request made for a check: its name is ``<workload>-<check>-<attempt>``, and the names of two checks
    may begin alike."""
    begin = f"{picture.workload.name}-{check}-"[:_LONGEST] if picture.workload else ""
    for request in reversed(picture.requests or ()):
        if request.name.startswith(begin) and (request.name[len(begin) :].isdigit() or len(request.name) > _LONGEST):
            return request
    return None


def _true(request: ProvisioningRequest | None, type_: str) -> bool:
    return request is not None and request.status is not None and request.status.is_true(type_)


def _booked(request: ProvisioningRequest | None) -> bool:
    """The request says that its capacity is kept for it: Cluster Autoscaler books from Provisioned until expiry."""
    return _true(request, api.PROVREQ_PROVISIONED) and not any(
        _true(request, t) for t in (api.PROVREQ_BOOKING_EXPIRED, api.PROVREQ_REVOKED, api.PROVREQ_FAILED)
    )


def _nodes_words(pools: tuple[PoolCount, ...]) -> str | None:
    return ", ".join(f"{p.needed} node(s) of {p.name}" for p in pools if p.needed is not None) or None


def _provisioned(
    pools: tuple[PoolCount, ...], request: ProvisioningRequest | None, placed: int, finished: bool
) -> Phase:
    """Every pod has a node, or the job is over: capacity came. The nodes may be gone again by now."""
    wanted = _nodes_words(pools)
    since = max((p.enough_since or 0 for p in pools), default=0) or None
    if wanted and _booked(request):
        return Phase(CAPACITY, State.DONE, f"capacity booked on {wanted}", since)
    if pools and all(p.enough for p in pools):
        return Phase(CAPACITY, State.DONE, _readiness(pools) or "", since)
    if placed:
        return Phase(CAPACITY, State.DONE, f"the pods {'ran' if finished else 'are'} on {placed} node(s)", since)
    return Phase(CAPACITY, State.DONE, "over with the job" if finished else "done", since)


def _ready(
    pools: tuple[PoolCount, ...],
    check: AdmissionCheckState,
    request: ProvisioningRequest | None,
    certain: bool,
    now: int,
) -> Phase:
    """The check is satisfied; whether nodes stand behind it only the nodes tell.

    ``certain``: that there is no request is known, not just unseen.
    """
    at = instant_or_none(check.last_transition_time)
    if request is None and certain:
        return Phase(CAPACITY, State.DONE, joined("no request needed", check.message), at)
    if request is None:
        text = joined(
            f"AdmissionCheck {check.name} is Ready", _readiness(pools), "what stands behind it may not be read"
        )
        return Phase(CAPACITY, State.ACTIVE, text, at)
    provisioned = request.status.condition(api.PROVREQ_PROVISIONED) if request.status else None
    wanted = _nodes_words(pools)
    if provisioned is not None and provisioned.reason == "CapacityIsFound":
        text = f"capacity booked on {wanted}" if wanted and _booked(request) else "capacity found on nodes that exist"
        return Phase(CAPACITY, State.DONE, text, at)
    if pools and all(p.enough for p in pools):
        since = max((p.enough_since or 0 for p in pools), default=0) or at
        text = f"capacity booked on {wanted}" if wanted and _booked(request) else _readiness(pools) or ""
        return Phase(CAPACITY, State.DONE, text, since)
    # The check's own time stays that of the first Pending; the request's is when it was accepted.
    accepted = instant_or_none(provisioned.last_transition_time) if provisioned is not None and provisioned.true else at
    ago = f" {age(accepted, now)} ago" if accepted is not None else ""
    text = joined(
        _readiness(pools),
        f"scale-up accepted{ago}{f' ({provisioned.reason})' if provisioned and provisioned.reason else ''}",
        None if any(p.ready is not None for p in pools) else "whether nodes are ready may not be read",
    )
    return Phase(CAPACITY, State.ACTIVE, text, at)


def _pending(
    picture: Picture,
    pools: tuple[PoolCount, ...],
    check: AdmissionCheckState,
    request: ProvisioningRequest | None,
    deadline: Deadline,
    now: int,
) -> Phase:
    reserved = picture.workload.condition(api.QUOTA_RESERVED) if picture.workload else None
    since = instant_or_none(reserved.last_transition_time) if reserved else None
    if request is not None:
        since = instant_or_none(request.metadata.creation_timestamp) or since
    text = joined(
        _progress(pools),
        _asked(picture, check, request, since, now),
        f"AdmissionCheck {check.name} is {check.state}: {check.message}" if check.state == "Retry" else None,
        other_checks(picture),
        clause(deadline, picture.fence, now, known=not picture.hidden_policies),
    )
    return Phase(CAPACITY, State.ACTIVE, text, since)


def _asked(
    picture: Picture, check: AdmissionCheckState, request: ProvisioningRequest | None, since: int | None, now: int
) -> str:
    """What has been asked for, and what the autoscaler made of it."""
    if request is None and (picture.requests is None or picture.checks is None):
        said = f"AdmissionCheck {check.name} is {check.state}{f': {check.message}' if check.message else ''}"
        return f"{said}; what stands behind it may not be read"
    if request is None:
        stands = picture.checks.get(check.name) if picture.checks is not None else None
        active = stands.status.condition(api.ACTIVE) if stands is not None and stands.status else None
        if picture.checks is not None and (active is None or not active.true):
            return f"not requested: AdmissionCheck {check.name} is not active ({words(active) or 'no condition'})"
        return f"not requested yet{f': {check.message}' if check.message else ''}"
    ago = f"requested {age(since, now)} ago" if since is not None else "requested"
    conditions = request.status if request.status is not None else None
    failed = conditions.condition(api.PROVREQ_FAILED) if conditions else None
    if failed is not None and failed.true:
        return f"{ago}; ProvisioningRequest {request.name} failed ({words(failed)})"
    if _true(request, api.PROVREQ_BOOKING_EXPIRED):
        return f"{ago}; the booking of ProvisioningRequest {request.name} expired"
    if not _true(request, api.PROVREQ_ACCEPTED):
        class_ = request.spec.provisioning_class_name if request.spec else ""
        return f"{ago}; no autoscaler has accepted ProvisioningRequest {request.name} (class {class_ or 'none'})"
    provisioned = conditions.condition(api.PROVREQ_PROVISIONED) if conditions else None
    if provisioned is not None and provisioned.true:
        return f"{ago}; scale-up accepted ({provisioned.reason or 'Provisioned'})"
    if provisioned is not None and provisioned.reason != "NotProvisioned":
        return f"{ago}; the autoscaler: {words(provisioned)}"
    return ago
