"""`olmkit bundle show`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.push_output import size_text
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.frame.terminal import printable

if TYPE_CHECKING:
    from olmkit.bundle.summary.summary import ApiSummary, BundleSummary
    from olmkit.edges.images.access_settings import Access

_NONE = "none"


@command(
    output=False,
    example="""
    olmkit bundle show bundle
    olmkit bundle show quay.io/example/memcached-operator-bundle:v0.0.1
    olmkit bundle show oci:dist/oci -o yaml
    """,
)
@click.argument("reference", metavar="REF")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    envvar="OLMKIT_OUTPUT",
    help="Output format of the result.",
)
@registry_options
def show(app: App, *, reference: str, output: str, access: Access) -> None:
    """Show what a bundle contains: APIs, permissions, images, upgrade edges.

    REF is a directory, an image, a layout or an archive.
    """
    from olmkit.base import documents
    from olmkit.jobs.bundle import read as job

    app.output = output
    found = app.run(job.summarize(reference, access))
    if output == "yaml":
        app.terminal.result_bytes(documents.dump(as_json(found)))
    else:
        app.emit(as_json(found), text=lambda: text(found))


def as_json(found: BundleSummary) -> dict[str, Any]:
    """Return the result for `-o json` and `-o yaml`; its shape only grows."""
    return {
        "reference": found.reference,
        "name": found.name,
        "package": found.package,
        "version": found.version,
        "release": found.release or None,
        "displayName": found.display_name,
        "description": found.description,
        "provider": found.provider,
        "maturity": found.maturity,
        "minKubeVersion": found.min_kube_version,
        "channels": list(found.channels),
        "defaultChannel": found.default_channel,
        "installModes": list(found.install_modes),
        "provided": [_api_json(one) for one in found.provided],
        "required": [_api_json(one) for one in found.required],
        "permissions": [
            {"text": words, "scope": scope, "farReaching": is_far}
            for words, scope, is_far in _permissions(found)
        ],
        "serviceAccounts": list(found.accounts),
        "deployments": [
            {
                "name": one.name,
                "replicas": one.replicas,
                "serviceAccount": one.account,
                "containers": list(one.containers),
            }
            for one in found.workloads
        ],
        "images": [
            {"image": one.image, "pinned": one.is_pinned, "places": list(one.places)}
            for one in found.images
        ],
        "webhooks": [
            {
                "name": one.name,
                "type": one.type,
                "deployment": one.deployment,
                "path": one.path,
                "resources": list(one.resources),
                "conversionCRDs": list(one.crds),
                "failurePolicy": one.failure_policy,
            }
            for one in found.webhooks
        ],
        "dependencies": [asdict(one) for one in found.dependencies],
        "properties": [asdict(one) for one in found.properties],
        "replaces": found.replaces,
        "skips": list(found.skips),
        "skipRange": found.skip_range,
        "objects": [{"kind": kind, "name": name} for kind, name in found.objects],
        "annotations": dict(found.annotations),
        "files": found.files,
        "size": found.size,
    }


def text(found: BundleSummary) -> str:
    """Return the summary for people."""
    lines = [f"{found.name}: {found.display_name or found.package}"]
    lines += [f"  {line}" for line in _head(found)]
    for title, listed in _sections(found):
        values = list(listed)
        if values:
            lines += ["", f"{title}:", *(f"  {value}" for value in values)]
    return printable("\n".join(lines))


def _head(found: BundleSummary) -> Iterator[str]:
    summary = found.csv_annotations.get("description", "")
    rows = [
        ("summary", summary),
        ("package", found.package),
        ("version", " ".join(filter(None, (found.version, found.release)))),
        ("provider", found.provider),
        ("maturity", found.maturity),
        ("channels", ", ".join(found.channels)),
        ("default channel", found.default_channel),
        ("install modes", ", ".join(found.install_modes) or _NONE),
        ("Kubernetes", f"{found.min_kube_version} or newer" if found.min_kube_version else ""),
        ("replaces", found.replaces),
        ("skips", ", ".join(found.skips)),
        ("skip range", found.skip_range),
        ("size", f"{plural(found.files, 'file')}, {size_text(found.size)}"),
    ]
    width = max(len(name) for name, value in rows if value)
    for name, value in rows:
        if value:
            yield f"{name:<{width}}  {' '.join(value.split())}"


def _sections(found: BundleSummary) -> Iterator[tuple[str, Iterator[str]]]:
    yield "provides", (_api(one) for one in found.provided)
    yield "needs", (_api(one) for one in found.required)
    yield (
        "permissions: the operator may",
        (f"{words}{' (far-reaching)' * is_far}" for words, _, is_far in _permissions(found)),
    )
    yield (
        "Deployments",
        (
            f"{one.name}: {plural(one.replicas, 'replica')}, service account {one.account}"
            for one in found.workloads
        ),
    )
    yield (
        "images",
        (f"{one.image}  ({', '.join(one.places)})" for one in found.images),
    )
    yield (
        "webhooks",
        (
            f"{one.type} {one.name}"
            + (f" for {'; '.join(one.resources or one.crds)}" if one.resources or one.crds else "")
            for one in found.webhooks
        ),
    )
    yield "dependencies", (f"{one.type}: {_value(one.value)}" for one in found.dependencies)
    yield "properties", (f"{one.type}: {_value(one.value)}" for one in found.properties)
    yield "objects", (f"{kind} {name}" for kind, name in found.objects)
    yield "annotations", (f"{key}: {value}" for key, value in found.annotations.items())


def _permissions(found: BundleSummary) -> Iterator[tuple[str, str, bool]]:
    """Yield each permission as text, its scope, and whether it is far-reaching."""
    from olmkit.bundle.summary import grants

    for target, verbs in grants.atoms(found.grants).items():
        words = f"{grants.describe_verbs(verbs)} {target}"
        yield words, target.scope, grants.is_far_reaching(target, verbs)


def _api_json(one: ApiSummary) -> dict[str, Any]:
    value = {
        "name": one.name,
        "group": one.group,
        "version": one.version,
        "kind": one.kind,
        "displayName": one.display_name,
    }
    return {**value, "apiService": one.is_api_service}


def _api(one: ApiSummary) -> str:
    group = f"{one.group}/" if one.group else ""
    return f"{one.kind} ({group}{one.version})"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return str(value)
