"""The OperatorCondition, with which an operator reports its state to OLM.

OLM v0 creates one for each CSV, grants the operator permission to change it, and puts its name into
`OPERATOR_CONDITION_NAME`. OLM acts on the type `Upgradeable` only: while it is False, OLM does not
upgrade the operator. Without OLM, and with OLM v1, the object does not exist, and nothing is
reported.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping

from olmkit.base.diagnostics import OlmkitError
from olmkit.kube import conditions
from olmkit.kube.api import Forbidden, NoSuchKind
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client, retry_on_conflict
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)

OPERATOR_CONDITION = GVK(group="operators.coreos.com", version="v2", kind="OperatorCondition")
VARIABLE = "OPERATOR_CONDITION_NAME"
UPGRADEABLE = "Upgradeable"


class OperatorCondition:
    """The OperatorCondition of this process; `now` returns the time as RFC 3339."""

    def __init__(self, client: Client, key: Request, now: Callable[[], str]) -> None:
        self._client = client.direct  # one object, read once: not worth a watch
        self._key = key
        self._now = now

    @classmethod
    def of(
        cls,
        client: Client,
        environment: Mapping[str, str],
        *,
        namespace: str,
        now: Callable[[], str],
    ) -> OperatorCondition | None:
        """Return the OperatorCondition that OLM set in the environment, or None."""
        name = environment.get(VARIABLE, "")
        return cls(client, Request(name, namespace), now) if name and namespace else None

    async def set(self, type_: str, status: str, reason: str, message: str = "") -> bool:
        """Set a condition if it differs; return False if the object does not exist."""
        try:
            return await retry_on_conflict(lambda: self._set(type_, status, reason, message))
        except (Forbidden, NoSuchKind) as error:
            _LOG.info(
                "operator condition not set",
                extra={"condition": str(self._key), "error": str(error)},
            )
            return False

    async def upgradeable(self) -> None:
        """Report that OLM may upgrade this version; errors are only logged."""
        try:
            await self.set(UPGRADEABLE, "True", "Ready", "the operator is running")
        except OlmkitError as error:
            _LOG.warning(
                "operator condition not set",
                extra={"condition": str(self._key), "error": str(error)},
            )

    async def _set(self, type_: str, status: str, reason: str, message: str) -> bool:
        old = await self._client.get(OPERATOR_CONDITION, self._key)
        if old is None:
            return False
        new = copy.deepcopy(old)
        spec = new.setdefault("spec", {})
        listed = spec["conditions"] = list(spec.get("conditions") or [])
        # Without a generation: OLM copies conditions to the status and writes it there.
        wanted = conditions.condition(type_, status, reason, message)
        if conditions.set_condition(listed, wanted, now=self._now()):
            await self._client.patch(old, new, locked=True)
        return True
