"""How strict preflight is for one gang: profile modes, weakened by whoever administers its queues and namespace."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from classifier import api
from classifier.fit.verdict import Mode
from classifier.fit.world import World
from classifier.objects import CapacityProfile, ClusterQueue, LocalQueue, Meta

_STRENGTH: Final[dict[str, int]] = {"Off": 0, "Warn": 1, "Enforce": 2}
_BY_STRENGTH: Final[tuple[Mode, ...]] = ("Off", "Warn", "Enforce")


class Ceiling(NamedTuple):
    """The strictest mode allowed, and which object says so (``LocalQueue/gpu``; empty: no object does)."""

    mode: Mode
    source: str


def profile_mode(profile: CapacityProfile) -> Mode:
    """Warn unless it says otherwise; what is none of the three cannot deny."""
    return _BY_STRENGTH[_STRENGTH.get(profile.spec.preflight or "Warn", 1)]


def weakest(modes: Iterable[Mode]) -> Mode:
    return min(modes, key=_STRENGTH.__getitem__, default="Warn")


def ceiling(local_queue: LocalQueue, cluster_queue: ClusterQueue, world: World) -> Ceiling:
    """The weakest ``preflight-mode`` of LocalQueue, ClusterQueue and Namespace. They never strengthen a profile."""
    found = Ceiling("Enforce", "")
    namespace = world.namespaces.get(local_queue.namespace)
    for kind, obj in (("LocalQueue", local_queue), ("ClusterQueue", cluster_queue), ("Namespace", namespace)):
        text = obj.annotation(api.PREFLIGHT_MODE) if obj is not None else None
        if obj is not None and text in _STRENGTH and _STRENGTH[text] < _STRENGTH[found.mode]:
            found = Ceiling(_BY_STRENGTH[_STRENGTH[text]], f"{kind}/{obj.name}")
    return found


def wrong_modes(local_queue: LocalQueue, cluster_queue: ClusterQueue, world: World) -> list[str]:
    """Every ``preflight-mode`` of theirs that is none of the three, and so without effect, for the user to hear of."""
    bearers: tuple[tuple[str, Meta | None], ...] = (
        (f"LocalQueue/{local_queue.name}", local_queue),
        (f"ClusterQueue/{cluster_queue.name}", cluster_queue),
        (f"Namespace/{local_queue.namespace}", world.namespaces.get(local_queue.namespace)),
    )
    return [text for name, bearer in bearers if bearer is not None and (text := wrong_mode(name, bearer)) is not None]


def wrong_mode(name: str, obj: Meta) -> str | None:
    """The same of one object."""
    text = obj.annotation(api.PREFLIGHT_MODE)
    if text is None or text in _STRENGTH:
        return None
    return f"{name}: {api.PREFLIGHT_MODE}: {text[:32]!r} is not Enforce, Warn or Off"


def asks_to_skip(obj: Meta) -> bool:
    """Break-glass: the job's own ``preflight-mode: Off``."""
    return obj.annotation(api.PREFLIGHT_MODE) == "Off"


def may_skip(obj: Meta, world: World) -> bool:
    """Whether that is honoured here: by the installation, or by ``preflight-optional: "true"`` on the Namespace."""
    namespace = world.namespaces.get(obj.namespace)
    return world.preflight_optional or (
        namespace is not None
        and "true" in (namespace.annotation(api.PREFLIGHT_OPTIONAL), namespace.label(api.PREFLIGHT_OPTIONAL))
    )
