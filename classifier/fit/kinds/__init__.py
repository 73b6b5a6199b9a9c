"""Job kinds and their gangs: one small file a kind, entered in ``PODSETS``.

The next kind is a file beside ``job.py`` with a function from the object to its podsets, and one line here; its view is
in ``classifier/state/kinds``. Names and counts equal those of the Workload Kueue makes (reference/kueue.md §4.7).
"""

from collections.abc import Callable
from typing import Any, Final

from classifier import api
from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.job import job_podsets

#: Each raises GangError on what the API server would refuse, and Unresolved where the object alone does not tell.
PODSETS: Final[dict[api.Resource, Callable[[Any, Runtimes], list[Podset]]]] = {api.JOBS: job_podsets}
