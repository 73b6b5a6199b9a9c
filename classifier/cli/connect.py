"""The connection of the command line, and the namespace kubectl would use."""

import argparse
import os
from pathlib import Path
from typing import Any, Final

import yaml

from classifier.cli.errors import CliError
from classifier.cli.target import is_name
from classifier.cluster.client import Client

_IN_CLUSTER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


async def connect(arguments: argparse.Namespace) -> Client:
    """Raises ClientError, which says what to do, when no configuration can be read."""
    return await Client.connect(
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        user_agent="muster-cli",
        impersonate=arguments.impersonate,
        groups=arguments.groups,
    )


def namespace_of(arguments: argparse.Namespace) -> str:
    """``-n``, else the context's namespace, else that of the pod we run in, else ``default``."""
    if arguments.namespace:
        return str(arguments.namespace)
    if arguments.world:
        return "default"
    named = _from_kubeconfig(arguments)
    if named and not is_name(named):
        raise CliError(f"the context's namespace {named[:64]!r} cannot be the name of one; choose another with -n")
    return named or _from_pod() or "default"


def _from_pod() -> str:
    try:
        return _IN_CLUSTER.read_text("utf-8").strip()
    except OSError:
        return ""  # not in a pod


def _from_kubeconfig(arguments: argparse.Namespace) -> str:
    """As kubectl merges them: the first file that says something wins."""
    paths = arguments.kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    configs = [c for c in (_read(p) for p in paths.split(os.pathsep) if p) if c is not None]
    wanted = arguments.context or next((c["current-context"] for c in configs if c.get("current-context")), None)
    for config in configs:
        contexts = config.get("contexts")
        for entry in contexts if isinstance(contexts, list) else ():
            if isinstance(entry, dict) and entry.get("name") == wanted:
                context = entry.get("context")
                return str(context.get("namespace") or "") if isinstance(context, dict) else ""
    return ""


def _read(path: str) -> dict[str, Any] | None:
    try:
        body = yaml.safe_load(Path(path).expanduser().read_text("utf-8"))
    except OSError:
        return None  # kubectl skips files that are not there; the connection says if none is left
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CliError(f"{path}: not a kubeconfig: {' '.join(str(error).split())}") from None
    return body if isinstance(body, dict) else None
