"""The settings for registries, in a separate module, so that using them loads no other code."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olmkit.base.diagnostics import Diagnostic
    from olmkit.oci.content import Platform


def _ignore(_: Sequence[Diagnostic]) -> None:
    """Print nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The settings for registries; all commands that pull or push have the same options."""

    plain_http: bool = False
    ca_file: str | None = None
    skip_tls_verify: bool = False
    authfile: str | None = None
    platform: Platform | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    option_prefix: str = ""  # a prefix of these options in hints, such as `target-`
    report: Callable[[Sequence[Diagnostic]], None] = field(default=_ignore, repr=False)
    """Called with the warnings about the files that configure registries; also repeatedly."""


def of_process() -> Access:
    """Return the settings of this process's user: credentials, proxies, mirrors."""
    return Access(environment=os.environ)
