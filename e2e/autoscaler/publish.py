"""Keeps the status ConfigMap in kube-system, as long as the autoscaler runs."""

import time
from collections.abc import Sequence
from typing import Final

from classifier.api import Resource
from classifier.cluster.client import APPLY_PATCH, ApiError, Client
from classifier.instant import format_instant
from e2e.autoscaler.conditions import FIELD_MANAGER
from e2e.autoscaler.status import LAST_UPDATED, GroupState, render

CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
NAMESPACE: Final = "kube-system"
#: Seconds between two writings of an unchanged status.
INTERVAL: Final = 1.0


class StatusConfigMap:
    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self._at = 0.0
        self._states: Sequence[GroupState] | None = None

    async def publish(self, states: Sequence[GroupState]) -> None:
        """Write it when something changed, and now and then so that it is fresh."""
        if states == self._states and time.monotonic() - self._at < INTERVAL:
            return
        now = self._client.time.now()
        await self._client.request(
            "PATCH",
            CONFIG_MAPS.path(NAMESPACE, self._name),
            params={"fieldManager": FIELD_MANAGER, "force": "true"},
            body={
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self._name, "annotations": {LAST_UPDATED: format_instant(now)}},
                "data": {"status": render(states, now)},
            },
            content_type=APPLY_PATCH,
        )
        self._at, self._states = time.monotonic(), list(states)

    async def remove(self) -> None:
        try:
            await self._client.request("DELETE", CONFIG_MAPS.path(NAMESPACE, self._name))
        except ApiError as error:
            if not error.missing:
                raise
