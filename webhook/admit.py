"""What the validating review answers to a verdict. Pure.

The line of a denial is an interface (tests and the command line read it), so it is sent exactly as the verdict has it;
what a program wants to know is in ``details.causes``.
"""

from collections.abc import Sequence

import msgspec

from classifier.fit import Outcome, PodSetVerdict, Verdict
from classifier.fit.verdict import LINE_PREFIX
from webhook.review import ALLOWED, Answer, Cause, Denial


def answer(verdict: Verdict, notices: Sequence[str] = ()) -> Answer:
    """Denied where the verdict says so, else allowed with its warnings. ``notices`` are about policies, not the fit.

    Of all these only the first two reach the user: what the job's author wrote wrong comes before what others did.
    """
    if not (notices or verdict.warnings or verdict.denied):
        return ALLOWED
    own = [n for n in notices if n.startswith("job:")]
    others = [n for n in notices if not n.startswith("job:")]
    allowed = told((*own, *verdict.warnings, *others))
    if not verdict.denied:
        return allowed
    causes = tuple(_cause(p) for p in verdict.pod_sets if p.verdict is Outcome.NEVER_FITS)
    return Answer(denial=Denial(verdict.line, causes), warnings=allowed.warnings)


def pardoned(verdict: Verdict, why: str) -> Verdict:
    """The same verdict without its denial: the user hears what is wrong, and why it goes on all the same."""
    line = f"{LINE_PREFIX}{verdict.reason}: cannot fit"
    return msgspec.structs.replace(verdict, denied=False, warnings=[line, f"not denied: {why}"])


def told(notices: Sequence[str]) -> Answer:
    """Allowed, with what there is to say."""
    return Answer(warnings=tuple(f"muster: {text}" for text in notices))


def _cause(podset: PodSetVerdict) -> Cause:
    what = podset.resource or podset.binding or "capacity"
    where = podset.pool or podset.flavor
    message = f"needs {podset.needs} {what}" + (f" of {where}" if where else "") + f", at most {podset.limit}"
    if podset.source:
        message += f" ({podset.source}" + (f", {podset.age_seconds}s old" if podset.age_seconds else "") + ")"
    return Cause(reason=podset.binding or "capacity", message=message, field=f"podSets[{podset.name}]")
