"""The connection's configuration: whom it trusts, where credentials come from, what is said when it is odd."""

import asyncio
import base64
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trustme
import yaml
from aiohttp import web

from classifier.cluster.client import Client, ClientError, Unreachable
from classifier.objects import Job
from tests.apiserver import ApiServer, serving
from tests.unit.cluster.conftest import write_kubeconfig

JOBS = "/apis/batch/v1/namespaces/team/jobs"
DATE = "Sun, 29 Nov 2026 10:00:00 GMT"


# --- TLS --------------------------------------------------------------------------------------------------------


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def secure(authority: trustme.CA) -> AsyncIterator[ApiServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with serving(ApiServer(), context) as server:
        yield server


def in_base64(authority: trustme.CA) -> str:
    return base64.b64encode(authority.cert_pem.bytes()).decode()


async def test_a_server_its_authority_vouches_for(secure: ApiServer, authority: trustme.CA, tmp_path: Path) -> None:
    secure.put(f"{JOBS}/a")
    config = write_kubeconfig(tmp_path / "config", secure.url, certificate_authority_data=in_base64(authority))
    async with await Client.connect(kubeconfig=config) as client:
        assert (await client.get(f"{JOBS}/a", Job)).name == "a"


@pytest.mark.parametrize("problem", ["another authority", "another name"])
async def test_a_server_nobody_vouches_for(
    secure: ApiServer, authority: trustme.CA, tmp_path: Path, problem: str
) -> None:
    settings = {"certificate_authority_data": in_base64(trustme.CA() if problem == "another authority" else authority)}
    if problem == "another name":
        settings["tls_server_name"] = "kubernetes.example.com"
    config = write_kubeconfig(tmp_path / "config", secure.url, **settings)
    async with await Client.connect(kubeconfig=config) as client:
        with pytest.raises(Unreachable, match="certificate-authority of the kubeconfig") as caught:
            await client.request("GET", JOBS)
    assert "\n" not in str(caught.value)
    assert secure.calls == []


# --- configuration ----------------------------------------------------------------------------------------------

GARBAGE = {
    "not YAML": "a: [unclosed",
    "a tab": "\tcontexts: []",
    "a list": "- 1\n- 2\n",
    "a text": "hello",
    "empty": "",
    "no contexts": "apiVersion: v1\nkind: Config\n",
    "an unknown context": "current-context: away\ncontexts: []\nclusters: []\nusers: []\n",
    "a context of nothing": "current-context: here\ncontexts: [{name: here}]\nclusters: []\nusers: []\n",
    "contexts that are none": "current-context: here\ncontexts: 7\n",
    "an authority that is none": (
        "current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority-data: '!!!'}}]\n"
        "users: [{name: u, user: {}}]\n"
    ),
    "an authority that is away": (
        "current-context: here\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: /nowhere/ca.crt}}]\n"
        "users: [{name: u, user: {}}]\n"
    ),
    "binary": "\x00\x01\x02",
}


@pytest.mark.parametrize("name", GARBAGE)
async def test_a_configuration_that_cannot_be_read_says_what_to_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / "config"
    path.write_text(GARBAGE[name])
    with pytest.raises(ClientError) as caught:
        await Client.connect(kubeconfig=str(path))
    text = str(caught.value)
    assert text.startswith(f"cannot read the cluster's configuration from {path}: ")
    assert text.endswith("name another with --kubeconfig or the KUBECONFIG variable")
    assert "\n" not in text


@pytest.mark.parametrize("name", ["empty", "a list", "a text"])
async def test_what_is_no_configuration_is_called_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / "config"
    path.write_text(GARBAGE[name])
    with pytest.raises(ClientError, match="it is no kubeconfig; name another"):
        await Client.connect(kubeconfig=str(path))


ANSWER = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": %s}'


def by_command(path: Path, server: str, *command: str) -> str:
    """A kubeconfig whose user gets a token from a command, as those of most clouds do."""
    config = yaml.safe_load(Path(write_kubeconfig(path, server)).read_text())
    (program, *arguments), version = command, "client.authentication.k8s.io/v1"
    config["users"][0]["user"] = {"exec": {"apiVersion": version, "command": program, "args": arguments}}
    path.write_text(yaml.safe_dump(config))
    return str(path)


async def test_the_command_of_a_kubeconfig_gives_the_token(server: ApiServer, tmp_path: Path) -> None:
    config = by_command(tmp_path / "config", server.url, "echo", ANSWER % '{"token": "fresh"}')
    async with await Client.connect(kubeconfig=config) as client:
        await client.request("GET", JOBS)
    assert [call.path for call in server.calls] == [JOBS]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("no-such-plugin",), "No such file or directory: 'no-such-plugin'"),
        (("sh", "-c", "echo log in first >&2; exit 1"), "process returned 1. b'log in first'"),
        (("echo", ANSWER % "{}"), "missing token or clientCertificateData"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
async def test_a_command_that_gives_none_is_told_and_nobody_is_asked_without(
    server: ApiServer, tmp_path: Path, command: tuple[str, ...], says: str
) -> None:
    config = by_command(tmp_path / "config", server.url, *command)
    with pytest.raises(ClientError) as caught:
        await Client.connect(kubeconfig=config)
    text = str(caught.value)
    assert text.startswith(f"no credentials by the kubeconfig {config}: ")
    assert says in text
    assert "the command that it names under exec has to be installed" in text
    assert "\n" not in text
    assert server.calls == []


async def test_a_configuration_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match=r"there is no kubeconfig .*/nowhere; name one with --kubeconfig"):
        await Client.connect(kubeconfig=str(tmp_path / "nowhere"))


