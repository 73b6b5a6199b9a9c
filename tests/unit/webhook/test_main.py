"""The process: its exit codes, its one-line reasons, its end on SIGTERM."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import aiohttp

from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.conftest import Eventually
from webhook.settings import Settings


async def start(kubeconfig: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "webhook.main",
        *arguments,
        env={"KUBECONFIG": str(kubeconfig), "POD_NAMESPACE": "muster-system", "PATH": ""},
        stderr=asyncio.subprocess.PIPE,
    )


async def test_wrong_arguments_are_all_named_and_exit_2(tmp_path: Path) -> None:
    process = await start(tmp_path / "none", "--port=x", "--drain=-1s")
    _, err = await process.communicate()
    assert process.returncode == 2
    assert err.decode().splitlines() == [
        "muster-webhook: --port: 'x' is not a port (1 to 65535)",
        "muster-webhook: --drain: '-1s' is not a positive duration",
    ]


async def test_without_a_cluster_it_says_so_and_exits_1(tmp_path: Path) -> None:
    process = await start(tmp_path / "none")
    _, err = await process.communicate()
    assert process.returncode == 1
    line = err.decode().splitlines()[-1]
    assert json.loads(line)["msg"].startswith("cannot start: there is no kubeconfig ")


async def test_a_port_in_use_is_a_reason_and_exits_1(apiserver: ApiServer, tmp_path: Path, settings: Settings) -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, settings.bind_address, settings.port)
    process = await start(
        tmp_path / "kubeconfig",
        f"--port={settings.port}",
        f"--metrics-port={settings.metrics_port}",
        f"--bind-address={settings.bind_address}",
    )
    _, err = await process.communicate()
    taken.close()
    assert process.returncode == 1
    assert "address already in use" in json.loads(err.decode().splitlines()[-1])["msg"].lower()


async def test_it_gets_ready_and_drains_on_sigterm(
    apiserver: ApiServer, tmp_path: Path, settings: Settings, eventually: Eventually
) -> None:
    process = await start(
        tmp_path / "kubeconfig",
        f"--port={settings.port}",
        f"--metrics-port={settings.metrics_port}",
        f"--bind-address={settings.bind_address}",
        "--drain=1s",
    )
    url = f"http://{settings.bind_address}:{settings.metrics_port}/readyz"
    async with aiohttp.ClientSession() as session:

        async def status() -> int:
            try:
                async with session.get(url) as answer:
                    return answer.status
            except aiohttp.ClientConnectionError:
                return 0

        async def is_ready() -> bool:
            return await status() == 200

        async def is_stopping() -> bool:
            return await status() == 503

        await eventually(is_ready)
        process.send_signal(signal.SIGTERM)
        await eventually(is_stopping)
    _, err = await process.communicate()
    assert process.returncode == 0
    lines = [json.loads(line) for line in err.decode().splitlines()]
    assert [line["msg"] for line in lines if line["logger"] == "webhook"] == ["started", "stopped"]
