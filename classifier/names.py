"""What can be the name of an object: no URL path is made of any other text. Pure.

Kubernetes: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, IsDNS1123Subdomain and IsDNS1123Label;
looser in where dots may stand, which no path minds.
"""

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
