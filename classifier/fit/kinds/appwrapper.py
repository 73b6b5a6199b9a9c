"""AppWrapper: one podset for each of its components' podsets, ``<name>-<i>`` in their order.

Kueue: pkg/controller/jobs/appwrapper/appwrapper_controller.go; what a component declares, or the operator infers from
an object it knows: AppWrapper 1.2.2, pkg/utils/utils.go InferPodSets, GetPodTemplateSpec. Kueue counts what these
say. What its nodes must hold, how few, and in which stage, is told by the wrapped object's own kind.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from classifier.fit.gang import GangError, Podset, Runtimes, Unresolved
from classifier.fit.kinds.common import count_of, gang, podset
from classifier.fit.kinds.wrapped import AS_DECLARED, Json, Wrapped, infer, pod_template, pointer_of
from classifier.objects import (
    AppWrapper,
    AppWrapperSpec,
    Component,
    Container,
    Meta,
    PodSpec,
    PodTemplate,
    ResourceRequirements,
)

#: By ``apiVersion`` and ``kind``: how a wrapped object decodes, and what its podsets are.
Kinds = Mapping[tuple[str, str], tuple[type[Meta], Callable[[Any, Runtimes], list[Podset]]]]


def app_wrapper_podsets(wrapper: AppWrapper, runtimes: Runtimes, kinds: Kinds) -> list[Podset]:
    """``kinds``: those whose objects may be wrapped. Raises GangError naming the component."""
    found: list[Podset] = []
    stages: dict[tuple[int, int], int] = {}
    for index, component in enumerate((wrapper.spec or AppWrapperSpec()).components or ()):
        try:
            inside = _podsets(component, wrapper.namespace, f"/spec/components/{index}/template", runtimes, kinds)
        except (GangError, msgspec.ValidationError, UnicodeEncodeError) as error:
            raise GangError(f"spec.components[{index}]: {error}") from error
        for one in inside:
            # Stages of different components have nothing to do with each other.
            stage = stages.setdefault((index, one.stage), len(stages) + 1) if one.stage else 0
            found.append(replace(one, name=f"{wrapper.name}-{len(found)}".lower(), stage=stage))
    return gang(found, "spec.components")


def _podsets(component: Component, namespace: str, at: str, runtimes: Runtimes, kinds: Kinds) -> list[Podset]:
    wrapped = component.template or {}
    declared = [
        Wrapped(one.path, count_of(one.replicas, f"podSets[{index}].replicas"))
        for index, one in enumerate(component.pod_sets or ())
    ]
    own = _own_podsets(wrapped, runtimes, kinds)
    found = []
    for path, replicas in declared or infer(wrapped):
        template, pointer = pod_template(wrapped, path), pointer_of(path)
        inner = own.get(pointer)
        made = podset(path, replicas, template, namespace, at + pointer, counted=_copied(template))
        if inner is not None:
            made = replace(made, template=inner.template, least=inner.fewest, stage=inner.stage)
        elif _kind(wrapped) not in AS_DECLARED:
            made = replace(made, least=0)  # a claim on quota; what pods there will be only that kind's controller knows
        found.append(made)
    return found


def _own_podsets(wrapped: Json, runtimes: Runtimes, kinds: Kinds) -> dict[str, Podset]:
    """The podsets the wrapped object would have by itself, by their paths in it."""
    known = kinds.get(_kind(wrapped))
    if known is None:
        return {}
    struct, podsets_of = known
    metadata = wrapped.get("metadata")
    notes = metadata.get("annotations") if isinstance(metadata, dict) else None
    obj = msgspec.convert({"metadata": {"annotations": notes}, "spec": wrapped.get("spec")}, struct)
    try:
        return {one.path: one for one in podsets_of(obj, runtimes) if one.path is not None}
    except Unresolved:
        return {}


def _kind(wrapped: Json) -> tuple[str, str]:
    return str(wrapped.get("apiVersion")), str(wrapped.get("kind"))


def _copied(template: PodTemplate) -> PodTemplate:
    """What AppWrapper shows Kueue of a template: no sidecars, ports, claims, pod-level resources nor RuntimeClass."""
    spec = template.spec or PodSpec()
    copied = PodSpec(
        containers=[_bare(container) for container in spec.containers or ()],
        init_containers=[_bare(container) for container in spec.init_containers or ()],
        overhead=spec.overhead,
        node_selector=spec.node_selector,
        node_name=spec.node_name,
        affinity=spec.affinity,
        tolerations=spec.tolerations,
        topology_spread_constraints=spec.topology_spread_constraints,
    )
    return msgspec.structs.replace(template, spec=copied)


def _bare(container: Container) -> Container:
    asked = container.resources or ResourceRequirements()
    return Container(name=container.name, resources=ResourceRequirements(requests=asked.requests, limits=asked.limits))
