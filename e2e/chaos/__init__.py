"""A proxy in front of the API server that misbehaves on request: races are placed, not hoped for.

    async with ChaosProxy(url, ca_file) as proxy:
        rule = proxy.when("PATCH", r"/workloads/[^/]+$", body=contains('"active":false')).hold()
        request = await rule.caught()     # the controller has decided, the API server does not know it yet
        ...                               # here something else happens
        rule.release()

Clients reach it with a bearer token (:meth:`ChaosProxy.kubeconfig`): a client certificate cannot pass a proxy.
"""

from e2e.chaos.proxy import ChaosProxy
from e2e.chaos.request import Exchange, Request, contains
from e2e.chaos.rule import Rule

__all__ = ["ChaosProxy", "Exchange", "Request", "Rule", "contains"]
