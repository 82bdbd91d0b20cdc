"""`olmkit catalog resolve`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.catalog import inputs
from olmkit.cli.frame import option_checks
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import olm_option
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.cluster_version import ClusterVersion, Limit
    from olmkit.catalog.model import Catalog
    from olmkit.catalog.selection import Selection
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.catalog.upgrades.resolve import ExtensionSettings, Resolution
    from olmkit.olm.resolver.solve import Answer, InstallStep, SolvedInstall


@command(
    example="""
    olmkit catalog resolve catalog --install memcached-operator
    olmkit catalog resolve catalog -i memcached-operator:alpha@0.0.1
    olmkit catalog resolve catalog other=quay.io/example/catalog:v1 -i a -i b --installed a.v1.0.0
    olmkit catalog resolve catalog -i 'memcached-operator@>=0.0.1' --olm v1
    olmkit catalog resolve a=catalog b=other -i pot:stable,fast --priority b=10 --olm v1
    """
)
@click.argument("references", nargs=-1, required=True, metavar="[NAME=]REF...")
@click.option(
    "-i",
    "--install",
    "requests",
    multiple=True,
    metavar="PACKAGE[:CHANNEL][@VERSION]",
    help="Package to install; repeatable. OLM v1 accepts several channels: `a,b`.",
)
@click.option(
    "--installed", multiple=True, metavar="CSV", help="Installed ClusterServiceVersion; repeatable."
)
@click.option(
    "--priority",
    "priorities",
    multiple=True,
    metavar="NAME=N",
    help="Priority of a catalog, 0 by default; repeatable (OLM v1).",
)
@click.option(
    "--self-certified",
    is_flag=True,
    help="Use the upgrade policy `SelfCertified`, which allows any version (OLM v1).",
)
@click.option(
    "--cluster-version",
    default="",
    metavar="VERSION",
    callback=option_checks.cluster_version,
    help="Version of the cluster: `1.30` of Kubernetes or `4.16` of OpenShift. Reports bundles "
    "that are not for it.",
)
@olm_option
@registry_options
def resolve(
    app: App,
    *,
    references: tuple[str, ...],
    requests: tuple[str, ...],
    installed: tuple[str, ...],
    priorities: tuple[str, ...],
    self_certified: bool,
    cluster_version: str,
    olm: str,
    access: Access,
) -> None:
    """Show what OLM would install, with dependencies and reasons.

    The exit code is 1 if OLM cannot install anything, or if OLM v1 chooses a bundle that it does
    not install. Installed packages have a Subscription to their default channel, unless one is
    requested with another channel.
    """
    from olmkit.catalog.cluster_version import ClusterVersion
    from olmkit.catalog.selection import Selection
    from olmkit.jobs.catalog.upgrades import resolve as job
    from olmkit.jobs.catalog.upgrades.resolve import ExtensionSettings
    from olmkit.olm.resolver.solve import SolvedInstall

    asked = [Selection.parse(one) for one in requests]
    cluster = ClusterVersion.parse(cluster_version) if cluster_version else None
    for request in asked if olm == "v1" else ():
        if request.version:
            option_checks.check_range_of_v1("--install", request.version)
    if not asked and not installed:
        raise ConfigurationError("nothing to resolve", hint="name a package with `--install`")
    catalogs = dict(_catalog(app, reference, access) for reference in references)
    if len(catalogs) < len(references):
        raise ConfigurationError("two catalogs have the same name", hint="name them: `NAME=REF`")
    if olm == "v1":
        ranked = dict(map(_priority, priorities))
        if len(ranked) < len(priorities):
            raise ConfigurationError("a catalog has two priorities", hint="pass one of them")
        settings = ExtensionSettings(priorities=ranked, is_free=self_certified)
        _show_v1(app, catalogs, asked, installed, settings, cluster)
        return
    if priorities or self_certified:
        raise click.UsageError("`--priority` and `--self-certified` are for OLM v1 only.")
    found = job.resolve(catalogs, asked, installed)
    limits = job.limits(catalogs, found, cluster) if cluster is not None else ()
    app.emit(
        {**_value(found), "clusterLimits": list(map(_limit_value, limits))},
        text="\n".join(_lines(found)),
    )
    for limit in limits:
        then = ": OLM chooses it, and does not finish its installation" * limit.stops_v0
        app.terminal.note(
            f"`{limit.bundle}` is not for cluster {cluster_version}, since {limit.reason}{then}"
        )
    best = {one.subscription: one for one in reversed(found.rejected)}
    for one in best.values():
        app.terminal.note(f"`{one.subscription}` does not get `{one.csv}`: {one.reason}")
    is_resolved = all(isinstance(one, SolvedInstall) for one in found.answers)
    if not is_resolved or any(one.stops_v0 for one in limits):
        app.exit(Exit.NO)


def _limit_value(limit: Limit) -> dict[str, Any]:
    return {"bundle": limit.bundle, "reason": limit.reason, "stopsInstall": limit.stops_v0}


def _catalog(app: App, text: str, access: Access) -> tuple[str, Catalog]:
    name, equals, reference = text.partition("=")
    if not equals or "/" in name:
        reference = text
        path = text.removeprefix("clustercatalog:").removeprefix("catalogsource:")
        name = Path(path.rstrip("/")).name.partition(":")[0].partition("@")[0]
    return name, inputs.read(app, reference, access, valid=False)


def _priority(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or not re.fullmatch(r"-?[0-9]{1,10}", number):
        raise click.BadParameter(f"`{text}` is not `NAME=N`.", param_hint="--priority")
    return name, int(number)


def _show_v1(
    app: App,
    catalogs: dict[str, Catalog],
    requested: list[Selection],
    installed: tuple[str, ...],
    settings: ExtensionSettings,
    cluster: ClusterVersion | None,
) -> None:
    from olmkit.catalog.cluster_version import limits as bundle_limits
    from olmkit.jobs.catalog.upgrades import resolve as job

    if len(requested) != 1:
        raise ConfigurationError(
            "a ClusterExtension installs one package", hint="name one with `--install`"
        )
    found = job.resolve_v1(catalogs, requested[0], installed, settings)
    for channel in job.unknown_channels(catalogs, requested[0]):
        app.terminal.note(f"no catalog has the channel `{channel}` of `{requested[0].package}`")
    is_deprecated = found.bundle.deprecation is not None
    limits = bundle_limits(found.bundle, cluster) if cluster is not None else ()
    for limit in limits:
        app.terminal.note(
            f"`{limit.bundle}` is not for that cluster, since {limit.reason}; OLM v1 does not read "
            "that, and installs it"
        )
    refusals = job.refusals_of_v1(found.bundle)
    for reason in refusals:
        app.terminal.note(
            f"OLM v1 chooses `{found.bundle.name}`, and does not install it. {reason}"
        )
    app.emit(
        {
            "bundle": found.bundle.name,
            "package": found.bundle.package,
            "catalog": found.catalog,
            "deprecated": is_deprecated,
            "refusals": list(refusals),
            "clusterLimits": [
                {"bundle": one.bundle, "reason": one.reason, "stopsInstall": False}
                for one in limits
            ],
        },
        text=f"{found.bundle.name}   catalog {found.catalog}" + ", deprecated" * is_deprecated,
    )
    if refusals:
        app.exit(Exit.NO)


def _lines(found: Resolution) -> Iterator[str]:
    if len(found.answers) > 1:
        yield f"OLM's answer is not deterministic; it is one of these {len(found.answers)}:"
        for number, answer in enumerate(found.answers, 1):
            yield f"{number}."
            yield from _answer(answer)
        return
    yield from _answer(found.answers[0])
    yield from (f"  - {fact}" for fact in found.conflict if fact not in _unmet(found.answers[0]))
    for result in found.rounds[1:]:
        yield "then"
        yield from _answer(result)
    if found.goes_round:
        yield "and so on: the graph has a cycle"


def _unmet(answer: Answer) -> tuple[str, ...]:
    from olmkit.olm.resolver.solve import Unsatisfiable

    return answer.unmet if isinstance(answer, Unsatisfiable) else ()


def _answer(answer: Answer) -> Iterator[str]:
    from olmkit.olm.resolver.solve import Failed, SolvedInstall

    match answer:
        case SolvedInstall() if not answer.steps:
            yield "  nothing: what is installed stays"
        case SolvedInstall():
            for step in answer.steps:
                yield f"  {step.csv}   {_facts(answer, step)}"
            if not answer.plan:
                yield "  and there is no InstallPlan, since no Subscription moves"
        case Failed():
            yield from (f"  OLM cannot resolve: {message}" for message in answer.messages)
            yield from (f"  - {fact}" for fact in answer.facts if fact not in answer.messages)
        case _:
            yield "  nothing: the constraints cannot be satisfied"
            yield from (f"  {text}" for text in answer.unmet)


def _facts(answer: SolvedInstall, step: InstallStep) -> str:
    facts = [f"package {step.package}", f"channel {step.channel}", f"catalog {step.catalog.name}"]
    if any(one.starting_csv == step.csv for one in answer.generated):
        facts.append("a dependency")
    if step.replaces:
        facts.append(f"replaces {step.replaces}")
    return ", ".join(facts)


def _value(found: Resolution) -> dict[str, Any]:
    return {
        "answers": [_answer_value(one) for one in found.answers],
        "rounds": [_answer_value(one) for one in found.rounds],
        "goesRound": found.goes_round,
        "conflict": list(found.conflict),
        "rejected": [
            {
                "subscription": one.subscription,
                "csv": one.csv,
                "reason": one.reason,
                "facts": list(one.facts),
            }
            for one in found.rejected
        ],
    }


def _answer_value(answer: Answer) -> dict[str, Any]:
    from olmkit.olm.resolver.solve import Failed, SolvedInstall

    match answer:
        case SolvedInstall():
            return {
                "steps": [
                    {
                        "csv": one.csv,
                        "package": one.package,
                        "channel": one.channel,
                        "catalog": one.catalog.name,
                        "replaces": one.replaces,
                    }
                    for one in answer.steps
                ],
                "subscriptions": [{"name": n, "currentCSV": csv} for n, csv in answer.moves],
                "generated": [one.name for one in answer.generated],
                "plan": answer.plan or None,
            }
        case Failed():
            return {
                "error": "ErrorPreventedResolution",
                "messages": list(answer.messages),
                "facts": list(answer.facts),
            }
        case _:
            return {"error": "ConstraintsNotSatisfiable", "messages": list(answer.unmet)}
