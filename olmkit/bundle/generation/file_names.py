"""The names of a bundle's files: one for each object, from its kind and name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic
from olmkit.kube import objects
from olmkit.kube.objects import Manifest


def name_files(
    manifests: Iterable[Manifest], note: Callable[[Diagnostic], None]
) -> Iterator[tuple[str, Manifest]]:
    taken: set[str] = set()
    duplicates = 0
    for manifest in manifests:
        name = file_name(manifest)
        if name in taken:
            note(_same_name(manifest))
            name = f"dup{duplicates}_{name}"
            duplicates += 1
        taken.add(name)
        yield name, manifest


def _same_name(manifest: Manifest) -> Diagnostic:
    kind, name = objects.kind(manifest), objects.name(manifest)
    return findings.create(
        "PRJ111",
        f"there are several objects of kind `{kind}` with the name `{name}`, "
        "and in a bundle all objects have the same namespace",
        subject=f"{kind} {name}",
        hint="give them different names",
    )


def file_name(manifest: Manifest) -> str:
    """Return the name of an object's file in a bundle."""
    api = objects.gvk(manifest)
    if api.kind == "CustomResourceDefinition":
        spec = objects.mapping(manifest.get("spec"))
        group = objects.text(spec.get("group"))
        plural = objects.text(objects.mapping(spec.get("names")).get("plural"))
        if group and plural:
            return _safe(f"{group}_{plural}.yaml")
    parts = [objects.name(manifest), api.group, api.version, api.kind.lower()]
    return _safe("_".join(part for part in parts if part) + ".yaml")


def _safe(name: str) -> str:
    return name.replace("/", "-").replace("\0", "-").lstrip(".")
