"""What an operator reports to OLM about itself: its OperatorCondition.

OLM makes one for each CSV, gives the operator the right to change it, and puts
its name into `OPERATOR_CONDITION_NAME`. `Upgradeable` is the one type that OLM
acts on: while it is False, the next version waits. Without OLM, or with its
generation 1, there is no such object, and nothing is said.
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
        """The one that OLM names; None when it names none. `namespace` is the pod's."""
        name = environment.get(VARIABLE, "")
        return cls(client, Request(name, namespace), now) if name and namespace else None

    async def set(self, type_: str, status: str, reason: str, message: str = "") -> bool:
        """Say it, unless it is said already; False when there is nothing to say it in."""
        try:
            return await retry_on_conflict(lambda: self._set(type_, status, reason, message))
        except (Forbidden, NoSuchKind) as error:
            _LOG.info(
                "operator condition not set",
                extra={"condition": str(self._key), "error": str(error)},
            )
            return False

    async def upgradeable(self) -> None:
        """Say that OLM may replace this version; what goes wrong is logged and no more."""
        try:
            await self.set(UPGRADEABLE, "True", "Ready", "the operator works")
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
