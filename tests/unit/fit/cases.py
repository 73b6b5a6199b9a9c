"""What the cases of preflight share: the words for outcomes, the job of most of them, and how it is judged."""

from typing import Any

from classifier.fit import Outcome, Verdict, World, judge
from classifier.objects import Meta
from tests.builders import T0, Builder, JobBuilder, gpu_world, job

FITS, GROWS, NEVER = Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP, Outcome.NEVER_FITS
UNKNOWN, MISCONFIGURED, SKIPPED = Outcome.UNKNOWN, Outcome.MISCONFIGURED, Outcome.SKIPPED


def verdict(obj: Meta | Builder[Any], cluster: World | None = None) -> Verdict:
    built = obj.done() if isinstance(obj, Builder) else obj
    return judge(built, cluster if cluster is not None else gpu_world(), now=T0)


def train(pods: int = 1, gpus: int | str = 8) -> JobBuilder:
    return job().queue("gpu").pods(pods).gpus(gpus)
