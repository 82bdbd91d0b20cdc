"""The decisions of the operator: the document of a user, and the contents of the status.

Functions of values; tests need neither a cluster nor a database.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from olmkit.runtime import GVK, Condition, Manifest, conditions, objects

from couchdb_users_operator.api.v1alpha1.databaseuser import DatabaseUser, DatabaseUserStatus

SECRET = GVK(group="", version="v1", kind="Secret")
FINALIZER = "couchdb.example.com/user"
READY = "Ready"

# The operator's own fields in the document: CouchDB keeps unknown fields.
OWNER, PASSWORD_VERSION = "kubernetes_owner", "kubernetes_password"


class NotReady(Exception):
    """Why a user is not in the desired state; `reason` is that of the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def document_for(
    user: DatabaseUser, secret: Manifest | None, found: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the document to write, or None if the existing one is in the desired state.

    CouchDB does not return passwords. The version of the Secret is therefore stored in the
    document: the actual state is compared with the desired one, and nothing is stored elsewhere.
    Raises `NotReady`.
    """
    if found is not None and found.get(OWNER) != user.metadata.uid:
        raise NotReady("NameTaken", f"the user `{user.spec.name}` belongs to someone else")
    reserved = sorted(role for role in user.spec.roles if role.startswith("_"))
    if reserved:
        raise NotReady("InvalidRole", f"the role `{reserved[0]}` belongs to the database")
    password, version = _password(user, secret)
    wanted: dict[str, Any] = {
        "_id": f"org.couchdb.user:{user.spec.name}",
        "type": "user",
        "name": user.spec.name,
        "roles": sorted(user.spec.roles),
        OWNER: user.metadata.uid,
        PASSWORD_VERSION: version,
    }
    if found is None:
        return {**wanted, "password": password}
    if all(found.get(key) == value for key, value in wanted.items()):
        return None
    changed = {**found, **wanted}
    if found.get(PASSWORD_VERSION) != version:
        changed["password"] = password
    return changed


def status_from(user: DatabaseUser, problem: NotReady | None, now: str) -> DatabaseUserStatus:
    """Return the new status; an unchanged condition keeps its time."""
    old = user.status or DatabaseUserStatus()
    found = [one.model_dump(by_alias=True, exclude_unset=True) for one in old.conditions]
    new = conditions.condition(
        READY,
        "True" if problem is None else "False",
        "AsWanted" if problem is None else problem.reason,
        f"the user `{user.spec.name}` is as wanted" if problem is None else str(problem),
        observed_generation=user.metadata.generation,
    )
    conditions.set_condition(found, new, now=now)
    return DatabaseUserStatus(
        conditions=[Condition.model_validate(one) for one in found],
        observed_generation=user.metadata.generation,
    )


def _password(user: DatabaseUser, secret: Manifest | None) -> tuple[str, str]:
    """Return the password and the version of its Secret; messages never contain it."""
    where = f"the key `{user.spec.password.key}` of the Secret `{user.spec.password.name}`"
    data = objects.mapping((secret or {}).get("data"))
    encoded = data.get(user.spec.password.key)
    if not isinstance(encoded, str) or not encoded:
        raise NotReady("NoPassword", f"{where} is missing")
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # Not `from`: the cause would show bytes of the password.
        raise NotReady("NoPassword", f"{where} is not text") from None
    metadata = objects.metadata(secret)
    return text, f"{metadata.get('uid', '')}/{metadata.get('resourceVersion', '')}"
