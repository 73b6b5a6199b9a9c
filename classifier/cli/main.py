"""``muster``: what a gang job is doing and why, whether it can ever run, and what needs attention."""

import asyncio
import io
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from classifier.cli import audit, explain, preflight, status
from classifier.cli.errors import CliError, Exit
from classifier.cli.options import Parser
from classifier.cli.output import warn
from classifier.cluster.client import ApiError, ClientError, Unreachable
from classifier.cluster.files import FileError

DESCRIPTION = "What a gang job is doing and why, what it waits for, whether it can ever run, and what needs attention."
EPILOG = """exit codes: 0 fits, fine, explained, started or succeeded; 1 cannot reach or read; 2 usage; 3 never fits, or
the audit found something; 4 unknown; 5 misconfigured; status -w: 6 admission timed out, 7 failed, 8 deleted"""


def parser() -> Parser:
    # As a plugin of kubectl it is called by a name that nobody types.
    prog = "kubectl muster" if Path(sys.argv[0]).stem == "kubectl-muster" else "muster"
    top = Parser(prog=prog, description=DESCRIPTION, epilog=EPILOG)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (status, explain, preflight, audit):
        module.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code; argparse exits by itself on usage errors (2) and ``--help`` (0)."""
    # What the libraries log is for daemons; people get one line on stderr.
    logging.getLogger().addHandler(logging.NullHandler())
    top = parser()
    arguments, unknown = top.parse_known_args(argv)
    if unknown:
        # By the subcommand's name: its options are another's unknown ones.
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without ✓ gets a "?" rather than nothing at all.
            stream.reconfigure(errors="replace")
    try:
        code: int = asyncio.run(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except (CliError, FileError, ClientError, ApiError) as error:
        return _failed(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (``| head``): nothing left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE


def _failed(error: Exception) -> int:
    text = " ".join(str(error).split())
    if isinstance(error, ApiError):
        remedy = {
            401: "log in again, or choose another --context",
            403: "ask for the right, or use --as",
            410: "the list was too long to be read in time: try again",
            429: "it has too much to do: try again in a moment",
        }
        text = f"the API server refused: {text}"
        if error.status in remedy:
            text = f"{text}; {remedy[error.status]}"
    elif isinstance(error, Unreachable):
        text = f"{text}; is the cluster up, and is this the right --context?"
    warn(text)
    return error.code if isinstance(error, CliError) else Exit.UNREADABLE


if __name__ == "__main__":
    sys.exit(main())
