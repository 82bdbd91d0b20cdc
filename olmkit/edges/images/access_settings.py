"""How registries are reached: a value apart, so that naming it loads none of what uses it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olmkit.oci.content import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How registries are reached; the same options on every command that pulls or pushes."""

    plain_http: bool = False
    ca_file: str | None = None
    skip_tls_verify: bool = False
    authfile: str | None = None
    platform: Platform | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    option_prefix: str = ""  # of the names of these options in hints, such as `target-`


def of_process() -> Access:
    """Registries as the user of this process reaches them: credentials, proxies, mirrors."""
    return Access(environment=os.environ)
