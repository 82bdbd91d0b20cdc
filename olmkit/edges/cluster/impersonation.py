"""The headers of a request on behalf of another user.

Source: the authentication reference of Kubernetes, "User impersonation".
"""

from __future__ import annotations

from urllib.parse import quote

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.api import ImpersonatedUser


def headers(identity: ImpersonatedUser) -> tuple[tuple[str, str], ...]:
    """Return the impersonation headers, or raise `ConfigurationError` without a user."""
    if not identity.user:
        raise ConfigurationError("an identity to impersonate needs a user")
    found = [("Impersonate-User", identity.user)]
    found += [("Impersonate-Group", group) for group in identity.groups]
    if identity.uid:
        found.append(("Impersonate-Uid", identity.uid))
    # Names of headers are ASCII and case-insensitive: other characters are percent-encoded.
    found += [
        (f"Impersonate-Extra-{quote(key.lower(), safe='')}", value)
        for key, values in identity.extra.items()
        for value in values
    ]
    return tuple(found)
