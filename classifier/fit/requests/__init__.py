"""What one pod asks for, counted twice: of a node as kube-scheduler counts, of quota as Kueue counts.

The two differ (reference/capacity.md §3.4): Kueue counts a template before the pod exists, so a LimitRange may lower
what a limit stands for, a pod-level limit counts, and its configuration leaves out or exchanges resources.
"""

from classifier.fit.requests.amounts import Amounts
from classifier.fit.requests.config import KueueConfig, Transformation, parse
from classifier.fit.requests.content import content_fault
from classifier.fit.requests.filled import filled
from classifier.fit.requests.nodes import Fraction, fraction_in, pod_requests
from classifier.fit.requests.quota import Counted, quota_requests
from classifier.fit.requests.terms import Terms, terms_for

__all__ = [
    "Amounts",
    "Counted",
    "Fraction",
    "KueueConfig",
    "Terms",
    "Transformation",
    "content_fault",
    "filled",
    "fraction_in",
    "parse",
    "pod_requests",
    "quota_requests",
    "terms_for",
]
