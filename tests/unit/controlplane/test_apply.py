"""CRDs count as applied when discovery lists them, in every version they serve."""

import json
from typing import cast

import pytest

from classifier.cluster.client import ApiError, Client
from e2e.controlplane.apply import Applier
from e2e.controlplane.manifests import Document

CRD: Document = {
    "metadata": {"name": "rayjobs.ray.io"},
    "spec": {
        "group": "ray.io",
        "names": {"plural": "rayjobs"},
        "versions": [
            {"name": "v1", "served": True},
            {"name": "v1alpha1", "served": True},
            {"name": "v0", "served": False},
        ],
    },
}


class Discovery:
    """Lists a group's resources later than one would like: first there is no group, then it lacks the kind."""

    def __init__(self, after: int) -> None:
        self.asked: list[str] = []
        self._after = after

    async def request(self, method: str, path: str) -> bytes:
        self.asked.append(path)
        count = self.asked.count(path)
        if count < self._after:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        names = ["rayjobs"] if count > self._after else ["rayclusters"]
        return json.dumps({"resources": [{"name": name} for name in names]}).encode()


async def test_all_served_versions_are_waited_for() -> None:
    discovery = Discovery(after=2)
    await Applier(cast(Client, discovery)).served([CRD])
    assert sorted(discovery.asked) == ["/apis/ray.io/v1"] * 3 + ["/apis/ray.io/v1alpha1"] * 3


async def test_what_never_comes_is_named() -> None:
    with pytest.raises(TimeoutError, match=r"ray\.io/v1alpha1.*rayjobs"):
        await Applier(cast(Client, Discovery(after=1000))).served([CRD], timeout=0)
