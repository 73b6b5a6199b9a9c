"""The classification beside a status report: of the same objects, at the same moment."""

from typing import Final

import msgspec

from classifier import api
from classifier.cluster.snapshot import Snapshot
from classifier.objects import Meta
from classifier.state import Observation, Settings, classify
from classifier.state.gather import capacity_checks_in, case_of

#: Without these nothing could be told from what there is not.
_NEEDED: Final = frozenset({api.WORKLOADS, api.PODS})


def classified(snapshot: Snapshot, job: Meta, now: int, *, nodes: bool = True) -> Observation | None:
    """In mode kueue, as ``muster explain`` has it by default. None where Workloads or pods may not be read.

    ``nodes`` False: of the Nodes its pods are bound to, some are not in the snapshot, though they may well exist.
    """
    if _NEEDED & snapshot.unreadable:
        return None
    settings = Settings(capacity_checks=capacity_checks_in(snapshot, frozenset()))
    case = case_of(job, snapshot, settings)
    return classify(case if nodes else msgspec.structs.replace(case, nodes=None), settings, now)
