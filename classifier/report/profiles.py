"""``ProvisioningReady`` of a CapacityProfile: do the Kueue objects it names exist, and are they active?

The controller writes it to the profile's status, the command line prints it (design §5, management ``External``).
"""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from classifier import api
from classifier.objects import AdmissionCheck, CapacityProfile, ClusterQueue, ProvisioningRequestConfig
from classifier.objects.kueue import ProvisioningRequestConfigSpec, RetryStrategy
from classifier.objects.profile import ProvisioningRetry, ProvisioningSpec


class ProfileCondition(msgspec.Struct, frozen=True):
    """``status`` is True, False or Unknown; the message says what to fix."""

    status: str
    reason: str
    message: str


class ProvisioningReady(ProfileCondition, frozen=True):
    """The condition of that name."""


def _check_problem(
    profile: CapacityProfile, check_name: str, checks: Mapping[str, AdmissionCheck]
) -> tuple[str, str] | None:
    provisioning = profile.spec.provisioning
    check = checks.get(check_name)
    if check is None:
        return "AdmissionCheckNotFound", (
            f"AdmissionCheck {check_name} does not exist; create it or correct spec.provisioning.admissionCheck"
        )
    controller = check.spec.controller_name if check.spec else ""
    if controller != api.PROVISIONING_CONTROLLER:
        return "WrongController", (
            f"AdmissionCheck {check_name} has controllerName {controller or 'none'}; "
            f"only {api.PROVISIONING_CONTROLLER} provisions capacity"
        )
    config = provisioning.config if provisioning else None
    parameters = check.spec.parameters if check.spec else None
    if config and (parameters is None or parameters.name != config):
        return "WrongConfig", (
            f"AdmissionCheck {check_name} refers to {parameters.name if parameters else 'no config'}, "
            f"not to ProvisioningRequestConfig {config}; correct its spec.parameters"
        )
    active = check.status.condition(api.ACTIVE) if check.status else None
    if active is None:
        return "AdmissionCheckNotActive", f"AdmissionCheck {check_name} has no Active condition; is Kueue running?"
    if not active.true:
        return "AdmissionCheckNotActive", (
            f"AdmissionCheck {check_name} is not active: {active.reason or 'no reason'}: {active.message or ''}".rstrip(
                ": "
            )
        )
    return None


def _config_problem(
    profile: CapacityProfile, name: str, configs: Mapping[str, ProvisioningRequestConfig]
) -> tuple[str, str] | None:
    config = configs.get(name)
    if config is None:
        return "ConfigNotFound", (
            f"ProvisioningRequestConfig {name} does not exist; create it or correct spec.provisioning.config"
        )
    wanted = profile.spec.provisioning.class_name if profile.spec.provisioning else None
    found = config.spec.provisioning_class_name if config.spec else ""
    if wanted and found != wanted:
        return "WrongClass", f"ProvisioningRequestConfig {name} has provisioningClassName {found}, not {wanted}"
    for field, there, stated in _differences(profile.spec.provisioning or ProvisioningSpec(), config):
        return "ConfigDiffers", (
            f"ProvisioningRequestConfig {name} has {field} {there}; spec.provisioning states {stated}: correct either"
        )
    return None


def _differences(stated: ProvisioningSpec, config: ProvisioningRequestConfig) -> Iterator[tuple[str, str, str]]:
    """Fields of the config that are not what the profile states: what is there, what is stated. What the profile does
    not state may be anything."""
    spec = config.spec or ProvisioningRequestConfigSpec()
    if stated.managed_resources is not None:
        found, wanted = (sorted(set(names or ())) for names in (spec.managed_resources, stated.managed_resources))
        if found != wanted:
            yield "managedResources", ", ".join(found) or "none", ", ".join(wanted) or "none"
    retry, asked = spec.retry_strategy or RetryStrategy(), stated.retry or ProvisioningRetry()
    for field, count, number in (
        ("backoffLimitCount", retry.backoff_limit_count, asked.limit),
        ("backoffBaseSeconds", retry.backoff_base_seconds, asked.base_seconds),
        ("backoffMaxSeconds", retry.backoff_max_seconds, asked.max_seconds),
    ):
        # The API server fills in what is left out (Kueue: apis/kueue/v1beta2/provisioningrequestconfig_types.go).
        if number is not None and count is not None and count != number:
            yield f"retryStrategy.{field}", str(count), str(number)
    for key, value in sorted((stated.parameters or {}).items()):
        there = (spec.parameters or {}).get(key)
        if there != value:
            yield f"parameters.{key}", "unset" if there is None else there, value


def provisioning_ready(
    profile: CapacityProfile,
    checks: Mapping[str, AdmissionCheck] | None,
    configs: Mapping[str, ProvisioningRequestConfig] | None,
    cluster_queues: Collection[ClusterQueue],
) -> ProvisioningReady:
    """Judge the objects named in ``spec.provisioning``. None in place of a mapping: those may not be read.

    ``cluster_queues`` are all there are; those the profile speaks for must use the check.
    """
    provisioning = profile.spec.provisioning
    if provisioning is None or not (provisioning.admission_check or provisioning.config):
        return ProvisioningReady("True", "NothingStated", "the profile names no provisioning objects")
    if (checks is None and provisioning.admission_check) or (configs is None and provisioning.config):
        return ProvisioningReady("Unknown", "NotReadable", "AdmissionChecks or their configs may not be read")
    problem = None
    if provisioning.config:
        problem = _config_problem(profile, provisioning.config, configs or {})
    if problem is None and provisioning.admission_check:
        problem = _check_problem(profile, provisioning.admission_check, checks or {})
        idle = sorted(
            q.name
            for q in cluster_queues
            if profile.applies_to(q) and provisioning.admission_check not in q.check_names
        )
        if problem is None and idle:
            problem = (
                "CheckNotUsed",
                f"ClusterQueue {', '.join(idle)} does not use AdmissionCheck {provisioning.admission_check}; "
                "add it to spec.admissionChecksStrategy",
            )
    if problem is not None:
        return ProvisioningReady("False", *problem)
    return ProvisioningReady("True", "Ready", "the named objects exist and are active")
