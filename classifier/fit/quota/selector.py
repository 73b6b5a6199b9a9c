"""Label selectors, as the API server evaluates them (Kubernetes: ``apimachinery/pkg/apis/meta/v1/helpers.go``)."""

from collections.abc import Mapping

from classifier.objects import Expression, LabelSelector


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
