"""The controller's settings: arguments with units and defaults, checked all at once."""

import argparse
import math
import os
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from classifier import api
from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG, ConfigMapName, parse_name
from classifier.cluster.logs import LEVELS
from classifier.instant import parse_duration
from controller.cleanup import Mark, Rules, parse_mark

#: A domain and the slash that ends it.
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations are milliseconds; None means off, or the default the help text names."""

    bind_address: str
    metrics_port: int
    namespace: str
    identity: str
    lease: str
    lease_duration: int
    renew_deadline: int
    retry_period: int
    fence: str
    fence_settle: int
    notice: int | None
    recovery_grace: int
    outage_after: int
    default_timeout: int | None
    max_timeout: int | None
    #: None: nothing is ever deleted.
    cleanup: Rules | None
    rate: float
    burst: int
    workers: int
    bound_ownerless: bool
    #: The annotation by which dispatch holds a Workload that it has made inactive.
    hold: str
    kueue_config: ConfigMapName | None
    autoscaler_status: ConfigMapName | None
    preflight_optional: bool
    log_level: str
    kubeconfig: str | None


class _Problems(list[str]):
    """What is wrong with the arguments; all of it, not just the first."""

    def duration(self, flag: str, text: str) -> int | None:
        """Milliseconds of a Go duration; None for an empty text."""
        if not text:
            return None
        if text in ("0", "0s"):
            return 0
        try:
            return parse_duration(text)
        except ValueError as error:
            self.append(f"{flag}: {error}")
            return None

    def config_map(self, flag: str, text: str) -> ConfigMapName | None:
        try:
            return parse_name(text)
        except ValueError as error:
            self.append(f"{flag}: {error}")
            return None

    def marks(self, flag: str, text: str) -> tuple[Mark, ...]:
        """Of a list with commas between; empty for an empty text."""
        found = []
        for part in filter(None, text.split(",")):
            try:
                found.append(parse_mark(part))
            except ValueError as error:
                self.append(f"{flag}: {error}")
        return tuple(found)

    def hold(self, flag: str, prefix: str) -> str:
        """The key of a hold under dispatch's prefix."""
        if not _PREFIX.fullmatch(prefix):
            self.append(f"{flag}: {prefix!r} is not a prefix such as {api.DISPATCH_PREFIX}")
        return f"{prefix}hold-instance"

    def number(self, flag: str, text: str) -> float:
        """A finite number; 1 in place of anything else."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.append(f"{flag}: {text!r} is not a number")
            return 1.0
        return number

    def whole(self, flag: str, text: str) -> int:
        """A whole number; 1 in place of anything else."""
        try:
            return int(text)
        except ValueError:
            self.append(f"{flag}: {text!r} is not a whole number")
            return 1


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="muster-controller",
        description="Ends the wait of gang jobs at their admission deadline, in one write, and says so on the job.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = out.add_argument
    add("--bind-address", default="127.0.0.1", help="address to serve probes and metrics on; a pod passes its own IP")
    add("--metrics-port", default="8080", help="port for /healthz, /readyz and /metrics")
    add("--namespace", default="muster-system", help="namespace this controller runs in")
    add(
        "--identity",
        default=os.environ.get("POD_NAME", "muster-controller"),
        help="name of this replica in its events and in the lease",
    )
    add("--lease", default="muster-controller", help="name of the Lease in its namespace by which one replica leads")
    add("--lease-duration", default="15s", help="a leader that is silent for this long is taken over from")
    add("--renew-deadline", default="10s", help="a leader that cannot renew its lease for this long stops")
    add("--retry-period", default="2s", help="how often the lease is renewed, or looked at")
    add(
        "--fence",
        default="muster-fence",
        help="name of the ValidatingAdmissionPolicy and its binding; without it in force nothing is ended",
    )
    add("--fence-settle", default="30s", help="how long the fence must stand unchanged before it counts as in force")
    add(
        "--notice",
        default="",
        help="how long a deadline is shown before it is enforced; empty: half the timeout, at most 10m",
    )
    add(
        "--recovery-grace",
        default="5m",
        help="after an outage, how long jobs may still be admitted before any is ended",
    )
    add("--outage-after", default="10s", help="failing requests for this long count as an outage")
    add("--default-timeout", default="", help="bound for jobs that no other source bounds; empty: none")
    add("--max-timeout", default="", help="cap on every timeout; empty: none")
    add(
        "--cleanup",
        default="true",
        choices=("true", "false"),
        help="false: no job is ever deleted, whatever policies say",
    )
    add("--min-ttl", default="10m", help="the least time that a job stays after its wait was ended, if it is deleted")
    add(
        "--gitops-keys",
        default="",
        help="labels and annotations, KEY or KEY=VALUE with commas between, of jobs that are never deleted",
    )
    add("--rate", default="50", help="writes per second, on average; 0: unlimited")
    add("--burst", default="100", help="writes that may go at once")
    add("--workers", default="16", help="writes in flight")
    add(
        "--bound-ownerless",
        default="false",
        choices=("true", "false"),
        help="true: Workloads that people made, and no job owns, are bounded too",
    )
    add(
        "--dispatch-prefix",
        default=api.DISPATCH_PREFIX,
        help="prefix of dispatch's keys: a Workload that it holds inactive waits on, and its clock stands still",
    )
    add(
        "--kueue-config",
        default=str(KUEUE_CONFIG),
        help="NAMESPACE/NAME of the ConfigMap Kueue is configured by; empty: not read",
    )
    add("--autoscaler-status", default=str(AUTOSCALER_STATUS), help="the same of the autoscaler's status")
    add(
        "--preflight-optional",
        default="false",
        choices=("true", "false"),
        help="true: jobs of every namespace may skip preflight by their own annotation",
    )
    add("--log-level", default="info", help=f"least severe log lines to show: {', '.join(LEVELS)}")
    add("--kubeconfig", default=None, help="kubeconfig file; default: KUBECONFIG, else the pod's ServiceAccount")
    return out


def parse(argv: Sequence[str] | None = None) -> Settings:
    """Settings from arguments. Exits with status 2 and every problem when they do not make sense."""
    arguments = parser()
    raw, unknown = arguments.parse_known_args(argv)
    problems = _Problems(f"{argument}: no such argument" for argument in unknown)
    settings = Settings(
        bind_address=raw.bind_address,
        metrics_port=problems.whole("--metrics-port", raw.metrics_port),
        namespace=raw.namespace,
        identity=raw.identity,
        lease=raw.lease,
        lease_duration=problems.duration("--lease-duration", raw.lease_duration) or 0,
        renew_deadline=problems.duration("--renew-deadline", raw.renew_deadline) or 0,
        retry_period=problems.duration("--retry-period", raw.retry_period) or 0,
        fence=raw.fence,
        fence_settle=problems.duration("--fence-settle", raw.fence_settle) or 0,
        notice=problems.duration("--notice", raw.notice),
        recovery_grace=problems.duration("--recovery-grace", raw.recovery_grace) or 0,
        outage_after=problems.duration("--outage-after", raw.outage_after) or 0,
        default_timeout=problems.duration("--default-timeout", raw.default_timeout),
        max_timeout=problems.duration("--max-timeout", raw.max_timeout),
        cleanup=Rules(
            problems.duration("--min-ttl", raw.min_ttl) or 0, problems.marks("--gitops-keys", raw.gitops_keys)
        )
        if raw.cleanup == "true"
        else None,
        rate=problems.number("--rate", raw.rate),
        burst=problems.whole("--burst", raw.burst),
        workers=problems.whole("--workers", raw.workers),
        bound_ownerless=raw.bound_ownerless == "true",
        hold=problems.hold("--dispatch-prefix", raw.dispatch_prefix),
        kueue_config=problems.config_map("--kueue-config", raw.kueue_config),
        autoscaler_status=problems.config_map("--autoscaler-status", raw.autoscaler_status),
        preflight_optional=raw.preflight_optional == "true",
        log_level=raw.log_level,
        kubeconfig=raw.kubeconfig,
    )
    for flag, zero in (("--default-timeout", settings.default_timeout), ("--max-timeout", settings.max_timeout)):
        if zero == 0:
            problems.append(f"{flag}: 0 would end every wait at once; leave it empty for no bound")
    if not problems and not 0 < settings.retry_period < settings.renew_deadline < settings.lease_duration:
        problems.append("--lease-duration must be longer than --renew-deadline, and that longer than --retry-period")
    if settings.cleanup is not None and settings.cleanup.minimum < 1:
        problems.append("--min-ttl: must be longer than 0; to delete nothing say --cleanup=false")
    if settings.rate < 0:
        problems.append(f"--rate: {settings.rate} is negative; 0 means unlimited")
    for flag, number in (("--burst", settings.burst), ("--workers", settings.workers)):
        if number < 1:
            problems.append(f"{flag}: {number} is not at least 1")
    if not 0 <= settings.metrics_port <= 65535:
        problems.append(f"--metrics-port: {settings.metrics_port} is not a port")
    if settings.log_level not in LEVELS:
        problems.append(f"--log-level: {settings.log_level!r} is none of {', '.join(LEVELS)}")
    for flag, text in (
        ("--bind-address", settings.bind_address),
        ("--namespace", settings.namespace),
        ("--identity", settings.identity),
        ("--lease", settings.lease),
        ("--fence", settings.fence),
    ):
        if not text:
            problems.append(f"{flag}: must not be empty")
    if problems:
        arguments.error("; ".join(problems))
    return settings
