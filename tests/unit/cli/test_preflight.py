"""``muster preflight``, offline."""

import io
import json
from typing import Any

import pytest
import yaml

from tests.schemas import check_schema
from tests.unit.cli.conftest import WORLD, Muster, Write, gang


def test_a_gang_that_fits(muster: Muster, write: Write, world: str) -> None:
    ran = muster("preflight", "-f", write("job.yaml", gang()), "--with", world)
    assert ran.out.splitlines()[:2] == [
        "preflight: profile gpu-a100-8 ProvisioningReady=True",
        "preflight: gang needs 2 node(s) of gpupool (max 2): fits",
    ]
    assert (ran.code, ran.err) == (0, "")


def test_a_gang_that_never_fits_says_what_to_change(muster: Muster, write: Write, world: str) -> None:
    ran = muster("preflight", "-f", write("job.yaml", gang(nodes=3)), "--with", world)
    assert "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit" in ran.out
    assert "16 nvidia.com/gpu" in ran.out
    assert ran.code == 3


@pytest.mark.parametrize(("nodes", "verdict", "code"), [(2, "fits-after-scale-up", 0), (3, "never-fits", 3)])
def test_json_is_the_contract(muster: Muster, write: Write, world: str, nodes: int, verdict: str, code: int) -> None:
    ran = muster("preflight", "-f", write("job.yaml", gang(nodes=nodes)), "--with", world, "-o", "json")
    check_schema("preflight.json", ran.json)
    assert ran.json["verdict"] == verdict
    assert ran.json["denied"] is (code == 3)
    assert ran.code == code


def test_yaml_says_the_same(muster: Muster, write: Write, world: str) -> None:
    job = write("job.yaml", gang())
    as_json = muster("preflight", "-f", job, "--with", world, "-o", "json").json
    assert yaml.safe_load(muster("preflight", "-f", job, "--with", world, "-o", "yaml").out) == as_json


def test_wide_shows_the_podsets(muster: Muster, write: Write, world: str) -> None:
    ran = muster("preflight", "-f", write("job.yaml", gang(nodes=3)), "--with", world, "-o", "wide")
    header = next(line for line in ran.out.splitlines() if line.startswith("PODSET"))
    row = ran.out.splitlines()[ran.out.splitlines().index(header) + 1]
    assert "never-fits" in row
    assert "gpupool" in row


def test_several_objects_one_line_each_and_the_worst_exit_code(muster: Muster, write: Write, world: str) -> None:
    jobs = write("jobs.yaml", gang("good"), gang("bad", 3))
    ran = muster("preflight", "-f", jobs, "--with", world)
    assert ran.out.splitlines() == [
        "preflight: profile gpu-a100-8 ProvisioningReady=True",
        "NAMESPACE   KIND   NAME   VERDICT               WHY",
        "team-a      Job    good   fits-after-scale-up   gang needs 2 node(s) of gpupool (max 2)",
        "team-a      Job    bad    never-fits            gang needs 3 node(s) of gpupool (max 2); request at most "
        "16 nvidia.com/gpu or raise the pool's maximum",
    ]
    assert (ran.code, ran.err) == (3, "muster: 2 objects judged\n")
    data = muster("preflight", "-f", jobs, "--with", world, "-o", "json").json
    check_schema("preflight.json", data)
    assert [entry["ref"]["name"] for entry in data] == ["good", "bad"]


def test_never_fits_is_worse_than_unknown(muster: Muster, write: Write, world: str) -> None:
    unsure = gang("unsure", labels={"kueue.x-k8s.io/queue-name": "no-such-queue"})
    ran = muster("preflight", "-f", write("jobs.yaml", gang("bad", 3), unsure), "--with", world, "-o", "json")
    assert [entry["verdict"] for entry in ran.json] == ["never-fits", "unknown"]
    assert ran.code == 3
    assert muster("preflight", "-f", write("unsure.yaml", unsure), "--with", world).code == 4


def test_a_sentence_is_said_once(muster: Muster, write: Write, world: str) -> None:
    unsure = gang("unsure", labels={"kueue.x-k8s.io/queue-name": "no-such-queue"})
    ran = muster("preflight", "-f", write("unsure.yaml", unsure), "--with", world)
    assert ran.out.count("no-such-queue is not found") == 1


def test_defaults_of_the_api_server_are_assumed(muster: Muster, write: Write, world: str) -> None:
    job = gang()
    del job["spec"]["parallelism"], job["spec"]["completions"], job["spec"]["suspend"]
    ran = muster("preflight", "-f", write("job.yaml", job), "--with", world)
    assert "gang needs 1 node(s) of gpupool (max 2): fits" in ran.out


def test_a_kind_that_is_not_judged_is_skipped(muster: Muster, write: Write, world: str) -> None:
    other = {"apiVersion": "x.dev/v1", "kind": "Thing", "metadata": gang()["metadata"]}
    ran = muster("preflight", "-f", write("thing.yaml", other), "--with", world)
    assert ran.out.startswith("preflight: skipped")
    assert ran.code == 0


def test_a_quantity_that_cannot_be_parsed_is_an_error(muster: Muster, write: Write, world: str) -> None:
    job = gang()
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "eight"
    ran = muster("preflight", "-f", write("job.yaml", job), "--with", world)
    assert ran.code == 1
    assert "spec.template.spec.containers[0].resources.limits.nvidia.com/gpu: 'eight' is not a quantity" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_world_in_a_folder_and_as_lists(muster: Muster, write: Write) -> None:
    objects: list[Any] = list(yaml.safe_load_all(WORLD))
    write("dump/kueue.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects[1:]}))
    folder = write("dump/profiles/p.yaml", objects[0]).rsplit("/", 2)[0]
    ran = muster("preflight", "-f", write("job.yaml", gang()), "--with", folder)
    assert "gang needs 2 node(s) of gpupool (max 2): fits" in ran.out


def test_standard_input(muster: Muster, write: Write, world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(gang()).encode())))
    assert muster("preflight", "-f", "-", "--with", world).code == 0
    both = muster("preflight", "-f", "-", "--with", "-")
    assert both.code == 2
    assert "standard input" in both.err


def test_a_live_node_of_the_pool_makes_it_fit_now(muster: Muster, write: Write, world: str) -> None:
    allocatable = {"cpu": "94", "memory": "860Gi", "nvidia.com/gpu": "8", "pods": "110"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"gpu-{i}", "labels": {"agentpool": "gpupool"}},
            "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for i in range(2)
    ]
    ran = muster(
        "preflight",
        "-f",
        write("job.yaml", gang()),
        "--with",
        world,
        "--with",
        write("nodes.yaml", *nodes),
        "-o",
        "json",
    )
    assert ran.json["verdict"] == "fits"


def test_two_objects_of_one_name_the_last_counts_with_a_warning(muster: Muster, write: Write, world: str) -> None:
    bigger = next(iter(yaml.safe_load_all(WORLD)))
    bigger["spec"]["pools"][0]["maxNodes"] = 4
    ran = muster(
        "preflight", "-f", write("job.yaml", gang(nodes=3)), "--with", world, "--with", write("b.yaml", bigger)
    )
    assert ran.code == 0
    assert "CapacityProfile gpu-a100-8 was there before; the last one counts" in ran.err
