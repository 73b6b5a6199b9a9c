"""``python -m e2e.controlplane``: a control plane for people, on loopback, without containers or root."""

import argparse
import sys

from e2e.controlplane import build, standing
from e2e.controlplane.build import BuildError
from e2e.controlplane.processes import ProgramFailed
from e2e.controlplane.standing import StandingError
from e2e.controlplane.toolchain import ToolchainError

EPILOG = """
example, with the virtual environment that make sets up:
  .venv/bin/python -m e2e.controlplane up --detach
  export KUBECONFIG=$(.venv/bin/python -m e2e.controlplane kubeconfig)
  .venv/bin/muster status job/NAME -w
  .venv/bin/python -m e2e.controlplane down
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m e2e.controlplane",
        description="A real Kubernetes control plane with Kueue and KWOK on this machine's loopback: "
        "no containers, no root. Its programs are built once, which takes about ten minutes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start it and keep it running until Ctrl-C, or until `down` with --detach")
    up.add_argument("--detach", action="store_true", help="return when it is up; `down` stops it")
    up.add_argument("--jobset", action="store_true", help="also run JobSet, and let Kueue queue it")
    up.add_argument(
        "--trainer", action="store_true", help="also run JobSet and Kubeflow Trainer, and let Kueue queue both"
    )
    up.add_argument(
        "--kinds",
        action="store_true",
        help="also install the CRDs of all other job kinds, without their operators, and let Kueue queue them and pods",
    )
    down = commands.add_parser("down", help="stop the one that `up` started")
    show = commands.add_parser("kubeconfig", help="print the path of its administrator's kubeconfig")
    status = commands.add_parser("status", help="say whether it runs, and which of its programs do")
    for command in (up, down, show, status):
        command.add_argument(
            "--folder",
            type=standing.folder_argument,
            default=standing.default_folder(),
            help="where it keeps its files; one control plane a folder (default: %(default)s)",
        )
    make = commands.add_parser("build", help="build the programs into the cache, where they are not there yet")
    make.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        help=f"default: what a control plane runs; all of: {', '.join(build.TOOLS)}",
    )
    return top


def main() -> int:
    arguments = parser().parse_args()
    try:
        match arguments.command:
            case "build":
                for name, path in build.ensure(arguments.programs or build.CONTROL_PLANE).items():
                    print(f"{name:24} {path}")
            case "up":
                also = standing.Also(jobset=arguments.jobset, trainer=arguments.trainer, kinds=arguments.kinds)
                standing.up(arguments.folder, also, detach=arguments.detach)
            case "down":
                standing.down(arguments.folder)
            case "kubeconfig":
                print(standing.kubeconfig(arguments.folder))
            case "status":
                print(standing.status(arguments.folder))
    except (BuildError, ToolchainError, ProgramFailed, StandingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
