"""Builds the programs of the control plane once per machine and keeps them in a per-user cache.

One folder per tools module, keyed by its ``go.mod``, its ``go.sum``, the flags and the Go version. Every program is
built beside its place and renamed into it: an interrupted build leaves whole programs and goes on where it stopped.
"""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from e2e.controlplane import toolchain
from e2e.controlplane.processes import DIES_WITH_US
from e2e.controlplane.toolchain import Go, Say, ToolchainError

HERE: Final = Path(__file__).parent


class BuildError(Exception):
    """A program could not be built, or a module's folder not be had; the text carries what Go said."""


class Tool(NamedTuple):
    """A program, its package, and the tools module (a folder below this one) that pins its version."""

    package: str
    module: str = "."
    tags: str = ""


#: In the order of a cold build: what shares most with the next comes first.
TOOLS: Final = {
    "etcd": Tool("go.etcd.io/etcd/server/v3"),
    "kube-apiserver": Tool("k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": Tool("k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": Tool("k8s.io/kubernetes/cmd/kube-scheduler"),
    "kueue": Tool("sigs.k8s.io/kueue/cmd/kueue"),
    "kwok": Tool("sigs.k8s.io/kwok/cmd/kwok"),
    "jobset": Tool("sigs.k8s.io/jobset"),
    "trainer": Tool("github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"),
    "kubectl": Tool("k8s.io/kubernetes/cmd/kubectl"),
    "helm": Tool("helm.sh/helm/v4/cmd/helm", "helm"),
    "promtool": Tool("github.com/prometheus/prometheus/cmd/promtool", "promtool", "remove_all_sd"),
}
#: What a cluster runs; the rest is built when it is asked for.
CONTROL_PLANE: Final = tuple(TOOLS)[:8]


def say_on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def cache() -> Path:
    """``$XDG_CACHE_HOME/muster/controlplane``, by default below ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "muster" / "controlplane"


def kubernetes_version(go_mod: str) -> str:
    """``v1.36.3``: the version of k8s.io/kubernetes that a ``go.mod`` requires. Raises :class:`BuildError`."""
    match = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", go_mod, re.MULTILINE)
    if not match:
        raise BuildError("go.mod does not require k8s.io/kubernetes")
    return match[1]


def linker_flags(module: str) -> str:
    """Without the version a client sees ``v0.0.0`` and reads features from it (reference/controlplane.md)."""
    if module != ".":
        return "-s -w"
    version = kubernetes_version((HERE / "go.mod").read_text())
    major, minor, _ = version.removeprefix("v").split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in values.items())])


def key(module: str, go: Go) -> str:
    """The name of a module's folder in the cache: changes with everything that changes its programs."""
    digest = hashlib.sha256()
    for part in (
        (HERE / module / "go.mod").read_bytes(),
        (HERE / module / "go.sum").read_bytes(),
        linker_flags(module).encode(),
        go.version.encode(),
    ):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:16]


@contextmanager
def locked(path: Path, say: Say) -> Iterator[None]:
    """Holds the file's lock; says so when another run holds it and waits. A holder that dies lets it go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another run is building ({path.parent}): waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure(names: Sequence[str] = CONTROL_PLANE, *, say: Say = say_on_stderr) -> dict[str, Path]:
    """The programs, built where they are missing. Raises :class:`BuildError` or :class:`ToolchainError`."""
    unknown = [name for name in names if name not in TOOLS]
    if unknown:
        raise BuildError(f"no such program: {', '.join(unknown)}; there are {', '.join(TOOLS)}")
    go = toolchain.find(cache(), say)
    programs = {name: _folder(TOOLS[name].module, go) / "bin" / name for name in names}
    for module in {TOOLS[name].module: None for name in names}:
        mine = {name: path for name, path in programs.items() if TOOLS[name].module == module}
        if not all(path.exists() for path in mine.values()):
            with locked(_folder(module, go) / "lock", say):
                # Whoever held the lock before us may have built them.
                _build(go, {name: path for name, path in mine.items() if not path.exists()}, say)
    return programs


def tool(name: str) -> Path:
    """One program, for example ``tool("helm")``."""
    return ensure([name])[name]


def _folder(module: str, go: Go) -> Path:
    return cache() / (key(module, go) if module == "." else f"{module}-{key(module, go)}")


def _build(go: Go, missing: dict[str, Path], say: Say) -> None:
    if len(missing) >= len(CONTROL_PLANE):
        say(f"building the control plane with {go.version}, once: about ten minutes on two cores")
    for count, (name, target) in enumerate(missing.items(), 1):
        say(f"  [{count}/{len(missing)}] building {name} ...")
        started = time.monotonic()
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(f".{name}.*"):
            leftover.unlink()
        partial = target.with_name(f".{name}.{os.getpid()}")
        spec = TOOLS[name]
        command = [*DIES_WITH_US, str(os.getpid()), str(go.program), "build", "-trimpath", "-buildvcs=false"]
        command += ["-ldflags", linker_flags(spec.module)]
        command += ["-tags", spec.tags] if spec.tags else []
        try:
            done = subprocess.run(
                [*command, "-o", str(partial), spec.package],
                cwd=HERE / spec.module,
                env=toolchain.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise BuildError(f"go build {spec.package} failed:\n" + "\n".join(done.stdout.splitlines()[-30:]))
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)
        say(f"  [{count}/{len(missing)}] {name}: {time.monotonic() - started:.0f} s, {target.stat().st_size >> 20} MB")


def module_folders(modules: Sequence[str], *, say: Say = say_on_stderr) -> dict[str, Path]:
    """Where the sources of these modules lie, in the versions of ``go.mod``; downloaded where missing."""
    go = toolchain.find(cache(), say)
    done = subprocess.run(
        [str(go.program), "mod", "download", "-json", *modules],
        cwd=HERE,
        env=toolchain.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    folders: dict[str, Path] = {}
    decoder, text = json.JSONDecoder(), done.stdout.strip()
    while text:
        entry, end = decoder.raw_decode(text)
        text = text[end:].lstrip()
        if entry.get("Error"):
            raise BuildError(f"cannot download {entry.get('Path')}: {entry['Error']}")
        folders[entry["Path"]] = Path(entry["Dir"])
    missing = [module for module in modules if module not in folders]
    if done.returncode != 0 or missing:
        raise BuildError(f"go mod download {' '.join(missing)} failed:\n{done.stderr.strip()}")
    return folders


__all__ = [
    "CONTROL_PLANE",
    "TOOLS",
    "BuildError",
    "Tool",
    "ToolchainError",
    "cache",
    "ensure",
    "module_folders",
    "tool",
]
