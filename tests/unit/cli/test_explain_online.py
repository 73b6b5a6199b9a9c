"""``muster explain`` on an API server: what it reads, what it follows, and how it bears an outage."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from classifier import api
from classifier.cli.explain_watch import PATIENCE, PAUSES, Changes, shower, subscribe
from classifier.cli.main import main
from classifier.cluster.backend import Backend
from classifier.cluster.client import Client
from classifier.state import Explanation, Settings
from tests.apiserver import ApiServer, Call, answer, serving, watches
from tests.builders import T0
from tests.schemas import check_schema
from tests.unit.cluster.conftest import Pauses, write_kubeconfig
from tests.unit.state.builders import JS, NAMESPACE, TJ, WL, Told, plain, pod, ready

FAILED = "Failed=True/FailedJobs: jobset failed"


def path_of(thing: Told[Any]) -> str:
    raw = thing.raw()
    resource = next(
        r
        for r in vars(api).values()
        if isinstance(r, api.Resource) and (r.api_version, r.kind) == (raw["apiVersion"], raw["kind"])
    )
    return resource.path(raw["metadata"].get("namespace"), raw["metadata"]["name"])


def put(server: ApiServer, *things: Told[Any]) -> None:
    for thing in things:
        server.put(path_of(thing), thing.raw())


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving(ApiServer()) as server:
        yield server


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> str:
    return write_kubeconfig(tmp_path / "kubeconfig", server.url)


@pytest.fixture
async def client(kubeconfig: str) -> AsyncIterator[Client]:
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        yield client


Muster = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def muster(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> Muster:
    """Run the command beside the server."""

    async def run(*argv: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(main, [*argv, "--kubeconfig", kubeconfig, "-n", NAMESPACE])
        said = capsys.readouterr()
        return int(code), said.out, said.err

    return run


# --- one answer -------------------------------------------------------------------------------------------------


async def test_one_object(server: ApiServer, muster: Muster) -> None:
    put(server, TJ().suspend(), WL("QuotaReserved=False/WaitingForQuota: no quota"))
    code, out, err = await muster("explain", "trainjob/train-3", "-o", "json", "--now", "2026-11-29T10:00:00Z")
    assert (code, err) == (0, "")
    told = json.loads(out)
    check_schema("explain.json", told)
    assert told["cause"]["detail"] == "Workload QuotaReserved: WaitingForQuota: no quota"
    assert told["seenAt"] == "2026-11-29T10:00:00Z"
    _, lines, _ = await muster("explain", "workload/trainjob-train-3-ab12c")
    assert lines.startswith("… TrainJob ns/train-3: pending: it waits for quota\n")


async def test_a_job_with_orphans(server: ApiServer, muster: Muster) -> None:
    put(server, TJ(), JS(), JS(name="train-2").uid("js-0").owner("tj-0"))
    code, out, err = await muster("explain", "train", "--mode", "plain", "-o", "json")
    told = json.loads(out)
    check_schema("explain.json", told)
    assert (code, err) == (0, "")
    assert [one["ref"]["kind"] for one in told] == ["TrainJob", "JobSet"]


async def test_a_job_without_objects(muster: Muster) -> None:
    code, out, err = await muster("explain", "nobody")
    assert (code, out) == (0, "")
    assert err.startswith("muster: no object of job nobody exists in namespace ns; to explain one object name its kind")


async def test_an_object_that_is_not_there(muster: Muster) -> None:
    code, out, err = await muster("explain", "rayjob/none")
    assert (code, out) == (1, "")
    assert err == "muster: there is no RayJob ns/none; see kubectl get rayjobs.ray.io -n ns\n"


async def test_a_kind_the_cluster_does_not_have(server: ApiServer, muster: Muster) -> None:
    async def unknown(_: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="404 page not found\n")  # as API servers put it

    server.fault, server.faulty = unknown, lambda call: "/rayjobs" in call.path
    code, out, err = await muster("explain", "rayjob/x")
    assert (code, out) == (1, "")
    assert err == f"muster: {server.url} serves no rayjobs.ray.io of version v1, so there is no RayJob in it\n"


async def test_a_server_that_has_too_much_to_do(server: ApiServer, muster: Muster) -> None:
    server.fault = answer(429, "TooManyRequests", "please retry", Retry_After="1")
    code, _, err = await muster("explain", "train")
    assert (code, len(err.splitlines())) == (1, 1)
    assert err.endswith("it has too much to do: try again in a moment\n")


async def test_what_may_not_be_read_is_an_error_or_a_note(server: ApiServer, muster: Muster) -> None:
    put(server, TJ(), JS())
    server.fault = answer(403, "Forbidden", "no")
    server.faulty = lambda call: "/pods" in call.path
    code, out, err = await muster("explain", "trainjob/train-3", "--mode", "plain")
    assert (code, err) == (0, "muster: pods may not be read in namespace ns\n")
    assert out
    server.faulty = lambda call: True
    code, out, err = await muster("explain", "trainjob/train-3")
    assert (code, out) == (1, "")
    assert "ask for the right, or use --as" in err
    assert len(err.splitlines()) == 1


async def test_a_slow_read_says_so(server: ApiServer, muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    put(server, TJ())
    monkeypatch.setattr("classifier.cli.progress.FIRST", 0.0)
    code, out, err = await muster("explain", "trainjob/train-3", "--mode", "plain")
    assert (code, bool(out)) == (0, True)
    assert err == f"muster: still reading from {server.url} ...\n"


async def test_a_quick_read_says_nothing(server: ApiServer, muster: Muster) -> None:
    put(server, TJ())
    assert (await muster("explain", "trainjob/train-3", "--mode", "plain"))[2] == ""


# --- following --------------------------------------------------------------------------------------------------


class Terminal:
    """The command as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            return (await self.process.stdout.readline()).decode().rstrip("\n")

    async def interrupt(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            _, err = await self.process.communicate()
        return self.process.returncode or 0, err.decode()


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
async def start(kubeconfig: str) -> AsyncIterator[Callable[..., Awaitable[Terminal]]]:
    started: list[asyncio.subprocess.Process] = []

    async def run(*argv: str) -> Terminal:
        command = [sys.executable, "-m", "classifier.cli.main", *argv, "--kubeconfig", kubeconfig, "-n", NAMESPACE]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "NO_COLOR": "1"},
            # As from a terminal: a run in the background inherits that interrupts are ignored.
            preexec_fn=_interruptible,
        )
        started.append(process)
        return Terminal(process)

    yield run
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_every_change_is_a_json_line_until_ctrl_c(server: ApiServer, start: Any) -> None:
    put(server, TJ(), JS(), pod("p0").running(), ready("n1"))
    terminal = await start("explain", "train", "-w", "--mode", "plain", "-o", "json")
    first = json.loads(await terminal.line())
    check_schema("explain.json", first)
    assert (first["state"], first["cause"]["kind"]) == ("running", "none")
    await server.watched(3)
    # The pod says why, is gone, and the job ends: nobody who came later could tell.
    put(server, pod("p0").failed().exit(1))
    assert json.loads(await terminal.line())["cause"]["detail"] == "pod p0: exit code 1"
    server.remove(path_of(pod("p0")))
    put(server, TJ(FAILED))
    told = json.loads(await terminal.line())
    assert (told["state"], told["cause"]["kind"]) == ("ended", "non-zero-exit")
    # An expired stream is opened again, and nothing is said twice, forgotten or lost.
    server.end_watches()
    await server.watched(3)
    put(server, TJ(FAILED, name="train-4").uid("tj-4").labels(job_id="train", submission="4"))
    assert json.loads(await terminal.line())["ref"]["name"] == "train-4"
    assert await terminal.interrupt() == (130, "")


