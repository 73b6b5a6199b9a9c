"""What a process takes, from /proc (proc(5)): time and memory."""

import os
import time
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
MIB: Final = 1 << 20


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads (proc_pid_stat(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def age(pid: int) -> float:
    """Seconds since a process was started (field 22 of the same: ticks since the machine was)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / _TICKS


def memory(pid: int, *, peak: bool = False) -> float:
    """Resident memory in MiB, now or at its peak."""
    key = "VmHWM:" if peak else "VmRSS:"
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024 / MIB
    raise ProcessLookupError(f"process {pid} has no {key}")
