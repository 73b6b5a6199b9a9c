"""Whether a pod group was let in before: asked live, and only when one of its pods is about to be denied."""

import asyncio

import msgspec

from classifier import api
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.names import names_object
from classifier.objects import Meta


class Groups:
    """A group's Workload bears the group's name, is made when its pods are there, and stays as long as any of them
    (reference/kueue.md §4.2). Pods themselves may not be read: their environment is nobody's business."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def formed(self, namespace: str, name: str) -> bool:
        """True in doubt: then nobody is denied."""
        if not names_object(name):
            # Not validated yet by anybody: no path is made of an arbitrary text, and no Workload can be called so.
            return False
        try:
            await asyncio.create_task(self._client.get(api.WORKLOADS.path(namespace, name), Meta))
        except ApiError as error:
            return not error.missing
        except (ClientError, msgspec.MsgspecError):
            return True
        return True
