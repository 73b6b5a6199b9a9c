"""``muster-webhook``: put the parts together, run until SIGTERM, drain.

Exit codes: 0 stopped as asked, 1 cannot start or cannot go on (one line says why), 2 usage.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence

from classifier.cluster import logs
from classifier.cluster.client import Client, ClientError
from classifier.instant import SECOND
from webhook import tls
from webhook.authority import Authority
from webhook.decide import Reviewer
from webhook.groups import Groups
from webhook.metrics import Metrics
from webhook.server import Server
from webhook.settings import Settings, SettingsError, describe, read
from webhook.snapshot import Snapshot

log = logging.getLogger("webhook")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        settings = read(arguments, os.environ)
    except SettingsError as error:
        for problem in error.problems:
            print(f"muster-webhook: {problem}", file=sys.stderr)
        return 2
    logs.configure(settings.log_level)
    try:
        return asyncio.run(run(settings))
    except (ClientError, OSError) as error:
        log.error("cannot start: %s", error)
        return 1


async def run(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT. Raises :class:`ClientError` or OSError when it cannot start."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with await Client.connect(user_agent="muster-webhook") as client:
        metrics = Metrics()
        metrics.tasks.set_function(lambda: len(asyncio.all_tasks(loop)))
        snapshot = Snapshot(client, settings)
        context = tls.server_context(settings.tls_min_version)
        # The one certificate mode there is; another is another class with the same face.
        authority = Authority(client, settings, context)
        server = Server(
            settings,
            context,
            reviewer=Reviewer(snapshot, Groups(client), client.time, metrics),
            snapshot=snapshot,
            authority=authority,
            metrics=metrics,
        )
        # What is here by now is here to stay: a collector that walks through it holds up reviews for 30 ms.
        gc.collect()
        gc.freeze()
        await server.start()
        log.info("started", extra=describe(settings))
        work = [asyncio.create_task(snapshot.run()), asyncio.create_task(authority.run())]
        stop = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait([stop, *work], return_when=asyncio.FIRST_COMPLETED)
            failed = [part for part in work if part.done()]
            for part in failed:
                log.error("a part of the webhook ended by itself", exc_info=part.exception())
            if not failed:
                await server.drain(settings.drain / SECOND)
        finally:
            await server.stop()
            for task in (stop, *work):
                task.cancel()
            await asyncio.gather(stop, *work, return_exceptions=True)
    log.info("stopped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
