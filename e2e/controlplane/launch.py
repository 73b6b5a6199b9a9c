"""``python -I -S launch.py PARENT PROGRAM ARGUMENTS...``: becomes a program that dies with the process that started it.

A test run may be ended by SIGKILL; then nobody is left to stop etcd and the others. A tiny program of its own rather
than a ``preexec_fn``, which is not safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux" and ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    # The parent may have died before we asked.
    if os.getppid() != int(parent):
        sys.exit("the process that started this one is gone")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
