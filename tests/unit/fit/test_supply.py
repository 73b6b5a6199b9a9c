"""What is worked out once for a world: never older than the world, and the same as if it were worked out each time."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier import api
from classifier.fit import Outcome, Supply, Verdict, World, judge
from classifier.fit.facts.fact import SCAN_INTERVAL, PoolFacts
from classifier.objects import Node
from tests.builders import (
    GPU,
    GPU_NODE,
    NodeBuilder,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    local_queue,
    namespace,
    node,
    profile,
)
from tests.unit.fit.gangs import gang, part

NEVER, UNKNOWN, FITS, GROWS = Outcome.NEVER_FITS, Outcome.UNKNOWN, Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP


def gpus(pods: int, world: World, each: int = 8) -> Verdict:
    return judge(job().queue("gpu").pods(pods).gpus(each).done(), world, now=0)


def member(name: str = "a", pool: str = "gpupool") -> NodeBuilder:
    return node(name, agentpool=pool)


def more_nodes(world: World) -> None:
    world.nodes = [member(name).done() for name in "abc"]


def larger_maximum(world: World) -> None:
    world.profiles = [gpu_profile().pool("more", 1, labels={"agentpool": "gpupool"}).done()]


def another_flavor(world: World) -> None:
    """Its nodes are others: those of the profile's pools are none of them."""
    world.flavors = {"a100-scale": flavor().node_labels(agentpool="other").done()}


def a_larger_node_of_the_same_name(world: World) -> None:
    world.nodes = [member("a").allocatable({**GPU_NODE, GPU: "16"}).done()]


@pytest.mark.parametrize(
    ("change", "pods", "each", "before", "after"),
    [
        (more_nodes, 3, 8, NEVER, FITS),
        (larger_maximum, 3, 8, NEVER, GROWS),
        (another_flavor, 3, 8, NEVER, Outcome.MISCONFIGURED),
        (a_larger_node_of_the_same_name, 1, 16, NEVER, UNKNOWN),
    ],
)
def test_a_change_is_seen_at_once(
    change: Callable[[World], None], pods: int, each: int, before: Outcome, after: Outcome
) -> None:
    world = gpu_world(member("a"))
    assert gpus(pods, world, each).outcome is before
    change(world)
    assert gpus(pods, world, each).outcome is after


def test_a_node_gone_is_gone() -> None:
    world = gpu_world(*(member(name) for name in "abc"))
    assert gpus(3, world).outcome is FITS
    world.nodes = (world.nodes or [])[:2]
    assert gpus(3, world).outcome is NEVER
    world.nodes = None
    assert gpus(2, world).outcome is GROWS


def test_worlds_that_share_what_was_worked_out_do_not_mix() -> None:
    """The webhook hands it from one view to the next."""
    shared = Supply()
    small, large = gpu_world(), gpu_world(*(member(name) for name in "abc"))
    small.supply = large.supply = shared
    for _ in range(2):
        assert gpus(3, small).outcome is NEVER
        assert gpus(3, large).outcome is FITS


def test_a_node_looked_at_ahead_is_not_in_the_world_yet() -> None:
    for readable in (True, False):
        world = gpu_world()
        world.nodes = [] if readable else None
        for name in "abc":
            world.supply.look(member(name).done())
        assert gpus(3, world).outcome is NEVER


