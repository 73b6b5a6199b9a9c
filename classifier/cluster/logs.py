"""Logs of the daemons: one JSON object a line on stderr.

Text that came from a user goes into fields (``extra={...}``), never into the message's format: a name with a newline
or a quote stays one value of one line.
"""

import json
import logging
import sys
from typing import Final, TextIO

from classifier.instant import format_instant

LEVELS: Final = ("debug", "info", "warning", "error")

_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """``{"ts", "level", "logger", "msg", ...extra, "error"}``; ``error`` is the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": format_instant(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        line.update((k, v) for k, v in record.__dict__.items() if k not in _STANDARD and k not in line)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send lines of ``level`` (one of :data:`LEVELS`) and above to ``stream`` (stderr), replacing other handlers."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # One line for each scrape and each probe says nothing.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
