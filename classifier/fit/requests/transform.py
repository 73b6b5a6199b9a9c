"""What Kueue's configuration makes of a pod's requests before it looks at quota.

Kueue: ``pkg/workload/workload.go`` dropExcludedResources and applyResourceTransformations.
"""

from fractions import Fraction
from math import ceil

from classifier.fit.requests.amounts import Nanos
from classifier.fit.requests.config import KueueConfig
from classifier.quantity import NANO


def transformed(requests: Nanos, config: KueueConfig) -> Nanos:
    """Exact, and then rounded up to nano-units, which no further rounding up can tell from the exact figure."""
    prefixes = config.exclude_prefixes
    kept = {
        resource: nanos for resource, nanos in requests.items() if not prefixes or not resource.startswith(prefixes)
    }
    if config.transformations.keys().isdisjoint(kept):
        return kept
    retained: dict[str, Fraction] = {}
    generated: dict[str, Fraction] = {}
    for resource, nanos in kept.items():
        rule = config.transformations.get(resource)
        if rule is None or not rule.replace:
            retained[resource] = Fraction(nanos)
        if rule is None:
            continue
        multiplier = kept.get(rule.multiply_by)
        value = Fraction(nanos) if multiplier is None else Fraction(nanos * multiplier, NANO)
        for output, factor in rule.outputs.items():
            generated[output] = generated.get(output, Fraction()) + value * Fraction(factor, NANO)
    # A negative factor is an allowance against other outputs of the same name, never against what was asked for.
    for output, value in generated.items():
        retained[output] = retained.get(output, Fraction()) + max(value, Fraction())
    return {resource: ceil(value) for resource, value in retained.items()}
