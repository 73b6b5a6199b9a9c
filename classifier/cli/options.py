"""Options every subcommand shares, with kubectl's names and meanings."""

import argparse
import re
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from classifier.api import DISPATCH_PREFIX
from classifier.cli.errors import Exit, UsageError
from classifier.cli.target import is_name
from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG, ConfigMapName, ConfigMaps, parse_name
from classifier.instant import SECOND, parse_instant
from classifier.report import FENCE_NAME
from classifier.state.settings import Mode, Settings

_DOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


class Parser(argparse.ArgumentParser):
    """argparse, with errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _header(text: str) -> str:
    """What can be sent as a header's value."""
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} holds control characters")
    return text


def _config_map(text: str) -> ConfigMapName | None:
    try:
        return parse_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _namespace(text: str) -> str:
    if text and not is_name(text):
        raise argparse.ArgumentTypeError(f"{text[:64]!r} cannot be the name of a namespace")
    return text


def add_common(parser: argparse.ArgumentParser) -> None:
    """Where to read, as whom, how to print."""
    parser.add_argument(
        "-n", "--namespace", type=_namespace, metavar="NAME", help="the namespace; default: that of the context"
    )
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml"), metavar="wide|json|yaml", help="how to print"
    )
    parser.add_argument("--context", metavar="NAME", help="the kubeconfig's context")
    parser.add_argument("--kubeconfig", metavar="FILE", help="default: the KUBECONFIG variable, then ~/.kube/config")
    parser.add_argument("--as", dest="impersonate", type=_header, metavar="USER", help="act as this user")
    parser.add_argument(
        "--as-group",
        dest="groups",
        type=_header,
        action="append",
        default=[],
        metavar="GROUP",
        help="with --as: and as a member of this group; may be repeated",
    )
    parser.add_argument("--now", type=_instant, metavar="TIME", help="fix the clock, e.g. 2026-11-29T10:00:00Z")


def add_fence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fence", default=FENCE_NAME, metavar="NAME", help=f"the fence's policy (default: {FENCE_NAME})"
    )


def add_config_maps(parser: argparse.ArgumentParser) -> None:
    """Which two ConfigMaps a judgement reads."""
    parser.add_argument(
        "--kueue-config",
        type=_config_map,
        default=KUEUE_CONFIG,
        metavar="NAMESPACE/NAME",
        help=f"the ConfigMap Kueue is configured by (default: {KUEUE_CONFIG})",
    )
    parser.add_argument(
        "--autoscaler-status",
        type=_config_map,
        default=AUTOSCALER_STATUS,
        metavar="NAMESPACE/NAME",
        help=f"the ConfigMap of Cluster Autoscaler's status (default: {AUTOSCALER_STATUS})",
    )


def config_maps(arguments: argparse.Namespace) -> ConfigMaps:
    return ConfigMaps(arguments.kueue_config, arguments.autoscaler_status)


def add_files(parser: argparse.ArgumentParser, *flags: str) -> None:
    parser.add_argument(
        *flags,
        dest="world",
        action="append",
        default=[],
        metavar="FILE",
        help="read the cluster from this file, folder or - instead (what kubectl get -o yaml prints); may be repeated",
    )


def _prefix(text: str) -> str:
    """A prefix of keys, with the slash that ends it."""
    domain = text.removesuffix("/")
    if not _DOMAIN.fullmatch(domain):
        raise argparse.ArgumentTypeError(f"{text!r} is not a prefix such as {DISPATCH_PREFIX}")
    return f"{domain}/"


def add_classification(parser: argparse.ArgumentParser) -> None:
    """What the classification is told, and what stands for what only a cluster could say."""
    parser.add_argument(
        "--mode",
        choices=[str(mode) for mode in Mode],
        default=str(Mode.KUEUE),
        metavar="plain|kueue",
        help="who holds jobs back: Kueue (default), or nobody but suspend itself",
    )
    parser.add_argument(
        "--captured",
        action="append",
        default=[],
        metavar="FILE",
        help="with -f: pods as they were before they were deleted; may be repeated",
    )
    parser.add_argument("--no-nodes", action="store_true", help="with -f: as if Nodes could not be read")
    parser.add_argument(
        "--prefix",
        type=_prefix,
        default=DISPATCH_PREFIX,
        metavar="PREFIX",
        help=f"of dispatch's labels and annotations (default: {DISPATCH_PREFIX})",
    )
    parser.add_argument(
        "--capacity-check",
        dest="capacity_checks",
        action="append",
        default=[],
        metavar="NAME",
        help="an AdmissionCheck that stands for capacity, besides those of Kueue's provisioning; may be repeated",
    )


def settings(arguments: argparse.Namespace) -> Settings:
    return Settings(
        mode=Mode(arguments.mode), prefix=arguments.prefix, capacity_checks=frozenset(arguments.capacity_checks)
    )


def clock(arguments: argparse.Namespace, server: Callable[[], int] | None = None) -> Callable[[], int]:
    """Now in milliseconds: ``--now``, the API server's time, or the machine's."""
    fixed: int | None = arguments.now
    if fixed is not None:
        return lambda: fixed
    return server or (lambda: int(time.time() * SECOND))


def check_source(arguments: argparse.Namespace) -> None:
    """Options that make no sense together. With files there is no cluster to choose."""
    if arguments.groups and not arguments.impersonate:
        raise UsageError("--as-group needs --as; name the user too")
    for option, value in (
        ("--context", arguments.context),
        ("--kubeconfig", arguments.kubeconfig),
        ("--as", arguments.impersonate),
    ):
        if value and arguments.world:
            raise UsageError(f"{option} has no meaning when the cluster is read from files; leave one out")


Subcommands = Any  # argparse keeps the type of its subparsers to itself
