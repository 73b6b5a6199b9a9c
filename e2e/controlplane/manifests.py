"""Upstream's manifests, read from its module folders and changed in memory as kustomize would, never copied."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from e2e.controlplane import build

Document = dict[str, Any]

#: libyaml's loader is ten times faster, and a CRD has a megabyte.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(*paths: Path) -> Iterator[Document]:
    """The objects of these files and of all ``*.yaml`` of these folders, without kustomize's own."""
    for path in paths:
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            for document in yaml.load_all(file.read_bytes(), Loader=_LOADER):
                if isinstance(document, dict) and "metadata" in document:
                    yield document


def crds(*paths: Path) -> list[Document]:
    """Without their prose: it is three quarters of them, and the API server reads it all at every start.

    Kept beside the programs, by module and by this file: to read them as YAML takes seconds.
    """
    key = hashlib.sha256("\0".join(map(str, paths)).encode() + Path(__file__).read_bytes()).hexdigest()[:16]
    kept = build.cache() / "crds" / f"{key}.json"
    if kept.exists():
        return msgspec.json.decode(kept.read_bytes(), type=list[Document])
    found = [
        {**document, "spec": _without_descriptions(document["spec"])}
        for document in documents(*paths)
        if document["kind"] == "CustomResourceDefinition"
    ]
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_bytes(msgspec.json.encode(found))
    partial.rename(kept)
    return found


def _without_descriptions(schema: Any, *, names: bool = False) -> Any:
    """A schema without what it says to people; ``names``: its keys are a user's, so "description" may be a field."""
    if isinstance(schema, list):
        return [_without_descriptions(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_descriptions(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if names or key != "description"
    }


def with_conversion(crd: Document, *, service: str, namespace: str) -> Document:
    """Let this CRD's versions be converted by a webhook behind a Service."""
    client = {"service": {"namespace": namespace, "name": service, "path": "/convert"}}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    return {**crd, "spec": {**crd["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}}


def everything(group: str) -> bool:
    return True


def webhooks(
    path: Path, *, prefix: str, service: str, namespace: str, served: Callable[[str], bool] = everything
) -> list[Document]:
    """The webhook configurations of a manifest, named ``prefix`` + their name and pointed at a Service.

    ``served`` says whether an API group exists here; entries for others are dropped. No entry sees kube-system or
    ``namespace``.
    """
    elsewhere = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", namespace]}
    found = []
    for configuration in documents(path):
        entries = []
        for entry in configuration["webhooks"]:
            if not any(served(group) for rule in entry["rules"] for group in rule["apiGroups"]):
                continue
            entry["clientConfig"]["service"] |= {"name": service, "namespace": namespace}
            entry["namespaceSelector"] = {"matchExpressions": [elsewhere]}
            entries.append(entry)
        name = prefix + configuration["metadata"]["name"]
        found.append({**configuration, "metadata": {"name": name}, "webhooks": entries})
    return found


def rbac(path: Path, *, prefix: str, namespace: str) -> list[Document]:
    """Roles, bindings and ServiceAccounts of a folder, with their names prefixed and their namespace set."""
    found = []
    for document in documents(path):
        kind = document["kind"]
        if kind not in {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}:
            continue
        document["metadata"]["name"] = prefix + document["metadata"]["name"]
        if not kind.startswith("Cluster"):
            document["metadata"]["namespace"] = namespace
        for rule in document.get("rules", []):
            # As kustomize does: the webhook configurations are renamed too.
            if any(resource.endswith("webhookconfigurations") for resource in rule.get("resources", [])):
                rule["resourceNames"] = [prefix + name for name in rule.get("resourceNames", [])]
        if "roleRef" in document:
            document["roleRef"]["name"] = prefix + document["roleRef"]["name"]
            for subject in document["subjects"]:
                if subject["kind"] == "ServiceAccount":
                    subject |= {"name": prefix + subject["name"], "namespace": namespace}
        found.append(document)
    return found


def service(namespace: str, name: str, ports: dict[int, int], selector: dict[str, str] | None = None) -> Document:
    """A Service; ``ports`` maps its ports to target ports."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            **({"selector": selector} if selector else {}),
            "ports": [{"name": f"port-{port}", "port": port, "targetPort": target} for port, target in ports.items()],
        },
    }


def namespace(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
