"""Devices of drivers that make ResourceSlices, asked for as extended resources: no node lists them, and pods get them.

Since Kubernetes 1.36 kube-scheduler finds a DeviceClass for a resource that a node has none of
(pkg/scheduler/framework/plugins/noderesources/fit.go shouldDelegateResourceToDRA).
"""

from classifier import api
from classifier.fit import Outcome, judge
from e2e import builders, view
from e2e.builders import Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.oracle.objects import decode, world_in
from e2e.wait import eventually

RESOURCE_API = "resource.k8s.io/v1"
DRIVER = "devices.example.com"


def device_class(name: str, resource: str) -> Document:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"extendedResourceName": resource, "selectors": [selector]}
    return {"apiVersion": RESOURCE_API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def resource_slice(node: str, devices: int) -> Document:
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"device-{number}"} for number in range(devices)],
    }
    return {"apiVersion": RESOURCE_API, "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


async def test_a_gang_runs_on_devices_that_no_node_lists(cluster: Cluster, queues: Queues) -> None:
    resource = f"example.com/{queues.flavor}"
    node = f"{queues.flavor}-0"
    queue = builders.cluster_queue(queues.cluster_queue, {queues.flavor: {"cpu": 1000, resource: 1000}})
    pool = builders.pool("devicepool", queues, max_nodes=1, allocatable={})
    pool["node"]["allocatableComplete"] = True
    made = [
        device_class(queues.flavor, resource),
        builders.node(node, queues.node_labels, {}),
        resource_slice(node, 2),
        queue,
    ]
    told = builders.profile(queues.cluster_queue, queues.flavor, [pool], closed=True, preflight="Enforce")
    flavor = builders.flavor(queues.flavor, queues.node_labels)
    try:
        await cluster.applier.apply(made)
        gang = builders.job("train", queues, requests={resource: 1})
        await cluster.admin.request("POST", api.JOBS.path(queues.namespace), body=gang)

        async def placed() -> bool:
            pods = await view.every(cluster.admin, api.PODS, queues.namespace)
            return [pod["spec"].get("nodeName") for pod in pods] == [node, node]

        await eventually(placed, what="both pods stand on the node")
        namespace = builders.namespace(queues.namespace)
        world = world_in([namespace, builders.local_queue(queues), *made, flavor, told])
        assert judge(decode(gang), world, 0).outcome is not Outcome.NEVER_FITS
        known = world_in([namespace, builders.local_queue(queues), queue, flavor, told])
        assert judge(decode(gang), known, 0).outcome is Outcome.NEVER_FITS  # without the class nobody would place it
    finally:
        await cluster.applier.delete(made[:3])
