"""What administrators and live nodes say of a world."""

from collections.abc import Iterator
from typing import Any

from classifier.fit import World
from tests.builders import (
    Builder,
    ClusterQueueBuilder,
    check,
    cluster_queue,
    cohort,
    flavor,
    local_queue,
    node,
    profile,
    topology,
    world,
)
from tests.soundness.submit import show
from tests.soundness.truth import BLOCK, BLOCK_OF, HOST, LEVELS, OWN, RACK, Branch, Case, Flavor, Pool

Json = dict[str, Any]

#: What a declaration that lags behind is short of.
_STEP = {"cpu": 500, "memory": 512}


def told(case: Case) -> World:
    topologies = [topology("default", *LEVELS)] if any(one.topology for one in case.flavors) else []
    checks = [check()] if case.provisioned else []
    profiles = [_profile(case, one) for one in case.flavors if one.told]
    flavors = [_flavor(one) for one in case.flavors]
    return world(local_queue(), *_tree(case), *flavors, *profiles, *topologies, *checks, *_live(case))


def _tree(case: Case) -> Iterator[Builder[Any]]:
    for branch in case.branches:
        built: Builder[Any] = cohort(branch.name) if branch.cohort else cluster_queue(branch.name)
        if branch.parent is not None:
            built.spec["parentName" if branch.cohort else "cohortName"] = branch.parent
        built.spec["resourceGroups"] = [_group(branch, *group) for group in case.groups]
        if branch.name == OWN and case.provisioned:
            assert isinstance(built, ClusterQueueBuilder)
            built.checks("capacity")
        yield built


def _group(branch: Branch, covered: tuple[str, ...], flavors: tuple[str, ...]) -> Json:
    made = []
    for name in flavors:
        resources = []
        for resource in covered:
            quota = branch.quotas[name, resource]
            one = {"name": resource, "nominalQuota": show(resource, quota.nominal)}
            one |= {"borrowingLimit": show(resource, quota.borrowing)} if quota.borrowing is not None else {}
            one |= {"lendingLimit": show(resource, quota.lending)} if quota.lending is not None else {}
            resources.append(one)
        made.append({"name": name, "resources": resources})
    return {"coveredResources": list(covered), "flavors": made}


def _flavor(one: Flavor) -> Builder[Any]:
    built = flavor(one.name).node_labels(**one.labels)
    for key in one.taints:
        built.taint(key)
    for key in one.tolerates:
        built.tolerate(key=key, operator="Exists")
    if one.topology:
        built.spec["topologyName"] = "default"
    return built


def _profile(case: Case, one: Flavor) -> Builder[Any]:
    built = profile(one.name, one.name).closed(one.closed).mode(one.mode)
    if one.topology:
        built.spec["topology"] = {"nodeLabel": RACK}
    for pool in case.pools:
        if one.name not in pool.declared:
            continue
        offers = {
            name: show(name, max(0, _shown(pool, name, amount) - pool.understated * _STEP.get(name, 1)))
            for name, amount in pool.offers.items()
            if name in pool.resources or (pool.all_resources and name != "pods")
        }
        fewer = 1 if pool.understated and len(pool.live) == pool.nodes else 0
        built.pool(
            pool.name,
            pool.nodes - fewer,
            offers,
            labels={"pool": pool.name},
            allocatableComplete=pool.all_resources,
            labelsComplete=pool.all_labels,
            taints=[{"key": key, "effect": "NoSchedule"} for key in pool.taints],
        )
        said: Json = built.spec["pools"][-1]
        if pool.daemons:
            said["node"]["daemonSetReserve"] = {"cpu": show("cpu", pool.daemons)}
        if pool.tells_labels or pool.all_labels:
            said["node"]["labels"] = _labels(case, pool)
        if pool.racks and pool.tells_racks:
            said["domains"] = [{"name": name, "maxNodes": nodes} for name, nodes in pool.racks]
    return built


def _shown(pool: Pool, resource: str, amount: int) -> int:
    """A node shows what its daemons will take as well."""
    return amount + (pool.daemons if resource == "cpu" else 0)


def _labels(case: Case, pool: Pool) -> dict[str, str]:
    found = dict(pool.labels)
    for name in pool.flavors:
        found |= case.flavor(name).labels
    return found


def _live(case: Case) -> Iterator[Builder[Any]]:
    for pool in case.pools:
        for at, rack in enumerate(pool.live):
            name = f"{pool.name}-{at}"
            labels = {**_labels(case, pool), "pool": pool.name, HOST: name}
            if rack:
                labels |= {RACK: rack, BLOCK: BLOCK_OF[rack]}
            built = node(name, **labels)
            built.allocatable({name: show(name, _shown(pool, name, amount)) for name, amount in pool.offers.items()})
            if pool.taints:
                built.spec["taints"] = [{"key": key, "effect": "NoSchedule"} for key in pool.taints]
            yield built