async def test_people_get_the_lines_again_with_their_time(server: ApiServer, start: Any) -> None:
    terminal = await start("explain", "train", "-w", "--mode", "plain")
    await server.watched(3)
    put(server, TJ(FAILED))
    when, head = await terminal.line(), await terminal.line()
    assert when.startswith("--- 20")
    assert head == "✗ TrainJob ns/train-3: ended (unknown): no known cause"
    code, err = await terminal.interrupt()
    assert code == 130
    assert err == ("muster: no object of job train exists in namespace ns so far; waiting for one, Ctrl-C ends it\n")


class Shown:
    """What a subscription printed, and its pauses."""

    def __init__(self, client: Client) -> None:
        self.pauses = Pauses()
        self.seen: list[Explanation] = []
        self.changes = Changes(self.seen.append)
        self.backend = Backend(client, NAMESPACE, Settings())
        self.task = asyncio.create_task(
            subscribe(self.backend, "train", self.changes, sleep=self.pauses.sleep, monotonic=self.pauses.monotonic)
        )

    async def until(self, count: int) -> None:
        """Wait until so many observations were shown."""
        async with asyncio.timeout(20):
            while len(self.seen) < count:  # printing has no event
                assert not self.task.done(), self.task
                await asyncio.sleep(0.005)

    @property
    def details(self) -> list[str]:
        return [explanation.observation.cause.detail for explanation in self.seen]


@pytest.fixture
async def shown(client: Client) -> AsyncIterator[Shown]:
    shown = Shown(client)
    yield shown
    shown.task.cancel()
    await asyncio.gather(shown.task, return_exceptions=True)


