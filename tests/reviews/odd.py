"""Reviews that no API server would send, or only of objects it has not validated yet. A seed makes one."""

import copy
import json
from random import Random
from typing import Any, Final

from e2e.builders import Document
from tests.reviews.objects import KINDS, made

_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**31, 2**63, -(2**64), 10**40),
    *("", "x", "0", "1e400", "9" * 5000, "é\u2028\x00", "~1/~0", "../..", "NaN", "1" + "0" * 30 + "Ki"),
    *([], {}, [None], [[]], {"": None}, {"spec": {"containers": [None]}}, {"metadata": {"labels": []}}),
)
_KEYS: Final = (
    *("", "spec", "metadata", "template", "labels", "annotations", "containers", "resources", "limits", "requests"),
    *("replicas", "parallelism", "podSets", "components", "ownerReferences", "status", "x" * 300),
)
_OPERATIONS: Final = ("CREATE", "CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE", "CONNECT", "")


def body(seed: int) -> bytes:
    """The body of a review: an object with up to five faults, now and then a torn or deeply nested one."""
    random = Random(seed)
    review = _review(random)
    raw = json.dumps(review).encode()
    if random.random() < 0.05:
        raw = _torn(raw, random)
    elif random.random() < 0.01:
        deep = b"[" * 3000 + b"]" * 3000 if random.random() < 0.5 else b'{"spec":' * 2000 + b"1" + b"}" * 2000
        raw = raw.replace(b'"spec":', b'"spec":' + deep + b',"x":', 1)
    return raw


def _review(random: Random) -> Document:
    kind = random.choice(tuple(KINDS.values()))
    obj: Any = made(kind, random)
    operation = random.choice(_OPERATIONS)
    old = json.loads(json.dumps(obj)) if operation == "UPDATE" else None
    faults = random.choice((0, 0, 1, 1, 2, 5))
    for _ in range(faults):
        damage(obj, random)
    resource = random.choice(tuple(KINDS.values())).resource if random.random() < 0.05 else kind.resource
    request: Document = {
        "uid": f"uid-{random.randrange(10**6)}",
        "kind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "operation": operation,
        "namespace": "team",
        "userInfo": {"username": "alice"},
        "object": random.choice((None, [], "x", 3)) if random.random() < 0.02 else obj,
        "oldObject": old,
        "dryRun": random.random() < 0.2,
        "subResource": random.choice(("", "", "", "status", "scale")),
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    if random.random() < 0.03:
        damage(review, random)
    return review


def damage(value: Any, random: Random) -> None:
    """One place of it, at any depth: another value, nothing, or one more key."""
    while isinstance(value, dict | list) and value:
        key: Any = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.85:
            value = inner
            continue
        how = random.random()
        if how < 0.7:
            value[key] = copy.deepcopy(random.choice(_VALUES))
        elif how < 0.85:
            del value[key]
        elif isinstance(value, dict):
            value[random.choice(_KEYS)] = copy.deepcopy(random.choice(_VALUES))
        return


def _torn(raw: bytes, random: Random) -> bytes:
    at = random.randrange(len(raw))
    match random.randrange(4):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :]
        case 2:
            return raw[:at] + random.randbytes(8) + raw[at:]
        case _:
            return random.randbytes(random.randrange(64))
