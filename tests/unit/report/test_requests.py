"""Which ProvisioningRequest speaks for a capacity check: the newest of its own, by the name Kueue gives it."""

import hashlib

import msgspec
import pytest

from classifier.instant import SECOND
from classifier.objects import ProvisioningRequest, Workload
from classifier.report import report
from tests.builders import T0
from tests.unit.report.builders import (
    ACCEPTED,
    CHECK,
    RESERVED,
    admission_check,
    cluster_queue,
    condition,
    job,
    observe,
    request,
    verdict,
    workload,
)
from tests.unit.report.states import C

SPOT = f"{CHECK}-spot"
FAILED = condition("Failed", "True", "CapacityIsNotFound", "no spot capacity", 20)
PENDING = {"state": "Pending", "message": ""}


def told(*requests: ProvisioningRequest, of: Workload | None = None) -> str:
    waiting = of or workload(RESERVED, check=PENDING, others=[{"name": SPOT, **PENDING}])
    picture = observe(
        job(),
        workload=waiting,
        cluster_queue=cluster_queue(CHECK, SPOT),
        checks=dict.fromkeys((CHECK, SPOT), admission_check()),
        requests=requests,
    )
    return report(picture, verdict(), T0 + 45 * SECOND).phases[C].text


@pytest.mark.parametrize("attempt", [1, 12])
def test_the_request_of_another_check_whose_name_begins_alike_says_nothing(attempt: int) -> None:
    mine = request(ACCEPTED, attempt=attempt)
    assert told(mine, request(FAILED, check=SPOT, seconds=8)).startswith(
        "0/2 nodes of gpupool; requested 40s ago; no d"
    )


def test_nothing_is_requested_as_long_as_only_another_check_has_a_request() -> None:
    assert told(request(FAILED, check=SPOT)).startswith("0/2 nodes of gpupool; not requested yet; no deadline")


def test_the_newest_attempt_speaks() -> None:
    assert "failed" not in told(request(FAILED), request(ACCEPTED, attempt=2, seconds=30))


@pytest.mark.parametrize("length", [220, 237, 238, 239, 253])
def test_a_name_that_kueue_cuts_is_found(length: int) -> None:
    """Kueue: pkg/controller/admissionchecks/provisioning, limitObjectName."""
    waiting = workload(RESERVED, check=PENDING)
    waiting.metadata.name = "w" * length
    name = f"{waiting.name}-{CHECK}-12"
    if len(name) > 247:
        name = f"{name[:247]}-{hashlib.sha1(name.encode()).hexdigest()[:5]}"
    metadata = msgspec.structs.replace(request().metadata, name=name)
    failed = msgspec.structs.replace(request(FAILED), metadata=metadata)
    assert f"ProvisioningRequest {name} failed" in told(failed, of=waiting)
