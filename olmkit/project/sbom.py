"""What an image consists of, for scanners: a CycloneDX document of its Python packages.

It is read from the packages' own metadata, and equal packages give equal bytes:
its serial number comes from them and its time is given.
"""

from __future__ import annotations

import email.parser
import uuid
from datetime import UTC, datetime

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree

_NAMESPACE = uuid.UUID("8f9a2f0f-6a5b-5d2e-9d6c-0f6d3c1f4b52")  # ours, made once
_METADATA = ".dist-info/METADATA"


def write(name: str, packages: Tree, *, version: str = "", created: int = 0) -> bytes:
    """The document for the operator `name` and the installed `packages`, as JSON.

    `version` is that of the operator, where it is known; `created` is the time of the document
    in Unix seconds. Raises `ConfigurationError` when the library that writes it is not installed.
    """
    try:
        from cyclonedx.model.bom import Bom, BomMetaData
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.model.license import LicenseExpression
        from cyclonedx.output.json import JsonV1Dot6
        from packageurl import PackageURL
    except ImportError:
        raise ConfigurationError(
            "writing a bill of materials needs the extra `sbom`",
            hint='install it: `pip install "olmkit[sbom]"`',
        ) from None
    found = sorted(_packages(packages))
    kind = ComponentType.APPLICATION
    root = Component(name=name, version=version or None, type=kind, bom_ref=name)
    named = f"{name} {version}".rstrip()
    components = [
        Component(
            name=package,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref=f"pkg:pypi/{package}@{version}",
            purl=PackageURL("pypi", name=package, version=version),
            licenses=[LicenseExpression(words)] if words else [],
        )
        for package, version, words in found
    ]
    bom = Bom(
        components=components,
        serial_number=uuid.uuid5(
            _NAMESPACE, "\n".join([named, *(f"{p} {v}" for p, v, _ in found)])
        ),
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(created, UTC)),
    )
    bom.register_dependency(root, components)
    return JsonV1Dot6(bom).output_as_string(indent=2).encode() + b"\n"


def _packages(tree: Tree) -> list[tuple[str, str, str]]:
    """Name, version and licence of each installed package, as its metadata says."""
    found = []
    for path, file in tree.items():
        if path.endswith(_METADATA) and path.count("/") == 1:
            said = email.parser.BytesParser().parsebytes(file.data, headersonly=True)
            expression = said.get("License-Expression") or ""
            found.append((str(said.get("Name", "")).lower(), str(said.get("Version")), expression))
    return found
