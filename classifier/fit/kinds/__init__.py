"""Job kinds and their gangs: one small file a kind, entered in ``PODSETS``.

The next kind (JobSet, RayJob, TrainJob, ... of design §4) is a file beside ``job.py`` with a function from the object
to its podsets, and one line here; its view is in ``classifier/state/kinds``. Counts equal those of the Workload Kueue
makes (reference/kueue.md §4.7). A kind of several podsets also needs the heterogeneous packing of
reference/capacity.md §3.7 in ``pack.py``.
"""

from collections.abc import Callable
from typing import Any, Final

from classifier import api
from classifier.fit.gang import Podset
from classifier.fit.kinds.job import job_podsets

#: Each raises GangError on what the API server would refuse.
PODSETS: Final[dict[api.Resource, Callable[[Any], list[Podset]]]] = {api.JOBS: job_podsets}
