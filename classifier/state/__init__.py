"""What an object is doing and why: the rules of reference/classification.md §C, a module each, and the views of §E."""

from classifier.state.case import Case
from classifier.state.names import job_of, submission_of
from classifier.state.observation import (
    Cause,
    CauseKind,
    Evidence,
    Execution,
    Explanation,
    Observation,
    Ref,
    State,
)
from classifier.state.orphans import orphans
from classifier.state.ring import Ring
from classifier.state.rules import classify, explain
from classifier.state.settings import Mode, Settings

__all__ = [
    "Case",
    "Cause",
    "CauseKind",
    "Evidence",
    "Execution",
    "Explanation",
    "Mode",
    "Observation",
    "Ref",
    "Ring",
    "Settings",
    "State",
    "classify",
    "explain",
    "job_of",
    "orphans",
    "submission_of",
]
