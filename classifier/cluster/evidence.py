"""What watches keep of pods that are gone: their last states, by TrainJob (reference/classification.md §C14.4)."""

from collections import Counter, OrderedDict, defaultdict
from typing import Final

from classifier import api
from classifier.cluster.store import number, version_of
from classifier.objects import Meta, Pod
from classifier.state import Ring
from classifier.state.kinds.jobset import JOBSET_UID
from classifier.state.ring import strip

#: Pods whose JobSet is not known yet, at most.
WAITING: Final = 256


class Evidence:
    """Fills a ring while at least one watch on a job is open. Several watches on one job share it."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._open: Counter[str] = Counter()
        #: The TrainJob of each JobSet seen: a pod may outlive its JobSet.
        self._trainjobs: dict[str, str] = {}
        #: Deleted pods of JobSets not seen so far, with their jobs: the watches on the two kinds keep no common order.
        self._waiting: OrderedDict[str, tuple[str, Pod]] = OrderedDict()
        #: Of whom there is something in the ring, by job.
        self._kept: dict[str, set[str]] = defaultdict(set)
        #: The latest deletion taken in, by job: what another watch tells again is nothing new.
        self._latest: Counter[str] = Counter()

    # --- watches ------------------------------------------------------------------------------------------------

    def opened(self, job: str) -> None:
        self._open[job] += 1

    def closed(self, job: str) -> None:
        """The last one takes with it what was kept: from here on deletions pass unseen."""
        self._open[job] -= 1
        if self._open[job]:
            return
        del self._open[job]
        self._latest.pop(job, None)
        for trainjob in self._kept.pop(job, ()):
            self._ring.drop(trainjob)
        for uid in [uid for uid, (of, _) in self._waiting.items() if of == job]:
            del self._waiting[uid]
        if not self._open:
            self._trainjobs.clear()

    def jobset(self, jobset: Meta) -> None:
        """Remember whose it is."""
        owner = jobset.controller
        if owner is not None and (owner.group, owner.kind) == (api.TRAIN_JOBS.group, api.TRAIN_JOBS.kind):
            self._trainjobs[jobset.uid] = owner.uid
            for uid in [uid for uid, (_, pod) in self._waiting.items() if pod.label(JOBSET_UID) == jobset.uid]:
                self._keep(owner.uid, *self._waiting.pop(uid))

    def deleted(self, job: str, pod: Pod) -> None:
        """Keep the last state of a pod of that job."""
        version = number(version_of(pod))
        if version <= self._latest[job]:
            return
        self._latest[job] = version
        trainjob = self.trainjob_of(pod)
        if trainjob is not None:
            self._keep(trainjob, job, pod)
        elif pod.label(JOBSET_UID):
            self._waiting.pop(pod.uid, None)
            self._waiting[pod.uid] = job, strip(pod)
            while len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)

    def _keep(self, trainjob: str, job: str, pod: Pod) -> None:
        self._kept[job].add(trainjob)
        self._ring.deleted(trainjob, pod)

    def trainjob_of(self, pod: Pod) -> str | None:
        """UID of the TrainJob a pod is part of, as far as its JobSet was ever seen."""
        return self._trainjobs.get(pod.label(JOBSET_UID) or "")

    # --- finds --------------------------------------------------------------------------------------------------

    @property
    def trainjobs(self) -> set[str]:
        """UIDs of all that something is known of."""
        return set(self._trainjobs.values()).union(*self._kept.values())

    def forget(self, job: str, gone: set[str]) -> None:
        """These TrainJobs are gone, and nothing of theirs is left in what was read about the job."""
        for trainjob in self._kept[job] & gone if job in self._kept else ():
            self._kept[job].discard(trainjob)
            self._ring.drop(trainjob)
        still = set().union(*self._kept.values())
        self._trainjobs = {uid: owner for uid, owner in self._trainjobs.items() if owner not in gone - still}
