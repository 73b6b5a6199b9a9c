"""What may not be read never passes for what is well, or for what does not exist."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import yaml

from classifier.cli import audit, preflight, status
from tests.schemas import check_schema
from tests.unit.cli.conftest import WORLD, Muster, Ran, Write, gang, waiting
from tests.unit.cli.server import Server

On = Callable[..., Ran]

STAMPED = {"muster.dev/preflight": "never-fits: gang needs 2 node(s) of gpupool (max 1)"}
KUEUE = ("localqueues", "clusterqueues", "resourceflavors", "admissionchecks", "provisioningrequestconfigs")


@pytest.fixture
def on(muster: Muster, monkeypatch: pytest.MonkeyPatch) -> On:
    """Run a command on a cluster that holds these objects."""

    def run(
        *argv: str, objects: Iterable[dict[str, Any]] = (), forbidden: Iterable[str] = (), unserved: Iterable[str] = ()
    ) -> Ran:
        world = [o for o in yaml.safe_load_all(WORLD) if o]

        async def connect(_: object) -> Server:
            return Server([*world, *objects], frozenset(forbidden), frozenset(unserved))

        for module in (audit, preflight, status):
            monkeypatch.setattr(module, "connect", connect)
        return muster(*argv)

    return run


def job(**metadata: Any) -> dict[str, Any]:
    return gang(uid="u1", created="2026-11-29T10:00:00Z", **metadata)


PENDING = waiting("train", "u1", deadline="2026-11-29T12:00:00Z")


# --- audit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [(), ("-o", "json")], ids=["text", "json"])
@pytest.mark.parametrize(
    ("scope", "where"),
    [(("-A",), "in all namespaces; name one with -n, ask"), (("-n", "team-a"), "in namespace team-a; ask")],
    ids=["all", "one"],
)
def test_an_audit_that_may_not_read_workloads_fails(
    on: On, scope: tuple[str, ...], where: str, form: tuple[str, ...]
) -> None:
    ran = on("audit", *scope, *form, objects=[job(), PENDING], forbidden=["workloads"])
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"muster: workloads may not be read {where} for the right to list workloads.kueue.x-k8s.io, or use --as\n"
    )


def test_an_audit_of_a_cluster_without_kueue_fails(on: On) -> None:
    ran = on("audit", "-A", unserved=["workloads"])
    assert (ran.code, ran.out) == (1, "")
    assert "does not serve workloads of kueue.x-k8s.io/v1beta2; is Kueue installed" in ran.err


def test_an_audit_of_a_namespace_that_is_not_there_fails(on: On) -> None:
    ran = on("audit", "-n", "tema-a")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no namespace tema-a" in ran.err
    assert on("audit", "-n", "tema-a", forbidden=["namespaces"]).code == 0, "it may be there"


def test_an_audit_that_may_read_everything_finds_nothing(on: On) -> None:
    ran = on("audit", "-A", objects=[job(), PENDING])
    assert (ran.code, ran.err) == (0, "muster: no pending Workload needs attention\n")
    assert on("audit", "-A").err == "muster: there is no Workload\n"


@pytest.mark.parametrize(
    ("forbidden", "why"),
    [
        (["jobs"], "Job train may not be read"),
        (["capacityprofiles"], "capacityprofiles may not be read"),
        (["resourceflavors", "capacityprofiles"], "capacityprofiles, resourceflavors may not be read"),
        (["clusterqueues"], "clusterqueues may not be read"),
        (["localqueues", "nodes"], "localqueues may not be read"),
    ],
)
def test_an_audit_that_cannot_judge_a_workload_says_so(on: On, forbidden: list[str], why: str) -> None:
    ran = on("audit", "-A", "-o", "json", objects=[job(), PENDING], forbidden=forbidden)
    check_schema("audit.json", ran.json)
    assert [(f["problem"], f["owner"], f["why"]) for f in ran.json] == [("unknown", "Job/train", why)]
    assert ran.code == 3


def test_no_policy_in_sight_is_not_no_policy(on: On) -> None:
    unbounded = waiting("train", "u1")
    fits = job(annotations={"muster.dev/preflight": "fits: gang needs 2 node(s) of gpupool (max 2)"})
    ran = on("audit", "-A", "-o", "json", objects=[fits, unbounded], forbidden=["capacityprofiles"])
    assert [(f["problem"], f["why"]) for f in ran.json] == [
        ("unknown", "no deadline shown; what may give one may not be read: capacityprofiles")
    ]


@pytest.mark.parametrize(
    ("deadline", "annotations", "problem", "why"),
    [
        ("2026-11-29T10:00:00Z", {}, "deadline-passed", "deadline passed 40s ago; Job train may not be read"),
        ("2026-11-29T10:05:00Z", {}, "deadline-near", "deadline in 4m20s; no quota"),
        ("2026-11-29T12:00:00Z", {}, "unknown", "Job train may not be read"),
        (
            "2026-11-29T10:00:30Z",
            {"muster.dev/admission-timeout-committed": "2026-11-29T10:00:30Z attempt=1 uid=w-u1"},
            "deadline-passed",
            "admission timed out at 2026-11-29T10:00:30Z",
        ),
    ],
)
def test_a_workload_shows_its_deadline_without_its_job(
    on: On, deadline: str, annotations: dict[str, str], problem: str, why: str
) -> None:
    workload = waiting("train", "u1", deadline=deadline)
    workload["metadata"]["annotations"] |= annotations
    workload["spec"]["active"] = not annotations
    ran = on("audit", "-A", "-o", "json", objects=[workload], forbidden=["jobs"])
    assert [(f["problem"], f["why"], f["until"]) for f in ran.json] == [(problem, why, deadline)]


def test_a_fence_that_may_not_be_read_is_not_called_missing(on: On) -> None:
    late = waiting("train", "u1", deadline="2026-11-29T10:00:00Z")
    policies = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
    ran = on("audit", "-A", objects=[job(), late], forbidden=policies)
    assert "nobody ended the wait; the fence muster-fence may not be read" in ran.out
    assert "does not exist" not in ran.out


# --- preflight --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forbidden", "names"),
    [
        (["capacityprofiles"], "capacityprofiles"),
        (["resourceflavors"], "resourceflavors"),
        (["clusterqueues"], "clusterqueues"),
        (["localqueues"], "localqueues"),
        (["capacityprofiles", *KUEUE], "localqueues, clusterqueues, capacityprofiles, resourceflavors"),
    ],
)
def test_preflight_names_what_may_not_be_read(on: On, write: Write, forbidden: list[str], names: str) -> None:
    ran = on("preflight", "-f", write("job.yaml", gang(nodes=9)), "-o", "json", forbidden=[*forbidden, "nodes"])
    check_schema("preflight.json", ran.json)
    assert (ran.json["verdict"], ran.json["reason"], ran.code) == ("unknown", f"{names} may not be read", 4)
    assert ran.json["line"] == f"preflight: could not decide: {names} may not be read"
    for plural in forbidden:
        assert f"muster: {plural} may not be read" in ran.err


def test_the_verdict_of_submit_time_answers(on: On, write: Write) -> None:
    path = write("job.yaml", gang(annotations=STAMPED))
    ran = on("preflight", "-f", path, forbidden=["capacityprofiles"])
    assert "gang needs 2 node(s) of gpupool (max 1): cannot fit (as stamped at submit)" in ran.out
    assert ran.code == 3
    assert on("preflight", "-f", path).code == 0, "what can be judged is judged"


def test_what_the_job_itself_answers_needs_no_rights(on: On, write: Write) -> None:
    other = {"apiVersion": "x.dev/v1", "kind": "Thing", "metadata": gang()["metadata"]}
    for obj, why in ((other, "kind Thing is not judged"), (gang(labels={}), "Job has no kueue.x-k8s.io/queue-name")):
        ran = on("preflight", "-f", write("o.yaml", obj), forbidden=["capacityprofiles", *KUEUE, "namespaces"])
        assert f"preflight: skipped: {why}" in ran.out
        assert ran.code == 0


def test_what_does_not_exist_is_still_said(on: On, write: Write) -> None:
    lost = gang(labels={"kueue.x-k8s.io/queue-name": "no-such-queue"})
    ran = on("preflight", "-f", write("job.yaml", lost), forbidden=["capacityprofiles"])
    assert "LocalQueue team-a/no-such-queue is not found" in ran.out
    assert ran.code == 4


def test_a_queue_of_one_namespace_that_may_be_read_is_enough(on: On, write: Write) -> None:
    ran = on("preflight", "-f", write("job.yaml", gang()), forbidden=["namespaces", "nodes"])
    assert ran.code == 0


def test_checks_that_may_not_be_read_are_not_called_missing(on: On, write: Write) -> None:
    ran = on("preflight", "-f", write("job.yaml", gang(nodes=9)), forbidden=["admissionchecks"])
    assert "AdmissionCheck capacity of ClusterQueue gpu-a100 may not be read" in ran.out
    assert "not found" not in ran.out
    assert ran.code == 4
    stamped = on("preflight", "-f", write("s.yaml", gang(nodes=9, annotations=STAMPED)), forbidden=["admissionchecks"])
    assert stamped.code == 3


# --- status -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forbidden", "known"), [([], True), (["nodes"], True), (["workloads"], False), (["pods"], False)]
)
def test_an_observation_never_rests_on_what_may_not_be_read(on: On, forbidden: list[str], known: bool) -> None:
    ran = on("status", "job/train", "-n", "team-a", "-o", "json", objects=[job(), PENDING], forbidden=forbidden)
    check_schema("status.json", ran.json)
    assert (ran.json["observation"] is not None) == known
    if known:
        assert ran.json["observation"]["cause"]["detail"] == "Workload QuotaReserved: Pending: no quota"


# --- files ------------------------------------------------------------------------------------------------------


def test_an_audit_of_files_looks_everywhere(muster: Muster, write: Write) -> None:
    late = waiting("train", "u1", deadline="2026-11-29T10:00:00Z")
    path = write("dump.yaml", WORLD, job(), late)
    ran = muster("audit", "-f", path, "--now", "2026-11-29T10:29:00Z")
    assert ran.code == 3
    assert "team-a/job-train-abcde" in ran.out
    assert muster("audit", "-A", "-f", path, "--now", "2026-11-29T10:29:00Z") == ran
    assert muster("audit", "-n", "team-b", "-f", path).err == "muster: there is no Workload in namespace team-b\n"


def test_a_dump_without_its_jobs(muster: Muster, write: Write) -> None:
    ran = muster("audit", "-f", write("dump.yaml", WORLD, PENDING), "-o", "json", "--now", "2026-11-29T10:29:00Z")
    assert [(f["problem"], f["why"]) for f in ran.json] == [("unknown", "Job train is not there")]


def test_status_of_files_finds_the_job_wherever_it_is(muster: Muster, write: Write) -> None:
    path = write("dump.yaml", WORLD, job(), PENDING)
    assert "waiting" in muster("status", "job/train", "-f", path, "--now", "2026-11-29T10:00:40Z").out
    ran = muster("status", "job/train", "-f", path, "-f", write("b.yaml", gang(namespace="team-b")))
    assert (ran.code, ran.out) == (1, "")
    assert "these files hold several Jobs train, team-a/train, team-b/train; choose with -n" in ran.err
    assert "there is no Job other in these files" in muster("status", "job/other", "-f", path).err


def test_preflight_says_which_namespace_it_took(muster: Muster, write: Write, world: str) -> None:
    homeless = gang()
    del homeless["metadata"]["namespace"]
    path = write("job.yaml", homeless)
    ran = muster("preflight", "-f", path, "--with", world)
    assert "Job train is taken to be in namespace default; choose another with -n" in ran.err
    assert ran.code == 4
    ran = muster("preflight", "-f", path, "--with", world, "-n", "team-a")
    assert (ran.code, ran.err) == (0, "")


def test_files_without_any_profile_judge_nothing_and_say_so(muster: Muster, write: Write) -> None:
    world = write("w.yaml", *[o for o in yaml.safe_load_all(WORLD) if o and o["kind"] != "CapacityProfile"])
    ran = muster("preflight", "-f", write("job.yaml", gang(nodes=9)), "--with", world)
    assert "there is no CapacityProfile in these files, so nothing can be judged" in ran.err


def test_what_few_may_read_is_no_note_but_for_kueues_configuration(on: On, write: Write) -> None:
    refining = [
        "cohorts",
        "topologies",
        "limitranges",
        "runtimeclasses",
        "deviceclasses",
        "nodepools",
        "machinesets",
        "trainingruntimes",
    ]
    ran = on("preflight", "-f", write("job.yaml", gang()), forbidden=[*refining, "configmaps"])
    assert ran.err == (
        "muster: Kueue's configuration (kueue-system/kueue-manager-config) cannot be read here; "
        "its defaults are assumed\n"
    )
