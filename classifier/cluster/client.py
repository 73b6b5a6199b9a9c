"""One connection to the API server: credentials from the official client, raw bodies for everything else.

Only this module touches the ``kubernetes`` package, and only for configuration, credentials and the pooled session
(reference/engineering.md §A.4).
"""

import math
import os
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import aiohttp
import msgspec
import yaml
from kubernetes.aio import client as official
from kubernetes.aio import config as official_config

from classifier.cluster.renewal import Renewal, complaints
from classifier.cluster.servertime import ServerTime

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

#: Total time of one request, seconds. Longer than any sane answer, shorter than a lease.
REQUEST_TIMEOUT: Final = 10.0


T = TypeVar("T")

#: The one thing an API server says in plain text: of a path, and so of a kind, that it does not serve
#: (Go: net/http, NotFound).
_NO_SUCH_PATH: Final = b"404 page not found"

#: What the official client raises over a configuration it cannot read: besides its own, whatever it stumbles over.
_BAD_CONFIGURATION: Final = (
    official_config.ConfigException,
    yaml.YAMLError,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
)


class ClientError(Exception):
    """The cluster cannot be reached or its configuration cannot be read; the text says what to do."""


class ApiError(Exception):
    """The answer is an error: ``status`` is the HTTP code, ``reason`` the Status reason.

    ``foreign``: not in the API server's words. Something before it has answered, and knows nothing of what it keeps.
    """

    def __init__(
        self, status: int, reason: str, message: str, retry_after: float | None = None, *, foreign: bool = False
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        #: Seconds the server asked us to stay away, if it did.
        self.retry_after = retry_after
        self.foreign = foreign

    @property
    def conflict(self) -> bool:
        return self.status == 409

    @property
    def missing(self) -> bool:
        """The API server says that there is no such object, or no such kind."""
        return self.status == 404 and not self.foreign

    @property
    def unserved(self) -> bool:
        """A path the server does not know, rather than an object it does not have."""
        return self.missing and self.reason != "NotFound"


class Unreachable(ClientError):
    """No answer: refused, reset, timed out. Whether a write happened is **unknown**."""


class _Status(msgspec.Struct):
    kind: str | None = None
    reason: str | None = None
    message: str | None = None


def _error(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    try:
        decoded = msgspec.json.decode(body, type=_Status)
        reason, message, foreign = decoded.reason or "", decoded.message or "", decoded.kind != "Status"
    except (msgspec.MsgspecError, RecursionError):
        # A proxy's HTML, a torn body: keep the beginning of it for the log.
        reason, message, foreign = "", body[:200].decode("utf-8", "replace"), body.strip() != _NO_SUCH_PATH
    return ApiError(status, reason, _one_line(message) or "no message", _retry_after(headers), foreign=foreign)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to stay away. A date (proxies write them) counts from the answer's own ``Date``: the same clock."""
    text = headers.get("Retry-After", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            asked, answered = parsedate_to_datetime(text), parsedate_to_datetime(headers.get("Date", ""))
            seconds = (asked - answered).total_seconds()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _misread(error: Exception) -> str:
    """Why a configuration cannot be read. What Python says of a value of another type tells nobody anything."""
    return "it is no kubeconfig" if isinstance(error, (TypeError, AttributeError)) else _one_line(str(error))


def _why(error: Exception) -> str:
    """An error of the connection, in one line, with what to do about it."""
    text = _one_line(str(error)) or type(error).__name__
    if isinstance(error, aiohttp.ClientSSLError):
        return (
            f"{text}; TLS failed: check that server and certificate-authority of the kubeconfig belong to this cluster"
        )
    return text


def _any_exists(paths: str) -> bool:
    """Of files in a row, as the KUBECONFIG variable has them."""
    return any(Path(path).expanduser().exists() for path in paths.split(os.pathsep) if path)


def _keepalive_socket(address: tuple[Any, ...]) -> socket.socket:
    """TCP keepalive at 15 s: a watch whose peer vanished must end."""
    family, type_, proto, _, _ = address
    sock = socket.socket(family=family, type=type_, proto=proto)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return sock


class Client:
    """Requests by path; answers as bytes. Every answer's ``Date`` feeds :attr:`time`."""

    def __init__(self, api: official.ApiClient, user_agent: str) -> None:
        self._api = api
        self._headers = {"User-Agent": user_agent, "Accept": JSON}
        #: A header that is sent once for each group.
        self._groups: list[tuple[str, str]] = []
        self.time = ServerTime()

    @classmethod
    async def connect(
        cls,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        user_agent: str = "muster",
        impersonate: str | None = None,
        groups: Sequence[str] = (),
        compressed: bool = True,
    ) -> Self:
        """Credentials in kubectl's order: ``--kubeconfig``, ``KUBECONFIG``, the ServiceAccount, ``~/.kube``.

        Not ``compressed`` is for who lists tens of thousands of objects over a short way: of what a page of 500
        Workloads takes the API server, half is compressing it.
        """
        configuration = official.Configuration()
        named = kubeconfig or os.environ.get("KUBECONFIG")
        in_cluster = not named and context is None and "KUBERNETES_SERVICE_HOST" in os.environ
        path = named or str(Path.home() / ".kube" / "config")
        if not in_cluster and not _any_exists(path):
            raise ClientError(f"there is no kubeconfig {path}; name one with --kubeconfig or the KUBECONFIG variable")
        try:
            if in_cluster:
                path = "the pod's ServiceAccount"
                official_config.load_incluster_config(client_configuration=configuration)
            else:
                with complaints() as said:
                    loader = await official_config.load_kube_config(
                        config_file=path, context=context, client_configuration=configuration, persist_config=False
                    )
                if said:
                    raise ClientError(
                        f"no credentials by the kubeconfig {path}: {said[-1]}; the command that it names under exec "
                        "has to be installed, and you may have to log in with it"
                    )
                configuration.refresh_api_key_hook = Renewal(loader)
            # Reads the certificates that the configuration names.
            api = official.ApiClient(configuration)
        except _BAD_CONFIGURATION as error:
            raise ClientError(
                f"cannot read the cluster's configuration from {path}: {_misread(error)}; "
                "name another with --kubeconfig or the KUBECONFIG variable"
            ) from error
        rest = api.rest_client
        # Python's NO_PROXY does not know CIDR ranges: inside a cluster never go through a proxy.
        connector = aiohttp.TCPConnector(
            limit=configuration.connection_pool_maxsize, ssl=rest.ssl_context, socket_factory=_keepalive_socket
        )
        rest.pool_manager = aiohttp.ClientSession(
            connector=connector, trust_env=not in_cluster, read_bufsize=2**21, auto_decompress=True
        )
        client = cls(api, user_agent)
        if not compressed:
            client._headers["Accept-Encoding"] = "identity"
        if impersonate:
            client._headers["Impersonate-User"] = impersonate
            client._groups = [("Impersonate-Group", group) for group in groups]
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._api.close()

    @property
    def host(self) -> str:
        return str(self._api.configuration.host)

    async def _prepare(
        self, path: str, content_type: str | None
    ) -> tuple[aiohttp.ClientSession, str, list[tuple[str, str]], dict[str, Any]]:
        configuration = self._api.configuration
        headers = dict(self._headers)
        try:
            settings = await configuration.auth_settings()
        except _BAD_CONFIGURATION as error:
            # A token that is read again now and then: it may be there the next time.
            raise Unreachable(f"no credentials for {self.host}: {_one_line(str(error))}") from error
        for setting in settings.values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"].strip()
        if content_type:
            headers["Content-Type"] = content_type
        extra: dict[str, Any] = {}
        if configuration.tls_server_name:
            extra["server_hostname"] = configuration.tls_server_name
        if configuration.proxy:
            extra["proxy"] = configuration.proxy
        session: aiohttp.ClientSession = self._api.rest_client.pool_manager
        return session, configuration.host + path, [*headers.items(), *self._groups], extra

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        timeout: float = REQUEST_TIMEOUT,
    ) -> bytes:
        """One request; the body of a 2xx answer.

        ``body`` is encoded as JSON unless it is bytes already. Raises :class:`ApiError` for any other answer and
        :class:`Unreachable` when there was none, in which case a write may or may not have happened.
        """
        data: bytes | None = None
        if body is not None:
            data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        session, url, headers, extra = await self._prepare(path, content_type if data is not None else None)
        sent = time.monotonic()
        try:
            async with session.request(
                method,
                url,
                params=params,
                data=data,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=timeout),
                # API servers do not redirect; a login page must not pass for an answer.
                allow_redirects=False,
                **extra,
            ) as response:
                if not 200 <= response.status < 300:
                    raise await self._failed(response, sent)
                self._observe(response, sent)
                return await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(f"no answer from {self.host} to {method} {path}: {_why(error)}") from error

    async def _failed(self, response: aiohttp.ClientResponse, sent: float) -> ApiError:
        error = _error(response.status, response.headers, await response.read())
        # What a proxy says carries the proxy's clock.
        if not error.foreign:
            self._observe(response, sent)
        return error

    def _observe(self, response: aiohttp.ClientResponse, sent: float) -> None:
        if response.content_type == JSON:
            self.time.observe(response.headers.get("Date"), time.monotonic() - sent)

    async def get(self, path: str, type_: type[T], *, params: Mapping[str, str] | None = None) -> T:
        """One object, decoded. A 404 raises :class:`ApiError` with ``missing``; what is no such object ClientError."""
        body = await self.request("GET", path, params=params)
        try:
            return msgspec.json.decode(body, type=type_)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ClientError(f"the answer of {self.host} to GET {path} cannot be read: {error}") from error

    @asynccontextmanager
    async def stream(self, path: str, *, params: Mapping[str, str], idle: float) -> AsyncIterator[aiohttp.StreamReader]:
        """A watch's body. ``idle`` seconds without a byte end it with :class:`Unreachable`."""
        session, url, headers, extra = await self._prepare(path, None)
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_TIMEOUT, sock_read=idle)
        sent = time.monotonic()
        try:
            async with session.get(
                url, params=params, headers=headers, timeout=limits, allow_redirects=False, **extra
            ) as response:
                if response.status != 200:
                    raise await self._failed(response, sent)
                self._observe(response, sent)
                yield response.content
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(f"the watch of {path} broke: {_why(error)}") from error
