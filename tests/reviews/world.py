"""Where random objects are reviewed: one profile with everything it can ask of the webhook, in memory."""

from functools import cache
from typing import Final

import msgspec

from classifier.cluster.servertime import ServerTime
from classifier.fit import World
from classifier.fit.gang import Runtimes
from classifier.objects import CapacityProfile, Meta, TrainingRuntime, WorkloadLabel
from classifier.policy import Policies, profiles_for
from e2e import kinds as samples
from e2e import trainjobs
from tests.unit.webhook import builders
from tests.unit.webhook.builders import Object
from webhook.decide import Reviewer
from webhook.metrics import Metrics
from webhook.snapshot import View

NAMESPACE: Final = "team"
QUEUE: Final = "gpu"
LABEL: Final = WorkloadLabel(key="capacity.example.com/topology", value="same-rack")


def profile() -> Object:
    made = builders.profile(timeout="30m")
    made["spec"]["admission"]["countOnPods"] = True
    made["spec"]["topology"] = {"workloadLabel": {"key": LABEL.key, "value": LABEL.value}}
    return made


@cache
def world() -> World:
    made = builders.world(profiles=[profile()])
    runtime = msgspec.convert(trainjobs.runtime(samples.RUNTIME, NAMESPACE), TrainingRuntime)
    made.runtimes = Runtimes(namespaced={runtime.key: runtime})
    return made


class Clock(ServerTime):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.at = builders.NOW

    def now(self) -> int:
        return self.at


class Views:
    """The one world, for every job."""

    async def view(self, namespace: str, queue: str, obj: Meta | None = None, *, surely: bool = False) -> View:
        here = world()
        local_queue = here.local_queues.get(f"{namespace}/{queue}")
        cluster_queue = here.cluster_queues.get(local_queue.cluster_queue) if local_queue else None
        profiles: tuple[CapacityProfile, ...] = profiles_for(cluster_queue, here.profiles)
        return View(here, Policies(local_queue, cluster_queue, profiles, here.namespaces.get(namespace)))


class Groups:
    """No pod group was let in before."""

    async def formed(self, namespace: str, name: str) -> bool:
        return False


class Decisions:
    """The two decisions, without a server."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.metrics = Metrics()
        self.reviewer = Reviewer(Views(), Groups(), self.clock, self.metrics)