async def test_the_variable_counts_unless_it_is_empty(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path / "elsewhere", server.url))
    async with await Client.connect() as client:
        assert client.host == server.url
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kube").mkdir()
    write_kubeconfig(tmp_path / ".kube" / "config", "https://home.example.com")
    async with await Client.connect() as client:
        assert client.host == "https://home.example.com"


#: A command that gives another token each time, and none any more once it has nothing to count in.
COUNTING = """
echo . >> {count} || exit 1
printf '%s' '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",' \\
  '"status": {{{expiry}"token": "number '$(wc -l < {count})'"}}}}'
"""
OVER = '"expirationTimestamp": "2020-01-01T00:00:00Z", '


async def tokens(server: ApiServer, config: str, count: int, between: Callable[[], object] = lambda: None) -> list[str]:
    """With which tokens requests came, twice ``count``, two at a time."""
    seen: list[str] = []

    async def note(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    server.fault = note
    async with await Client.connect(kubeconfig=config) as client:
        for _ in range(count):
            between()
            await asyncio.gather(client.request("GET", JOBS), client.request("GET", JOBS))
    return seen


def counting(tmp_path: Path, server: ApiServer, expiry: str) -> str:
    script = COUNTING.format(count=tmp_path / "count" / "runs", expiry=expiry)
    (tmp_path / "count").mkdir()
    return by_command(tmp_path / "config", server.url, "sh", "-c", script)


@pytest.mark.parametrize("expiry", ["", '"expirationTimestamp": "2999-01-01T00:00:00Z", '], ids=["no end", "far away"])
async def test_a_commands_token_is_used_while_it_is_good(server: ApiServer, tmp_path: Path, expiry: str) -> None:
    config = counting(tmp_path, server, expiry)
    assert await tokens(server, config, 3) == ["Bearer number 1"] * 6


async def test_a_commands_token_is_renewed_before_it_expires_but_not_for_every_request(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = counting(tmp_path, server, OVER)
    assert await tokens(server, config, 2) == ["Bearer number 2"] * 4
    monkeypatch.setattr("classifier.cluster.renewal.AGAIN", 0.0)
    (tmp_path / "count" / "runs").unlink()
    assert max(await tokens(server, config, 3)) == "Bearer number 7"


async def test_a_token_that_cannot_be_renewed_is_no_answer(server: ApiServer, tmp_path: Path) -> None:
    config = counting(tmp_path, server, OVER)
    with pytest.raises(Unreachable, match=r"no credentials for http://.*: exec: process returned 1"):
        await tokens(server, config, 1, between=lambda: shutil.rmtree(tmp_path / "count"))


class Token:
    """A pod's token in its file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def appear(self) -> None:
        self.path.write_text("secret\n")

    def vanish(self) -> None:
        self.path.unlink()

    def read(self) -> None:
        self.path.read_text()


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, secure: ApiServer, authority: trustme.CA) -> Token:
    """The surroundings of a pod: its token and authority, and the service's address."""
    token, ca = Token(tmp_path / "token"), tmp_path / "ca.crt"
    token.appear()
    authority.cert_pem.write_to_path(str(ca))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    host, _, port = secure.url.removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    # The loader takes no paths as arguments, and its defaults are bound at import.
    module = "kubernetes.aio.config.incluster_config"
    monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(token.path))
    monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(ca))
    return token


async def test_in_a_pod_the_service_account_is_used_and_no_proxy(
    pod: Token, secure: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    secure.put(f"{JOBS}/a")
    async with await Client.connect() as client:
        assert (await client.get(f"{JOBS}/a", Job)).name == "a"


async def test_outside_the_environments_proxy_is_used(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server plays the proxy: what goes through one arrives there whatever host it is meant for.
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    config = write_kubeconfig(tmp_path / "config", "http://kubernetes.example.com")
    async with await Client.connect(kubeconfig=config) as client:
        await client.request("GET", JOBS)
    assert [call.path for call in server.calls] == [JOBS]


async def test_a_pod_without_a_token_says_so(pod: Token) -> None:
    pod.vanish()
    with pytest.raises(ClientError, match="from the pod's ServiceAccount: Service token file does not exist"):
        await Client.connect()


async def test_a_token_that_vanishes_is_no_answer_until_it_is_back(
    pod: Token, secure: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Client.connect() as client:
        await client.request("GET", JOBS)
        hook = client._api.configuration.refresh_api_key_hook

        def expired(configuration: object) -> None:
            pod.read()
            hook(configuration)

        client._api.configuration.refresh_api_key_hook = expired
        pod.vanish()
        with pytest.raises(Unreachable, match="no credentials for https://"):
            await client.request("GET", JOBS)
        pod.appear()
        await client.request("GET", JOBS)
