"""A phase never says that something is not there which may only not be read."""

from typing import Any

import pytest

from classifier import api
from classifier.api import Resource
from classifier.objects import Job
from classifier.report import report
from tests.unit.report.builders import ADMITTED, RESERVED, T0, deadline, job, observe, verdict, workload
from tests.unit.report.states import C, P, Q

DONE = {"conditions": [{"type": "Complete", "status": "True"}]}
STARTED = job(suspend=False)


@pytest.mark.parametrize(
    ("hidden", "owner", "fields", "phase", "state", "text"),
    [
        (api.WORKLOADS, job(), {}, Q, "active", "workloads may not be read; no deadline announced yet (30m by "),
        (
            api.WORKLOADS,
            job(annotations=deadline(200)),
            {},
            Q,
            "active",
            "workloads may not be read; deadline in 1m40s",
        ),
        (api.WORKLOADS, STARTED, {}, Q, "done", "workloads may not be read"),
        (api.WORKLOADS, job(suspend=False, status=DONE), {}, Q, "done", "workloads may not be read"),
        (
            api.LOCAL_QUEUES,
            job(),
            {"local_queue": None, "cluster_queue": None, "profiles": ()},
            Q,
            "active",
            "no Workload after 1m40s; is Kueue running, and does it manage Jobs here?; no deadline shown; what",
        ),
        (api.CLUSTER_QUEUES, job(status=DONE), {"cluster_queue": None}, C, "done", "-"),
        (
            api.PODS,
            STARTED,
            {"workload": workload(RESERVED, ADMITTED)},
            P,
            "active",
            "0/2; admitted 40s ago; pods may ",
        ),
        (api.PODS, job(suspend=False, status=DONE), {}, P, "done", "pods may not be read"),
    ],
)
def test_hidden_is_not_missing(
    hidden: Resource, owner: Job, fields: dict[str, Any], phase: int, state: str, text: str
) -> None:
    seen = report(observe(owner, hidden=frozenset({hidden.plural}), **fields), verdict(), T0 + 100_000).phases[phase]
    assert (str(seen.state), seen.text[: len(text)]) == (state, text)
