"""Label selectors, as the API server evaluates them (Kubernetes: ``apimachinery/pkg/apis/meta/v1/helpers.go``)."""

from collections.abc import Mapping
from typing import Final

from classifier.objects import Expression, LabelSelector, Namespace

#: Set by the API server on every Namespace; a file need not say it.
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def takes(selector: LabelSelector | None, namespace: Namespace) -> bool | None:
    """:func:`selects` of a namespace."""
    return selects(selector, {_NAME_LABEL: namespace.name} | (namespace.metadata.labels or {}))


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool | None:
    """Absent it selects nothing, empty everything. None for one that is not valid."""
    if selector is None:
        return False
    verdicts = [labels.get(key) == value for key, value in (selector.match_labels or {}).items()]
    for expression in selector.match_expressions or ():
        one = _meets(expression, labels)
        if one is None:
            return None
        verdicts.append(one)
    return all(verdicts)


def _meets(expression: Expression, labels: Mapping[str, str]) -> bool | None:
    present, values = expression.key in labels, expression.values or []
    match expression.operator:
        case "In" if values:
            return present and labels[expression.key] in values
        case "NotIn" if values:
            return not present or labels[expression.key] not in values
        case "Exists" if not values:
            return present
        case "DoesNotExist" if not values:
            return not present
    return None
