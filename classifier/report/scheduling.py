"""The last two phases: the pods get nodes, the job runs."""

from classifier import api
from classifier.instant import format_duration, instant_or_none
from classifier.objects import Pod
from classifier.policy import scheduled_by
from classifier.report.capacity import other_checks
from classifier.report.phase import NOTHING, RUNNING, SCHEDULING, Phase, State, age, joined
from classifier.report.picture import Picture

#: Node names printed on one line before "and N more".
NAMES = 4


def current_pods(picture: Picture) -> tuple[Pod, ...]:
    """The pods that count: not those that failed or are on their way out; the finished ones once the job is over."""

    def counts(pod: Pod) -> bool:
        phase = pod.status.phase if pod.status else None
        return phase != "Failed" and (pod.metadata.deletion_timestamp is None or picture.owner.finish is not None)

    return tuple(p for p in picture.pods if counts(p))


def scheduled_pods(picture: Picture) -> tuple[Pod, ...]:
    return tuple(p for p in current_pods(picture) if p.spec is not None and p.spec.node_name)


def _node_names(pods: tuple[Pod, ...]) -> list[str]:
    return list(dict.fromkeys(p.spec.node_name for p in pods if p.spec is not None and p.spec.node_name))


def nodes_placed(picture: Picture) -> int:
    """On how many nodes the gang is, 0 while a pod of it has none."""
    scheduled = scheduled_pods(picture)
    return len(_node_names(scheduled)) if scheduled and len(scheduled) >= picture.owner.pods else 0


def scheduling(picture: Picture, now: int) -> Phase:
    owner, workload = picture.owner, picture.workload
    pods, scheduled = current_pods(picture), scheduled_pods(picture)
    admitted = workload.condition(api.ADMITTED) if workload is not None else None
    free = workload is None and not owner.queue  # Kueue has no say in it
    total = max(owner.pods, len(scheduled)) if owner.finish is not None else owner.pods
    if scheduled and len(scheduled) >= owner.pods:
        names = _node_names(scheduled)
        more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
        return Phase(
            SCHEDULING,
            State.DONE,
            f"{len(scheduled)}/{total} on {', '.join(names[:NAMES])}{more}",
            max((_scheduled_at(p) or 0 for p in scheduled), default=0) or None,
        )
    if owner.finish is not None:
        if owner.finish.succeeded:
            return Phase(
                SCHEDULING, State.DONE, "the pods are gone" if picture.may_read(api.PODS) else "pods may not be read"
            )
        return Phase(SCHEDULING, State.WAITING, f"{len(scheduled)}/{total} when the job failed")
    if not free and not (admitted is not None and admitted.true):
        reserved = workload is not None and workload.active and workload.is_true(api.QUOTA_RESERVED)
        waiting = other_checks(picture) if reserved else None
        return Phase(SCHEDULING, State.WAITING, waiting or NOTHING)
    since = instant_or_none(admitted.last_transition_time) if admitted is not None else owner.created
    ago = f" {age(since, now)} ago" if since is not None else ""
    if owner.suspended:
        text = (
            f"admitted{ago}; Kueue has not started the {owner.kind} yet" if admitted else f"{owner.kind} is suspended"
        )
    else:
        unplaced = next((p for p in pods if p not in scheduled), None)
        text = joined(
            f"{len(scheduled)}/{total}",
            f"{'admitted' if admitted else 'submitted'}{ago}",
            _why_unplaced(unplaced) if unplaced is not None else _not_created(picture, total - len(pods)),
        )
    late = _beyond_limit(picture, since, now) if admitted is not None else ""
    text = joined(text, late) if late else text
    return Phase(SCHEDULING, State.ACTIVE, text, since)


def _beyond_limit(picture: Picture, since: int | None, now: int) -> str:
    """That no node, or no pod, has come for longer than a profile lets a gang be admitted without."""
    limit = scheduled_by(picture.policies).timeout
    pods = current_pods(picture)
    short = not pods or len(scheduled_pods(picture)) < len(pods)
    if limit is None or since is None or now < since + limit.millis or not short or not picture.may_read(api.PODS):
        return ""
    return f"longer than {format_duration(limit.millis)} ({limit.source})"


def _scheduled_at(pod: Pod) -> int | None:
    condition = pod.status.condition("PodScheduled") if pod.status else None
    return instant_or_none(condition.last_transition_time) if condition is not None and condition.true else None


def _not_created(picture: Picture, pods: int) -> str:
    return f"{pods} pod(s) not created yet" if picture.may_read(api.PODS) else "pods may not be read"


def _why_unplaced(pod: Pod) -> str:
    condition = pod.status.condition("PodScheduled") if pod.status else None
    if condition is None or not condition.message:
        return f"pod {pod.name} has no node yet"
    return f"pod {pod.name}: {condition.message}"


def running(picture: Picture) -> Phase:
    owner = picture.owner
    if owner.finish is not None:
        finish = owner.finish
        if not finish.succeeded:
            why = f"{finish.reason}: {finish.message}" if finish.message else finish.reason
            return Phase(RUNNING, State.FAILED, f"Failed ({why})", finish.at)
        of = (
            f"{owner.succeeded}/{owner.completions} completions"
            if owner.completions
            else f"{owner.succeeded} succeeded"
        )
        return Phase(RUNNING, State.DONE, f"Succeeded ({of})", finish.at)
    alive = [p for p in current_pods(picture) if p.status is not None and p.status.phase in ("Running", "Succeeded")]
    done = f"; {owner.succeeded} of {owner.completions} completed" if owner.succeeded and owner.completions else ""
    if not alive and not owner.ready:
        return Phase(RUNNING, State.WAITING)
    since = min((at for at in (instant_or_none(p.status.start_time) for p in alive if p.status) if at), default=None)
    return Phase(RUNNING, State.ACTIVE, f"{owner.ready}/{owner.pods} pods ready{done}", since)
