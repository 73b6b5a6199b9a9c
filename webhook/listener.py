"""Accepts the connections of reviews, and holds no more of them than there is memory for.

Anybody in the cluster may connect, and until the handshake is over nobody has said who asks; each costs 0.3 MiB all the
same. Beyond the limit the one goes that is missed least (:meth:`Reviews.least_missed`), never one whose review is being
answered. Where all are, the next wait to be accepted.
"""

import asyncio
import errno
import logging
import socket
import ssl
from contextlib import suppress
from typing import Final

from webhook.connection import Connection, Reviews

log = logging.getLogger(__name__)

#: Connections at once: twice what five API servers keep idle (25 each, client-go's idleConnsPerHost); 80 MiB.
CONNECTIONS: Final = 256
#: Connections that wait to be accepted: more at once than API servers keep idle in all.
BACKLOG: Final = 128
#: Seconds for a TLS handshake, and for its end.
HANDSHAKE: Final = 10.0
#: Seconds until it is looked again whether there is room: here, and in a system that has none.
AGAIN: Final = 0.05
LATER: Final = 1.0

#: The system has no room for another; there may be some in a moment.
_FULL: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Listener:
    def __init__(self, reviews: Reviews, context: ssl.SSLContext) -> None:
        self._reviews, self._context = reviews, context
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        #: Those that shake hands, the oldest first, and what keeps each going.
        self._coming: dict[Connection, socket.socket] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._again: asyncio.TimerHandle | None = None

    def open(self, address: str, port: int) -> None:
        """Listen on an IP address. Raises OSError when the port cannot be had."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port), family=family, backlog=BACKLOG)
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket.fileno(), self._accept)

    def close(self) -> None:
        """Accept nobody from now on; who still shakes hands has asked for nothing."""
        if self._socket is None:
            return
        if self._again is not None:
            self._again.cancel()
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self._socket = None
        for one in [one for one in self._coming if one not in self._reviews.open]:
            self._turn_away(one)

    def _accept(self) -> None:
        """The one that waits for longest: the loop calls again while there are others."""
        assert self._socket is not None
        if not self._has_room():
            self._rest(AGAIN)
            return
        try:
            accepted, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if error.errno not in _FULL:
                raise
            log.error("no connection can be accepted: %s", error)
            self._rest(LATER)
            return
        accepted.setblocking(False)
        connection = self._reviews()
        self._coming[connection] = accepted
        task = self._loop.create_task(self._greet(connection, accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _greet(self, connection: Connection, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE,
                ssl_shutdown_timeout=HANDSHAKE,
            )
        except OSError as error:
            # Whoever it was has asked for nothing. The traceback's frames hold the error and 0.3 MiB of TLS: a cycle,
            # which the collector finds long after a flood has filled the memory.
            error.__traceback__ = None
            log.debug("a handshake failed: %s", error)
        finally:
            self._coming.pop(connection, None)

    def _rest(self, seconds: float) -> None:
        """Who comes meanwhile waits."""
        assert self._socket is not None
        self._loop.remove_reader(self._socket.fileno())
        self._again = self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        assert self._socket is not None
        self._loop.add_reader(self._socket.fileno(), self._accept)

    # --- room -------------------------------------------------------------------------------------------------------

    def _has_room(self) -> bool:
        """Whether one more may come, be it for another that goes."""
        if len(self._coming) + len(self._reviews.open) < CONNECTIONS:
            return True
        coming = [one for one in self._coming if one not in self._reviews.open]
        if len(coming) + len(self._reviews.open) < CONNECTIONS:
            return True
        gone = self._reviews.least_missed(coming, CONNECTIONS)
        if gone is None:
            return False
        if gone in self._reviews.open:
            gone.abort()
        else:
            self._turn_away(gone)
        return True

    def _turn_away(self, connection: Connection) -> None:
        """Its handshake fails at once."""
        accepted = self._coming.pop(connection)
        with suppress(OSError):  # it has gone by itself
            accepted.shutdown(socket.SHUT_RDWR)
