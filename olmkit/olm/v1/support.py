"""Check whether a release of OLM v1 supports a bundle.

Source: `rukpak/convert` of operator-controller 1.2.0, and the release notes of later ones.
"""

from __future__ import annotations

import re

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.bundle.generation import supported_kinds
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.preview import Preview

_WITH_WEBHOOKS = Version(1, 3, 0)
_V0 = "install it with OLM v0"


def release(deployment: Manifest | None) -> Version | None:
    """Return the release of OLM v1 by the tag of operator-controller's image; None if unknown."""
    spec = objects.pod_spec(deployment or {})
    for container in sequence(spec.get("containers")):
        tag = text(mapping(container).get("image")).partition("@")[0].rpartition(":")[2]
        if re.fullmatch(r"v?[0-9]+\.[0-9]+\.[0-9]+.*", tag):
            return Version.read(tag.removeprefix("v"))
    return None


def check(preview: Preview, release: Version | None = None) -> tuple[str, ...]:
    """Return notes on a bundle that OLM v1 can install. Raises `InputError` if it cannot."""
    csv = preview.csv
    if "AllNamespaces" not in preview.modes:
        listed = ", ".join(f"`{mode}`" for mode in preview.modes) or "none"
        raise InputError(
            f"OLM v1 installs only bundles that support `AllNamespaces`, and `{csv}` "
            f"supports {listed}",
            hint=_V0,
            cause="install-mode-not-supported",
        )
    if preview.requires:
        raise InputError(
            f"`{csv}` needs the APIs of other operators ({', '.join(preview.requires)}), "
            "and OLM v1 does not resolve dependencies",
            hint=_V0,
            cause="dependencies-not-supported",
        )
    _check_manifests(preview)
    if not preview.webhooks:
        return ()
    if release is not None and release < _WITH_WEBHOOKS:
        raise InputError(
            f"`{csv}` has webhooks, and release {release} of OLM v1 does not install them",
            hint=f"upgrade OLM v1, or {_V0}",
            cause="webhooks-not-supported",
        )
    provider = "cert-manager, or OpenShift's service CA, for their certificates"
    return (f"`{csv}` has webhooks: OLM v1 needs {provider}",)


def _check_manifests(preview: Preview) -> None:
    for one in preview.manifests:
        kind = objects.kind(one)
        if kind == kinds.CSV[1]:
            definitions = mapping(kinds.spec(one).get("apiservicedefinitions"))
            if sequence(definitions.get("owned")):
                raise InputError(
                    f"`{preview.csv}` contains APIServices, which OLM v1 does not install",
                    hint=_V0,
                    cause="api-services-not-supported",
                )
        elif kind not in supported_kinds.SUPPORTED:
            raise InputError(
                f"`{preview.csv}` contains an object of kind `{kind}`, which OLM v1 does not "
                f"install",
                hint="remove the object from the bundle",
                cause="kind-not-supported",
            )