async def test_nothing_is_said_of_a_stream_that_opens_again(
    server: ApiServer, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    put(server, TJ().suspend())
    await shown.until(1)
    server.end_watches()
    await server.watched(4)
    put(server, TJ().suspend(), WL("QuotaReserved=False/Pending: x"))
    await shown.until(2)
    assert shown.details == ["no Workload", "Workload QuotaReserved: Pending: x"]
    assert capsys.readouterr().err == ""


async def test_an_outage_is_told_once_and_what_it_hid_is_shown(
    server: ApiServer, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    put(server, TJ().suspend())
    await shown.until(1)
    shown.pauses.stop_after(10 * PATIENCE)
    server.fault = answer(503, "ServiceUnavailable", "down for \x1b[31mmaintenance")
    server.end_watches()
    await asyncio.wait_for(shown.pauses.over.wait(), 20)
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "the stream of job train stays closed" in err
    assert "maintenance" in err
    assert "\x1b" not in err
    put(server, WL("QuotaReserved=False/Pending: x"))
    server.fault = None
    shown.pauses.go_on()
    await shown.until(2)
    assert shown.details == ["no Workload", "Workload QuotaReserved: Pending: x"]
    assert capsys.readouterr().err == ""


async def test_a_stream_that_never_opens_is_told(
    server: ApiServer, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    put(server, TJ().suspend())

    def trainjobs(call: Call) -> bool:
        return watches(call) and call.path.endswith("/trainjobs")

    server.fault, server.faulty = answer(403, "Forbidden", "may not watch"), trainjobs
    shown.pauses.stop_after(10 * PATIENCE)
    await asyncio.wait_for(shown.pauses.over.wait(), 20)
    err = capsys.readouterr().err
    assert "stays closed (the watch of trainjobs: " in err
    assert len(err.splitlines()) == 1
    assert shown.details == ["no Workload"]


async def test_a_server_that_asks_for_patience_gets_it(server: ApiServer, shown: Shown) -> None:
    put(server, TJ().suspend())
    await shown.until(1)
    shown.pauses.stop_after(10 * PATIENCE)
    server.fault = answer(429, "TooManyRequests", "please retry", Retry_After="20")
    before = len(shown.pauses.taken)
    server.end_watches()
    await asyncio.wait_for(shown.pauses.over.wait(), 20)
    # The first pause comes before the first refusal. A server that asks for more is asked again in between.
    later = shown.pauses.taken[before + 1 :]
    assert later
    assert all(pause >= PAUSES[1] for pause in later)


async def test_what_goes_is_told_once(server: ApiServer, shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    put(server, TJ().suspend(), TJ(name="train-4").uid("tj-4").suspend())
    await shown.until(2)
    for seen, name in enumerate(("train-3", "train-4"), 3):
        server.remove(path_of(TJ(name=name)))
        if name == "train-3":
            server.end_watches()  # nobody follows when it goes
        # By the time this is told it is known that the other is gone.
        put(server, TJ(name=f"train-{seen + 3}").uid(f"tj-{seen + 3}").suspend())
        await shown.until(seen)
    assert capsys.readouterr().err == "muster: TrainJob ns/train-3 is gone\nmuster: TrainJob ns/train-4 is gone\n"


def test_what_is_gone_is_forgotten_and_shown_if_it_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Explanation] = []
    changes = Changes(seen.append)
    one = plain(TJ(FAILED)).explain()
    for everything in ([one], [one], [], [one]):
        changes.whole(everything, ())
    assert seen == [one, one]
    changes.there([])
    changes.there([])
    assert capsys.readouterr().err == "muster: TrainJob ns/train-3 is gone\n" * 2
    changes.one(one)
    changes.all([], ())
    changes.all([one], ())
    assert seen == [one, one, one]


async def test_a_fixed_clock_counts_for_changes_too(server: ApiServer, start: Any) -> None:
    put(server, TJ(FAILED))
    terminal = await start("explain", "train", "-w", "-o", "json", "--now", "2026-11-29T10:00:00Z")
    assert json.loads(await terminal.line())["seenAt"] == "2026-11-29T10:00:00Z"


async def test_what_may_not_be_watched_is_told_once(
    server: ApiServer, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    put(server, TJ().suspend())
    server.fault = answer(403, "Forbidden", "no")
    server.faulty = lambda call: "/pods" in call.path
    await shown.until(1)
    put(server, WL("QuotaReserved=False/Pending: x"))
    await shown.until(2)
    err = capsys.readouterr().err.splitlines()
    assert len(err) == len(set(err))
    assert any("pods may not be" in line for line in err)


@pytest.mark.parametrize("form", ["json", "yaml", "wide", None])
def test_each_form_of_one_change(form: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    shower(form, lambda: T0)(plain(TJ(FAILED)).explain())
    out = capsys.readouterr().out
    if form == "json":
        assert len(out.splitlines()) == 1
        check_schema("explain.json", json.loads(out))
    elif form == "yaml":
        assert out.startswith("---\n")
        check_schema("explain.json", yaml.safe_load(out))
    else:
        assert out.splitlines()[0] == "--- 2026-11-29T10:00:00Z"
        assert ("uid:" in out) == (form == "wide")
