"""Write an SBOM of an image in the CycloneDX format.

Python packages are read from their own metadata. Equal packages give equal bytes:
the serial number is derived from them, and the time is an argument.
"""

from __future__ import annotations

import email.parser
import uuid
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree

if TYPE_CHECKING:
    from cyclonedx.model.component import Component

_NAMESPACE = uuid.UUID("8f9a2f0f-6a5b-5d2e-9d6c-0f6d3c1f4b52")  # ours, made once
_METADATA = ".dist-info/METADATA"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SbomComponent:
    """A component other than a Python package; `type` and `namespace` are those of its package URL.

    `licence` is an SPDX expression; empty fields are unknown.
    """

    type: str
    name: str
    version: str = ""
    namespace: str = ""
    licence: str = ""
    sha256: str = ""

    @property
    def words(self) -> str:
        """Return all fields as strings, to derive identifiers from them."""
        return " ".join(astuple(self))


def write(
    name: str,
    packages: Tree,
    parts: Sequence[SbomComponent] = (),
    *,
    version: str = "",
    created: int = 0,
) -> bytes:
    """Return the SBOM of the operator `name`, its `packages` and more `parts` as JSON.

    `version` is that of the operator, if known; `created` is the time of the document in Unix
    seconds. Raises `ConfigurationError` if the library that writes it is not installed.
    """
    try:
        from cyclonedx.model.bom import Bom, BomMetaData
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output.json import JsonV1Dot6
    except ImportError:
        raise ConfigurationError(
            "writing a bill of materials needs the extra `sbom`",
            hint='install it: `pip install "olmkit[sbom]"`',
        ) from None
    found, more = sorted(_packages(packages)), sorted(set(parts))
    kind = ComponentType.APPLICATION
    root = Component(name=name, version=version or None, type=kind, bom_ref=name)
    components = [*(_python_component(*one) for one in found), *(_component(one) for one in more)]
    named = f"{name} {version}".rstrip()
    identity = "\n".join([named, *(f"{p} {v}" for p, v, _ in found), *(one.words for one in more)])
    bom = Bom(
        components=components,
        serial_number=uuid.uuid5(_NAMESPACE, identity),
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(created, UTC)),
    )
    bom.register_dependency(root, components)
    return JsonV1Dot6(bom).output_as_string(indent=2).encode() + b"\n"


def _python_component(package: str, version: str, licence: str) -> Component:
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from packageurl import PackageURL

    return Component(
        name=package,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"pkg:pypi/{package}@{version}",
        purl=PackageURL("pypi", name=package, version=version),
        licenses=[LicenseExpression(licence)] if licence else [],
    )


def _component(part: SbomComponent) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from packageurl import PackageURL

    where = PackageURL(
        part.type,
        namespace=part.namespace or None,
        name=part.name,
        version=part.version or None,
    )
    return Component(
        name=part.name,
        group=part.namespace or None,
        version=part.version or None,
        type=ComponentType.APPLICATION if part.sha256 else ComponentType.LIBRARY,
        bom_ref=str(where),
        purl=where,
        licenses=[LicenseExpression(part.licence)] if part.licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
    )


def _packages(tree: Tree) -> list[tuple[str, str, str]]:
    """Yield name, version and license of each installed package, from its metadata."""
    found = []
    for path, file in tree.items():
        if path.endswith(_METADATA) and path.count("/") == 1:
            metadata = email.parser.BytesParser().parsebytes(file.data, headersonly=True)
            expression = metadata.get("License-Expression") or ""
            found.append(
                (str(metadata.get("Name", "")).lower(), str(metadata.get("Version")), expression)
            )
    return found
