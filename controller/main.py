"""The controller process: arguments, connection, probes, signals."""

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence

from classifier.cluster import logs, probes
from classifier.cluster.client import Client, ClientError
from controller.engine import Engine
from controller.metrics import Metrics
from controller.settings import Settings, parse

log = logging.getLogger("controller")


async def serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    metrics = Metrics()
    connection = Client.connect(kubeconfig=settings.kubeconfig, user_agent="muster-controller", compressed=False)
    async with await connection as client:
        engine = Engine(client, settings, metrics)
        runner = await probes.serve(
            settings.bind_address, settings.metrics_port, metrics.registry, lambda: engine.not_ready
        )
        work = asyncio.create_task(engine.run(), name="engine")
        stopping = asyncio.create_task(stop.wait(), name="signals")
        try:
            await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
            log.info("stopping")
        finally:
            engine.close()
            for task in (work, stopping):
                task.cancel()
            await asyncio.gather(work, stopping, return_exceptions=True)
            await runner.cleanup()


def main(argv: Sequence[str] | None = None) -> None:
    """Console script ``muster-controller``. Exit status 1: cannot start, with the reason in one line."""
    settings = parse(argv)
    logs.configure(settings.log_level)
    try:
        asyncio.run(serve(settings))
    except (ClientError, OSError) as error:
        sys.exit(f"muster-controller: {error}")
