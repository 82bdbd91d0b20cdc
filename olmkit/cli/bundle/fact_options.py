"""The options with facts about a bundle: versions, and additional files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import options

if TYPE_CHECKING:
    from olmkit.jobs.bundle.validate import GivenFacts
    from olmkit.rules.engine import Facts

CATEGORIES_VARIABLE = "OPERATOR_BUNDLE_CATEGORIES"


def fact_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `given`."""

    @functools.wraps(run)
    def gathered(*positional: Any, **arguments: Any) -> Any:
        from olmkit.jobs.bundle.validate import GivenFacts

        given = GivenFacts(
            kube_version=arguments.pop("k8s_version"),
            openshift_versions=arguments.pop("ocp_versions"),
            containerfile=arguments.pop("containerfile"),
            categories=arguments.pop("categories"),
            optional_values=arguments.pop("optional_values"),
        )
        return run(*positional, given=given, **arguments)

    added = (
        click.option(
            "--k8s-version",
            default="",
            metavar="VERSION",
            help="Newest Kubernetes version that the bundle targets; APIs that it removes are "
            "errors.",
        ),
        click.option(
            "--ocp-versions",
            default="",
            metavar="RANGE",
            help="OpenShift versions that the bundle targets, such as `v4.16-v4.18`. Default: "
            "its annotation.",
        ),
        click.option(
            "--containerfile",
            default="",
            metavar="FILE",
            help="Containerfile of the bundle; its labels are checked.",
        ),
        click.option(
            "--categories",
            default="",
            metavar="FILE",
            envvar=CATEGORIES_VARIABLE,
            help="JSON file with the list `categories`, instead of the standard categories.",
        ),
        click.option(
            "--optional-values",
            multiple=True,
            metavar="KEY=VALUE",
            help="Values as for operator-sdk: `k8s-version`, `index-path`, `container-tools`.",
        ),
        click.option(
            "--inspect-images",
            is_flag=True,
            help="Read the platforms of the bundle's images from their registries.",
        ),
    )
    return options.add(gathered, added)


def facts(given: GivenFacts) -> Facts:
    """Return the given facts; `ConfigurationError` for invalid values."""
    from olmkit.jobs.bundle.validate import GivenFacts
    from olmkit.rules.engine import Facts

    if given == GivenFacts():
        return Facts()
    # Loaded only when needed: the check of one bundle starts faster without it.
    from olmkit.jobs.bundle import facts as job

    return job.gather(given)


def suites(selector: str) -> frozenset[str]:
    """Return the suites of the validators that operator-sdk's selector chooses."""
    if not selector:
        return frozenset()
    from olmkit.rules import optional_validators

    return optional_validators.suites(selector)
