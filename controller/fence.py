"""Whether the fence is in force, and whether it was ever breached (design §3, "Fence").

In force means: ValidatingAdmissionPolicy and Deny binding say exactly what the chart says, and have said so for a
while. All times are the API server's.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from classifier import api, fence
from classifier.cluster.client import Client
from classifier.cluster.reflector import Reflector
from classifier.fence import PolicyObject
from classifier.instant import SECOND, format_instant, instant_or_none
from classifier.objects import Workload
from controller.decide import live_decision

#: Two machines' clocks may differ by this much, ms.
CLOCK_SKEW: Final = 5 * SECOND
REMEDY: Final = "upgrade or re-install the Muster chart"


class FenceState(NamedTuple):
    """``since`` is the later of both objects' last changes, ms; ``reason`` says what to do when not in force."""

    in_force: bool
    reason: str
    since: int | None = None


def judge(policy: PolicyObject | None, binding: PolicyObject | None, name: str, now: int, settle: int) -> FenceState:
    """Judge the pair. ``settle`` is how long, in ms, it must have stood unchanged. Pure."""
    return _settled(_stands(policy, binding, name), now, settle)


def _stands(policy: PolicyObject | None, binding: PolicyObject | None, name: str) -> FenceState:
    """Of the pair alone, whenever it is asked."""
    wrong = fence.wrong(policy, binding, name)
    if wrong is not None or policy is None or binding is None:
        return FenceState(False, f"{wrong}; {REMEDY}")
    return FenceState(True, "", fence.changed(policy, binding))


def _settled(stands: FenceState, now: int, settle: int) -> FenceState:
    since = stands.since
    if since is not None and now < since + settle:
        return FenceState(False, f"changed at {format_instant(since)}; API servers may not have loaded it yet", since)
    return stands


class Fence:
    """Watches the pair. ``breached`` latches: a decision was overtaken by an admission, so nothing is trusted now."""

    def __init__(self, client: Client, name: str, settle: int, changed: Callable[[], None]) -> None:
        self.name = name
        self.settle = settle
        self.breached = False
        self._client = client
        #: The copies that were judged last, and what they say.
        self._pair: tuple[PolicyObject | None, PolicyObject | None] = None, None
        self._stands: FenceState | None = None
        selector = f"metadata.name={name}"

        def on_change(*_: object) -> None:
            changed()

        self.policies = Reflector(
            client, api.ADMISSION_POLICIES, PolicyObject, field_selector=selector, on_change=on_change
        )
        self.bindings = Reflector(
            client, api.ADMISSION_POLICY_BINDINGS, PolicyObject, field_selector=selector, on_change=on_change
        )

    def state(self) -> FenceState:
        for reflector in (self.policies, self.bindings):
            if not reflector.synced:
                return FenceState(
                    False, f"{reflector.resource.plural} cannot be read: {reflector.trouble or 'not yet'}"
                )
            if reflector.trouble:
                return FenceState(False, f"{reflector.resource.plural} cannot be followed: {reflector.trouble}")
        if self.breached:
            return FenceState(False, "a committed Workload was admitted afterwards: find out how, then restart Muster")
        pair = self.policies.objects.get(self.name), self.bindings.objects.get(self.name)
        # Asked for each Workload at each look, and it hardly ever changes.
        if self._stands is None or self._pair[0] is not pair[0] or self._pair[1] is not pair[1]:
            self._pair, self._stands = pair, _stands(*pair, self.name)
        return _settled(self._stands, self._client.time.now(), self.settle)


def overtaken(old: Workload | None, new: Workload) -> bool:
    """Whether an admission landed on a live decision: exactly what the fence forbids.

    Only a condition that turned True *under* the decision counts: quota reserved before the commit stays True until
    Kueue has stopped the job. Where no copy from after the commit is at hand (a restart, a relist), the condition's own
    time has to tell; it is another clock's, in whole seconds, so only what is clearly later counts.
    """
    marker = live_decision(new)
    if marker is None:
        return False
    for type_ in (api.QUOTA_RESERVED, api.ADMITTED):
        condition = new.condition(type_)
        if condition is None or not condition.true:
            continue
        known = old if old is not None and old.uid == new.uid else None
        if known is not None and known.is_true(type_):
            continue
        if known is not None and live_decision(known) == marker:
            return True
        if (instant_or_none(condition.last_transition_time) or 0) > marker.at + CLOCK_SKEW:
            return True
    return False
