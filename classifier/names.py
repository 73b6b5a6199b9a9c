"""What can be the name of an object: no URL path is made of any other text; and what Kueue names after a job. Pure.

Kubernetes: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, IsDNS1123Subdomain and IsDNS1123Label;
looser in where dots may stand, which no path minds.
"""

import hashlib
import re
from typing import Final

_OBJECT: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def names_object(text: str) -> bool:
    """At most 253 of lower case letters, digits, ``-`` and ``.``."""
    return _OBJECT.fullmatch(text) is not None


def names_namespace(text: str) -> bool:
    """At most 63 of lower case letters, digits and ``-``."""
    return _NAMESPACE.fullmatch(text) is not None


#: The longest name of a Workload, and that of Kueue's gate ShortWorkloadNames.
_WORKLOAD_NAMES: Final = (253, 63)
_DIGITS: Final = 5


def workload_names(owner: str, uid: str, kind: str, group: str) -> frozenset[str]:
    """What Kueue may call the Workload of a job: by its configuration one or the other, mostly the same.

    Not of elastic jobs, whose Workloads have a further part in their digest (Kueue:
    pkg/controller/jobframework/workload_names.go; reference/kueue.md §4.1).
    """
    told = "\n".join((kind, group, owner, uid)).encode()
    digest = hashlib.sha1(told, usedforsecurity=False).hexdigest()[:_DIGITS]
    stem = f"{kind.lower()}-{owner}"
    return frozenset(f"{stem[: limit - _DIGITS - 1]}-{digest}" for limit in _WORKLOAD_NAMES)
