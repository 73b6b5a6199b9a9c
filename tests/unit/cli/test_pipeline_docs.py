"""docs/pipeline.md: its commands are understood, and its world is all that a judgement reads."""

import re
import shlex

import yaml

from classifier import api
from classifier.cli.main import parser
from classifier.cluster import reader
from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG
from classifier.cluster.machines import MACHINE_GROUPS
from tests.schemas import SCHEMAS
from tests.unit.cli.conftest import Muster, Write, gang
from tests.unit.cli.test_preflight_folder import jobset, service

TEXT = (SCHEMAS.parent / "pipeline.md").read_text("utf-8")
BLOCKS: dict[str, list[str]] = {}
for language, block in re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL):
    BLOCKS.setdefault(language, []).append(block)
(WORKFLOW,) = (yaml.safe_load(block) for block in BLOCKS["yaml"])


def commands() -> list[list[str]]:
    """What is called ``muster`` anywhere in the page, as words."""
    written = [line.removeprefix("$ ") for block in BLOCKS["console"] for line in block.splitlines()]
    written += [step["run"] for step in WORKFLOW["jobs"]["preflight"]["steps"] if "run" in step]
    written += re.findall(r"`(muster .*?)`", TEXT)
    found = []
    for line in "\n".join(written).splitlines():
        calls = re.findall(r"(?:^|\| )\s*(muster preflight [^|]*)", line)
        found += [shlex.split(call)[1:] for call in calls]
    return found


def test_every_command_is_understood() -> None:
    assert len(commands()) >= 5
    for words in commands():
        assert parser().parse_args(words).command == "preflight", words


def test_the_world_is_all_that_a_judgement_reads() -> None:
    (script,) = BLOCKS["sh"]
    kinds = " ".join(re.findall(r"for kind in (.*?)\ndo", script.replace("\\\n", " "), re.DOTALL)).split()
    read = {*reader.SHARED, *reader.REFINING, *reader.REFINING_THERE, *MACHINE_GROUPS}
    read |= {api.NAMESPACES, api.NODES, api.LOCAL_QUEUES}
    assert sorted(kinds) == sorted(f"{r.plural}.{r.group}" if r.group else r.plural for r in read)
    for name in (KUEUE_CONFIG, AUTOSCALER_STATUS):
        assert f"-n {name.namespace} configmap {name.name} " in script


def test_the_workflow_runs_on_pull_requests() -> None:
    # YAML 1.1 reads the key "on" as true.
    assert (WORKFLOW.get("on") or WORKFLOW[True])["pull_request"]["paths"]


def test_the_example_is_what_is_printed(muster: Muster, write: Write, world: str) -> None:
    write("manifests/jobs.yaml", gang("train"), jobset("huge", 3))
    folder = write("manifests/other.yaml", *(service(f"s{number}") for number in range(40))).rsplit("/", 1)[0]
    ran = muster("preflight", "-f", folder, "--with", world)
    assert f"$ muster preflight -f manifests/ --with world/\n{ran.out}{ran.err}$ echo $?\n{ran.code}\n```" in TEXT
