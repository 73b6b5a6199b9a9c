"""Exit codes (design §8), and the error that carries one."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    UNREADABLE = 1
    USAGE = 2
    FOUND = 3
    UNKNOWN = 4
    MISCONFIGURED = 5
    TIMED_OUT = 6
    FAILED = 7
    DELETED = 8
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class CliError(Exception):
    """One line for stderr that says what is wrong and what to do."""

    def __init__(self, message: str, code: Exit = Exit.UNREADABLE) -> None:
        super().__init__(message)
        self.code = code


class UsageError(CliError):
    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.USAGE)
