"""``KIND/NAME`` on the command line."""

from collections.abc import Mapping, Sequence
from typing import Final

from classifier import api
from classifier.api import Resource
from classifier.cli.errors import UsageError

#: What people write for a kind, as kubectl resolves it.
KINDS: Final[Mapping[str, Resource]] = dict.fromkeys(("job", "jobs", "job.batch", "jobs.batch"), api.JOBS)


def parse_target(words: Sequence[str]) -> tuple[Resource, str]:
    """``job/train`` or ``job train``. Raises UsageError that says what can be named."""
    text = "/".join(words)
    kind, slash, name = text.partition("/")
    if not slash or not name or "/" in name:
        raise UsageError(f"{text!r} does not name one object; write for example job/train")
    resource = KINDS.get(kind.lower())
    if resource is None:
        raise UsageError(
            f"no status for kind {kind!r}; kinds: {', '.join(sorted({r.kind.lower() for r in KINDS.values()}))}"
        )
    return resource, name
