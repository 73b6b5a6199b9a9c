"""Whatever stands in the annotations, nobody's wait is ended before its time, and no decision ever fails."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from classifier import api
from controller.decide import Action, Commit, Rest
from tests.builders import Builder
from tests.protocol import Cluster

NUMBERS = [
    "0",
    "1",
    "2",
    "999999",
    "1000000",
    "1" + "0" * 18,
    "9" * 5000,
    "-1",
    "1.5",
    "1e9",
    "NaN",
    "null",
    "true",
    '"1"',
]
TIMES = [
    "2026-11-29T10:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "never",
    "",
]
UIDS = ["uid-of-train", "uid-of-job-train-1a2b3", "another", ""]

FORGED_LEDGERS = st.builds(
    lambda uid, origin, attempt, rest: f'{{"uid":"{uid}","origin":"{origin}","attempt":{attempt}{rest}}}',
    st.sampled_from(UIDS),
    st.sampled_from(TIMES),
    st.sampled_from(NUMBERS),
    st.sampled_from(["", ',"started":""', *(f',"{key}":"{at}"' for key in ("paused", "started") for at in TIMES)])
    | st.sampled_from(
        [',"queue":"\\u0000"', ',"queue":7', ',"paused":"2020-01-01T00:00:00Z","queue":"gpu"', ',"x":[[[]]]']
    ),
)
FORGED_MARKERS = st.builds(
    lambda at, attempt, uid: f"{at} attempt={attempt} uid={uid}",
    st.sampled_from(TIMES),
    st.sampled_from(NUMBERS),
    st.sampled_from(UIDS),
)
FORGED = st.dictionaries(
    st.sampled_from([api.ADMISSION_CLOCK, api.ADMISSION_DEADLINE, api.COMMITTED, *api.MIRROR_KEYS]),
    st.text(max_size=40) | st.sampled_from(TIMES) | FORGED_LEDGERS | FORGED_MARKERS,
)
CONDITIONS = st.lists(
    st.tuples(
        st.sampled_from([api.QUOTA_RESERVED, api.ADMITTED, api.PODS_READY, api.FINISHED, api.EVICTED]),
        st.booleans(),
        st.sampled_from([api.ON_HOLD, "Pending", "WaitForStart", "WaitForRecovery"]),
    ),
    max_size=3,
)


def forged(builder: Builder[Any], annotations: dict[str, str]) -> None:
    for key, value in annotations.items():
        builder.annotate(key, value)


@example(
    on_job={api.ADMISSION_CLOCK: '{"uid":"uid-of-train","origin":"9999-12-31T23:59:59Z"}'},
    on_workload={},
    active=None,
    conditions=[],
)
@example(
    on_job={},
    on_workload={api.COMMITTED: f"2026-11-29T10:00:00Z attempt={'9' * 5000} uid=uid-of-job-train-1a2b3"},
    active=None,
    conditions=[],
)
@example(
    on_job={},
    on_workload={api.COMMITTED: "2026-11-29T10:00:00Z attempt=1000000 uid=uid-of-job-train-1a2b3"},
    active=None,
    conditions=[],
)
@example(on_job={api.ADMISSION_DEADLINE: "9999-12-31T23:59:59-23:59"}, on_workload={}, active=None, conditions=[])
@given(on_job=FORGED, on_workload=FORGED, active=st.none() | st.booleans(), conditions=CONDITIONS)
def test_whatever_stands_in_the_annotations_nothing_is_ended_before_its_time_and_there_is_rest(
    on_job: dict[str, str], on_workload: dict[str, str], active: bool | None, conditions: list[tuple[str, bool, str]]
) -> None:
    cluster = Cluster()
    forged(cluster.job, on_job)
    forged(cluster.workload, on_workload)
    if active is not None:
        cluster.workload.active(active)
    for type_, status, reason in conditions:
        cluster.workload.condition(type_, status, reason)
    cluster.witness = never_commits
    cluster.look()
    assert isinstance(cluster.look()[0], Rest)


def never_commits(action: Action, _: object) -> None:
    # At T0 nobody can have waited: whatever says otherwise is a forgery.
    if isinstance(action, Commit):
        raise AssertionError(action)
