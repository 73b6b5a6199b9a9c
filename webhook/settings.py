"""Settings of the webhook: one type, its command line, and a validator that names every problem at once."""

import argparse
import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG, ConfigMapName, parse_name
from classifier.cluster.logs import LEVELS
from classifier.instant import SECOND, parse_duration
from classifier.names import names_object
from webhook.tls import VERSIONS

CERTIFICATE_MODES: Final = ("selfSigned",)


@dataclass(frozen=True)
class Settings:
    """Durations are milliseconds; None means off."""

    bind_address: str
    port: int
    metrics_port: int
    namespace: str
    service: str
    ca_secret: str
    configuration: str
    default_timeout: int | None
    max_timeout: int | None
    drain: int
    stale_after: int
    preflight_optional: bool
    kueue_config: ConfigMapName | None
    autoscaler_status: ConfigMapName | None
    certificate_mode: str
    tls_min_version: str
    log_level: str

    @property
    def dns_names(self) -> tuple[str, ...]:
        """What the served certificate is for. The API server asks for the third (``<service>.<namespace>.svc``)."""
        host = f"{self.service}.{self.namespace}"
        return (f"{host}.svc", self.service, host, f"{host}.svc.cluster.local")

    @property
    def server_name(self) -> str:
        return self.dns_names[0]


class SettingsError(Exception):
    """Everything that is wrong with the settings: one line each, beginning with the argument."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """All values are read as text here; :func:`read` judges them together."""
    p = argparse.ArgumentParser(
        prog="muster-webhook",
        description="Answers admission reviews: stamps jobs, and refuses gangs that can never run.",
        allow_abbrev=False,
        epilog="Durations are Go durations, such as 90s or 1h30m. Credentials: $KUBECONFIG, else the ServiceAccount.",
    )

    def add(name: str, default: str, text: str) -> None:
        shown = "; default %(default)s" if default else ""
        p.add_argument(name, default=default, metavar="VALUE", help=text + shown)

    add("--bind-address", "0.0.0.0", "IP address both ports listen on")
    add("--port", "9443", "TLS port the API server's reviews come to")
    add("--metrics-port", "8080", "plain HTTP port of /healthz, /readyz and /metrics")
    add("--namespace", environment.get("POD_NAMESPACE", ""), "own namespace: of the Service and of the CA's Secret")
    add("--service", "muster-webhook", "Service the webhook configurations name; the certificate is for it")
    add("--ca-secret", "muster-webhook-ca", "Secret that holds the CA; made at run time, shared by the replicas")
    add("--configuration", "muster-webhook", "mutating and validating webhook configuration whose caBundle we keep")
    add("--default-timeout", "", "how long a job may wait for admission where nothing else says so; empty: no bound")
    add("--max-timeout", "", "upper limit of every admission timeout; empty: none")
    add("--drain", "15s", "how long to go on answering after SIGTERM, while endpoints forget us")
    add("--stale-after", "3m", "silence of a watch after which its copy is no longer judged by")
    add("--preflight-optional", "false", "true: jobs of every namespace may skip preflight by their own annotation")
    add("--kueue-config", str(KUEUE_CONFIG), "NAMESPACE/NAME of the ConfigMap Kueue is configured by; empty: not read")
    add("--autoscaler-status", str(AUTOSCALER_STATUS), "the same of the autoscaler's status; empty: not read")
    add("--certificate-mode", "selfSigned", f"where the certificate comes from: {', '.join(CERTIFICATE_MODES)}")
    add("--tls-min-version", "1.2", f"lowest TLS version: {', '.join(VERSIONS)}")
    add("--log-level", "info", f"lowest level that is logged: {', '.join(LEVELS)}")
    return p


def read(arguments: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from a command line. Raises :class:`SettingsError`, which has all problems."""
    given = vars(parser(environment).parse_args(arguments))
    problems: list[str] = []

    def problem(field: str, text: str) -> None:
        problems.append(f"--{field.replace('_', '-')}: {text}")

    def port(field: str) -> int:
        text = given[field]
        if text.isascii() and text.isdigit() and 0 < int(text) < 65536:
            return int(text)
        problem(field, f"{text!r} is not a port (1 to 65535)")
        return 0

    def duration(field: str) -> int | None:
        if not given[field]:
            return None
        try:
            return parse_duration(given[field])
        except ValueError as error:
            problem(field, str(error))
            return None

    def required(field: str) -> int:
        if not given[field]:
            problem(field, "a duration is needed, such as 15s")
        return duration(field) or SECOND

    def name(field: str) -> str:
        text = given[field]
        if not names_object(text):
            problem(field, f"{text[:64]!r} is not the name of a Kubernetes object")
        return str(text)

    def config_map(field: str) -> ConfigMapName | None:
        try:
            return parse_name(given[field])
        except ValueError as error:
            problem(field, str(error))
            return None

    def one_of(field: str, values: Sequence[str]) -> str:
        text = given[field]
        if text not in values:
            problem(field, f"{text[:64]!r} is none of {', '.join(values)}")
        return str(text)

    try:
        ipaddress.ip_address(given["bind_address"])
    except ValueError:
        problem("bind_address", f"{given['bind_address'][:64]!r} is not an IP address")
    settings = Settings(
        bind_address=given["bind_address"],
        port=port("port"),
        metrics_port=port("metrics_port"),
        namespace=name("namespace"),
        service=name("service"),
        ca_secret=name("ca_secret"),
        configuration=name("configuration"),
        default_timeout=duration("default_timeout"),
        max_timeout=duration("max_timeout"),
        drain=required("drain"),
        stale_after=required("stale_after"),
        preflight_optional=one_of("preflight_optional", ("true", "false")) == "true",
        kueue_config=config_map("kueue_config"),
        autoscaler_status=config_map("autoscaler_status"),
        certificate_mode=one_of("certificate_mode", CERTIFICATE_MODES),
        tls_min_version=one_of("tls_min_version", tuple(VERSIONS)),
        log_level=one_of("log_level", LEVELS),
    )
    if settings.port and settings.port == settings.metrics_port:
        problem("metrics_port", f"{settings.port} is already the TLS port")
    default, limit = settings.default_timeout, settings.max_timeout
    if default is not None and limit is not None and default > limit:
        problem("default_timeout", f"{given['default_timeout']} is longer than --max-timeout {given['max_timeout']}")
    if problems:
        raise SettingsError(problems)
    return settings


def describe(settings: Settings) -> dict[str, object]:
    """For the first log line."""
    return {field.name: getattr(settings, field.name) for field in fields(settings)}