@dataclass(frozen=True)
class Stray:
    """A node of the flavor outside every pool: what it visibly has is the truth."""

    gpus: int
    cpu: int
    rack: str | None
    ready: bool
    tainted: bool

    def takes(self, cpu: int, gpus: int, rack: str | None) -> int:
        if rack is not None and self.rack != rack:
            return 0
        return min(10, self.cpu // cpu, self.gpus // gpus if gpus else 10)

    def built(self, name: str) -> NodeBuilder:
        one = node(name, sku="gpu", **({"rack": self.rack} if self.rack else {})).ready(self.ready)
        if self.tainted:
            one.spec["taints"] = [{"key": "sku", "effect": "NoSchedule"}]
        return one.allocatable({"cpu": self.cpu, GPU: self.gpus, "pods": 10})


racks = st.sampled_from([None, "r1", "r2"])
strays = st.builds(
    Stray,
    gpus=st.integers(0, 3),
    cpu=st.sampled_from([8, 9, 63, 64, 65, 66]),
    rack=racks,
    ready=st.booleans(),
    tainted=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(strays, max_size=8), st.integers(1, 12), st.sampled_from([8, 9, 33, 64]), st.integers(0, 3), racks)
def test_nodes_taken_together_promise_no_more_and_rule_out_no_more_than_they_have(
    drawn: list[Stray], pods: int, cpu: int, devices: int, rack: str | None
) -> None:
    """Nodes that differ by little are judged as one pool: the true room must lie between its two figures."""
    told = profile().closed().mode("Enforce").pool("elsewhere", 0)
    live = [stray.built(f"n{i}") for i, stray in enumerate(drawn)]
    asks = job().queue("gpu").pods(pods).requests({"cpu": cpu, GPU: devices})
    if rack:
        asks.pod_spec(nodeSelector={"rack": rack})
    outcome = judge(asks.done(), gpu_world(flavor().node_labels(sku="gpu"), *live, profile=told), now=0).outcome
    if outcome is NEVER:
        assert sum(stray.takes(cpu, devices, rack) for stray in drawn) < pods
    if outcome in (FITS, GROWS):
        assert sum(stray.takes(cpu, devices, rack) for stray in drawn if not stray.tainted) >= pods


@pytest.mark.parametrize(("pods", "outcome"), [(1, UNKNOWN), (2, UNKNOWN), (3, NEVER)])
def test_the_larger_of_two_alike_counts_in_a_proof_the_smaller_in_a_promise(pods: int, outcome: Outcome) -> None:
    told = profile().closed().mode("Enforce").pool("elsewhere", 0)
    live = [node(name, sku="gpu").allocatable({"cpu": cpu, "pods": 110}) for name, cpu in (("a", 64), ("b", 65))]
    cluster = gpu_world(flavor().node_labels(sku="gpu"), *live, profile=told)
    asks = job().queue("gpu").pods(pods)
    assert judge(asks.requests({"cpu": 65}).done(), cluster, now=0).outcome is outcome
    assert judge(asks.requests({"cpu": 64}).done(), cluster, now=0).outcome is (NEVER if pods > 2 else FITS)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abcdefgh"), strays, max_size=8), min_size=1, max_size=4), st.data())
def test_what_is_brought_up_to_date_is_what_would_be_worked_out_anew(
    states: list[dict[str, Stray]], data: st.DataObject
) -> None:
    """One world after the other, by nodes that come, go and change: the same verdicts, word for word."""
    told = profile().closed().mode("Enforce").pool("pool", 1, labels={"rack": "r1"})
    kept = gpu_world(flavor().node_labels(sku="gpu"), profile=told)
    built: dict[tuple[str, Stray], Node] = {}
    for state in states:
        for name, stray in state.items():
            built.setdefault((name, stray), stray.built(name).done())
        kept.nodes = [built[name, stray] for name, stray in state.items()]
        for one in data.draw(st.lists(st.sampled_from(kept.nodes))) if kept.nodes else []:
            kept.supply.look(one)
        for pods in (1, 3, 9):
            anew = gpu_world(flavor().node_labels(sku="gpu"), profile=told)
            anew.nodes = list(reversed(kept.nodes))
            assert gpus(pods, kept, 1) == gpus(pods, anew, 1)


def without(key: str) -> dict[str, object]:
    """A pod's affinity for nodes that lack a label; each key is another way to tell live nodes apart."""
    terms = [{"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_what_is_kept_is_forgotten_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools of live nodes are made anew for each way to tell them apart; what was kept speaks of others."""
    monkeypatch.setattr("classifier.fit.supplied.supply._KEPT", 24)
    monkeypatch.setattr("classifier.fit.supplied.supply._COUNTED", 1)
    world = gpu_world(
        node("stray", accelerator="a100").allocatable(GPU_NODE).ready(),
        flavor().node_labels(accelerator="a100"),
        profile=profile().closed().mode("Enforce").pool(labels={"agentpool": "gpupool"}),
    )
    for turn in range(64):
        judge(job().queue("gpu").gpus(1).pod_spec(affinity=without(f"key-{turn}")).done(), world, 0)
        pair = gang(part("a", 1, {"cpu": f"{turn}m", GPU: "1"}), part("b", 1, {GPU: "1"}))
        assert judge(pair, world, 0).outcome in (FITS, GROWS), turn


def test_what_is_kept_of_many_shapes_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifier.fit.supplied.supply._KEPT", 100)
    monkeypatch.setattr("classifier.fit.supplied.supply._COUNTED", 1)
    world = gpu_world()
    most = 0
    for turn in range(100):
        judge(gang(part("a", 1, {"cpu": f"{turn}m"}), part("b", 1, {GPU: "1"})), world, 0)
        most = max(most, sum(map(len, world.at(0)._sorts.values())))
    assert most < 200


def test_what_is_kept_of_long_words_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has looked yet at what the mutating review is asked about: a selector may have megabytes."""
    monkeypatch.setattr("classifier.fit.supplied.supply._HEAVIEST", 20_000)
    world = gpu_world()
    most = 0
    for turn in range(20):
        judge(job().queue("gpu").gpus(1).pod_spec(nodeSelector={"key": f"{turn}" + 3000 * "x"}).done(), world, 0)
        most = max(most, len(world.supply._kept.of(("readings", "gpu-a100"))))
    assert most == 4


def test_what_is_kept_of_one_gang_of_long_words_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each note makes another verdict of it, and what an author asks for in vain is a note."""
    monkeypatch.setattr("classifier.fit.supplied.supply._HEAVIEST", 10_000)
    world = gpu_world()
    long = job().queue("gpu").gpus(1).pod_spec(nodeSelector={"agentpool": 3000 * "x"})
    most = 0
    for turn in range(20):
        verdict = judge(long.annotate(api.PREFLIGHT_MODE, f"r{turn}").done(), world, 0)
        assert len(verdict.line) > 3000
        most = max(most, sum(map(len, world.supply._kept.of(("verdicts", "gpu-a100")).values())))
    assert most == 2


def test_of_verdicts_only_those_of_the_newest_facts_are_kept() -> None:
    """A webhook judges all day long, and each second its facts are older."""
    world = gpu_world()
    world.observed_at = 0
    for second in range(50):
        for gpus in (1, 4, 8):
            judge(job().queue("gpu").gpus(gpus).done(), world, second * 1000)
    kept = world.supply._kept.of(("verdicts", "gpu-a100"))
    assert {age: len(verdicts) for age, verdicts in kept.items()} == {49: 3}


def test_nodes_that_change_leave_nothing_behind_that_is_asked_for_its_age() -> None:
    """A pool without a maximum of its own is bounded by what an autoscaler says while that is fresh."""
    asked = 0

    class Watched(PoolFacts):
        def fresh(self, now: int, scan_interval: int = SCAN_INTERVAL) -> bool:
            nonlocal asked
            asked += 1
            return super().fresh(now, scan_interval)

    world = gpu_world(profile=profile().closed().mode("Enforce").pool(max_nodes=None))
    told = (world.profiles[0].spec.pools or [])[0]
    counted = []
    for turn in range(20):
        world.nodes = [member().allocatable({**GPU_NODE, "cpu": f"{90 + turn}"}).done()]
        if turn == 0:
            gpus(1, world)
            sources = world.supply._sources
            assert sources is not None
            sources._kept[id(told)] = told, (Watched("Node group/x", max_nodes=3, binds=True),)
            continue
        asked = 0
        gpus(1, world)
        counted.append(asked)
    assert max(counted[2:]) == counted[1]


def test_what_is_forgotten_is_gone_at_once() -> None:
    """Megabytes may be in it, and a garbage collector counts objects."""
    world = gpu_world()
    gpus(1, world)
    kept = weakref.ref(world.supply._kept)
    gc.disable()
    try:
        world.nodes = []
        gpus(1, world)
        assert kept() is None
    finally:
        gc.enable()


def test_gangs_that_differ_in_nothing_placement_reads_are_kept_once() -> None:
    """Job controllers put a name of their own on every template."""
    world = gpu_world()
    counted = []
    for name in ("one", "two", "three"):
        labels = {"batch.kubernetes.io/job-name": name}
        judge(job(name).queue("gpu").gpus(1).template_metadata(labels=labels).done(), world, 0)
        counted.append(sum(map(len, world.at(0)._sorts.values())))
    assert len(set(counted)) == 1


def test_a_node_that_comes_leaves_quota_as_it_was_added_up() -> None:
    world = gpu_world()
    before = world.quota
    world.nodes = [member().done()]
    assert world.quota is before
    world.cohorts = {}
    assert world.quota is not before
    before, world.unread = world.quota, frozenset([api.COHORTS])
    assert world.quota is not before


def test_a_gang_judged_again_hears_what_its_queue_and_namespace_say_now() -> None:
    """Both live in containers that change under a world."""
    here = gpu_world()
    assert (gpus(3, here).denied, gpus(3, here).warnings) == (True, [])
    here.local_queues["team/gpu"] = local_queue().stopped().done()
    stopped = gpus(2, here)
    assert stopped.warnings == ["LocalQueue team/gpu is not active: LocalQueueStopped"]
    here.local_queues["team/gpu"] = local_queue().done()
    assert gpus(2, here).warnings == []
    here.namespaces["team"] = namespace().annotate(api.PREFLIGHT_MODE, "Warn").done()
    assert not gpus(3, here).denied
    here.namespaces["team"] = namespace().done()
    assert gpus(3, here).denied


def test_a_gang_judged_again_names_the_age_of_what_it_is_judged_by_now() -> None:
    here = gpu_world()
    here.observed_at = 0
    gang_ = job().queue("gpu").pods(3).gpus(8).done()
    ages = [judge(gang_, here, now).pod_sets[0].age_seconds for now in (0, 5_000, 90_000)]
    assert ages == [0, 5, 90]
