"""The options of every command that pulls or pushes, collected in an `Access`.

They are the same for all commands, each has a variable, and credentials come from the files of
Docker and Podman.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.cli.frame import options

if TYPE_CHECKING:
    from olmkit.base.diagnostics import Diagnostic
    from olmkit.cli.frame.app import App
    from olmkit.edges.images.access_settings import Access
    from olmkit.oci.content import Platform

    _PlatformBase = click.ParamType[Platform]
else:
    _PlatformBase = click.ParamType  # generic only in newer releases of click


class PlatformType(_PlatformBase):
    """A platform on the command line: `os/architecture[/variant]`."""

    name = "platform"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Platform:
        from olmkit.oci.content import Platform

        if isinstance(value, Platform):
            return value
        try:
            return Platform.parse(value)
        except InputError as error:
            self.fail(f"{error.message}; {error.hint}.", param, ctx)


def registry_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `access`."""

    @functools.wraps(run)
    def gathered(*positional: Any, **arguments: Any) -> Any:
        from olmkit.edges.images.access_settings import Access

        access = Access(
            plain_http=arguments.pop("plain_http"),
            ca_file=arguments.pop("ca_file"),
            skip_tls_verify=arguments.pop("insecure_skip_tls_verify"),
            authfile=arguments.pop("authfile"),
            environment=os.environ,
            report=_report_once(positional[0]),
        )
        return run(*positional, access=access, **arguments)

    added = [
        click.option(
            "--plain-http",
            is_flag=True,
            envvar="OLMKIT_PLAIN_HTTP",
            help="Use HTTP without TLS for registries; not needed for registries on this machine.",
        ),
        click.option(
            "--ca-file",
            metavar="FILE",
            envvar="OLMKIT_CA_FILE",
            help="Additional certificate authorities to trust, in PEM format.",
        ),
        click.option(
            "--insecure-skip-tls-verify",
            is_flag=True,
            envvar="OLMKIT_INSECURE_SKIP_TLS_VERIFY",
            help="Do not verify TLS certificates.",
        ),
        click.option(
            "--authfile",
            metavar="FILE",
            envvar="OLMKIT_AUTHFILE",
            help="Credentials file, instead of those of Docker and Podman.",
        ),
    ]
    return options.add(gathered, added)


def _report_once(app: App) -> Callable[[Sequence[Diagnostic]], None]:
    """Print each warning about a file once, although each registry reads the file."""
    shown: set[Diagnostic] = set()

    def report(found: Sequence[Diagnostic]) -> None:
        app.report([one for one in found if one not in shown])
        shown.update(found)

    return report


def target_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for a second registry; the function gets them as `target_access`.

    Certificate authorities and credentials are those of the source unless set; options that weaken
    the transport security are never inherited.
    """

    @functools.wraps(run)
    def gathered(*positional: Any, access: Access, **arguments: Any) -> Any:
        target = replace(
            access,
            plain_http=arguments.pop("target_plain_http"),
            ca_file=arguments.pop("target_ca_file") or access.ca_file,
            skip_tls_verify=arguments.pop("target_insecure_skip_tls_verify"),
            authfile=arguments.pop("target_authfile") or access.authfile,
            option_prefix="target-",
        )
        return run(*positional, access=access, target_access=target, **arguments)

    added = [
        click.option(
            "--target-plain-http",
            is_flag=True,
            envvar="OLMKIT_TARGET_PLAIN_HTTP",
            help="Use HTTP without TLS for the target.",
        ),
        click.option(
            "--target-ca-file",
            metavar="FILE",
            envvar="OLMKIT_TARGET_CA_FILE",
            help="Certificate authorities to trust for the target. Default: those of `--ca-file`.",
        ),
        click.option(
            "--target-insecure-skip-tls-verify",
            is_flag=True,
            envvar="OLMKIT_TARGET_INSECURE_SKIP_TLS_VERIFY",
            help="Do not verify the TLS certificate of the target.",
        ),
        click.option(
            "--target-authfile",
            metavar="FILE",
            envvar="OLMKIT_TARGET_AUTHFILE",
            help="Credentials file for the target. Default: that of `--authfile`.",
        ),
    ]
    return options.add(gathered, added)


def source_date() -> int:
    """Return the time of all built files: `SOURCE_DATE_EPOCH`, else the start of 1970."""
    import datetime

    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return 0
    try:
        seconds = int(text)
        datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        if not 0 <= seconds < 8**11:  # the limit of the header of a layer entry
            raise ValueError
    except (ValueError, OverflowError, OSError):
        raise ConfigurationError(
            f"`SOURCE_DATE_EPOCH` is not a time: `{text[:40]}`",
            hint="set it to whole seconds since 1970, such as `git log -1 --format=%ct` prints",
        ) from None
    return seconds
