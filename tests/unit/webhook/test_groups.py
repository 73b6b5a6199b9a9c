"""Whether a pod group was let in before: a Workload of its name tells; in doubt it was."""

import pytest
from aiohttp import web

from classifier import api
from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.conftest import Connect
from webhook.groups import Groups

PATH = api.WORKLOADS.path("team", "train")


async def test_a_group_is_formed_when_it_has_a_workload(apiserver: ApiServer, connect: Connect) -> None:
    groups = Groups(await connect())
    assert not await groups.formed("team", "train")
    apiserver.put(PATH, {"metadata": {"name": "train", "namespace": "team"}})
    assert await groups.formed("team", "train")
    assert not await groups.formed("other", "train")


@pytest.mark.parametrize("status", [403, 409, 500])
async def test_in_doubt_it_is(apiserver: ApiServer, connect: Connect, status: int) -> None:
    apiserver.fail = lambda request: web.json_response({"message": "no"}, status=status)
    assert await Groups(await connect()).formed("team", "train")


@pytest.mark.parametrize("name", ["", "..", "../../secrets/x", "a?b", "A", "a" * 300])
async def test_no_request_is_made_of_what_is_no_name(apiserver: ApiServer, connect: Connect, name: str) -> None:
    asked: list[str] = []

    async def listen(request: web.Request) -> None:
        asked.append(request.path)

    client = await connect()
    apiserver.before = listen
    assert not await Groups(client).formed("team", name)
    assert asked == []
