"""Checks of the values of options: an invalid value is invalid usage, and names its option."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError


@contextmanager
def checked(option: str, kind: type[OlmkitError] = InputError) -> Iterator[None]:
    """Convert the error of a value that cannot be parsed to one that names its option."""
    try:
        yield
    except kind as error:
        raise ConfigurationError(
            f"invalid value for `{option}`: {error.message}", hint=error.hint
        ) from error


def check_range_of_v1(option: str, text: str) -> None:
    """Raise `ConfigurationError` if a ClusterExtension cannot request the range."""
    from olmkit.olm.v1 import version_range

    with checked(option):
        version_range.parse(text)


def object_names(
    _: click.Context, parameter: click.Parameter, value: str | Sequence[str]
) -> str | Sequence[str]:
    """Return the value of an option with the names of objects, or raise an error."""
    from olmkit.base import names

    for name in filter(None, (value,) if isinstance(value, str) else value):
        if not names.is_subdomain(name):
            raise click.BadParameter(f"`{name}` is not a valid object name.", param=parameter)
    return value


def cluster_version(_: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return the value of an option with the version of a cluster, or raise an error."""
    from olmkit.catalog.cluster_version import ClusterVersion

    if value:
        try:
            ClusterVersion.parse(value)
        except ConfigurationError as error:
            raise click.BadParameter(f"{error.message}; {error.hint}.", param=parameter) from error
    return value


def image_reference(_: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return the value of an option with the reference of an image, or raise an error."""
    from olmkit.oci.reference import InvalidReferenceError, Reference

    if value:
        try:
            Reference.parse(value)
        except InvalidReferenceError as error:
            raise click.BadParameter(f"{error.message}.", param=parameter) from error
    return value
