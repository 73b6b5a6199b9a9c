"""The fence as the API server stores it: ``spec`` of the chart's policy and of its binding, defaults included.

The controller enforces deadlines only while the stored objects equal these (design §3, "Fence"; why it is exact:
reference/kueue.md §3.6). ``charts/muster/templates/fence.yaml`` renders the same; a chart test compares the two.
"""

from typing import Any, Final

EXPECTED_POLICY_SPEC: Final[dict[str, Any]] = {
    "failurePolicy": "Fail",
    "matchConstraints": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [
            {
                "apiGroups": ["kueue.x-k8s.io"],
                "apiVersions": ["v1beta1", "v1beta2"],
                "operations": ["UPDATE"],
                "resources": ["workloads/status"],
                "scope": "*",
            }
        ],
    },
    "matchConditions": [
        {"name": "inactive", "expression": "has(object.spec) && has(object.spec.active) && !object.spec.active"}
    ],
    "validations": [
        {
            "expression": (
                "['QuotaReserved', 'Admitted'].all(t, "
                "!(has(object.status) && has(object.status.conditions) && "
                "object.status.conditions.exists(c, c.type == t && c.status == 'True')) || "
                "(has(oldObject.status) && has(oldObject.status.conditions) && "
                "oldObject.status.conditions.exists(c, c.type == t && c.status == 'True')))"
            ),
            "message": (
                "this Workload is inactive (spec.active is false): it can neither reserve quota nor be admitted until "
                "spec.active is true again"
            ),
            "reason": "Invalid",
        }
    ],
}


def EXPECTED_BINDING_SPEC(policy_name: str) -> dict[str, Any]:
    """``spec`` of the binding of the policy ``policy_name``."""
    return {"policyName": policy_name, "validationActions": ["Deny"]}
