"""judge: one object in one world, to one verdict."""

from classifier.fit.verdict import LINE_PREFIX, Outcome, Verdict
from classifier.fit.world import World
from classifier.objects import Meta


def judge(obj: Meta, world: World, now: int) -> Verdict:
    """Whether the gang of ``obj`` can ever run in ``world``. Pure; raises on no object. ``now`` in ms."""
    del world, now
    reason = f"{obj.kind} is no kind that is judged"
    return Verdict(outcome=Outcome.SKIPPED, line=f"{LINE_PREFIX}skipped: {reason}", reason=reason)
