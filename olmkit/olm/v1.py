"""OLM v1: the objects that install an operator, and what its conditions mean.

A ClusterExtension names a package and, if wanted, a range of versions; there is no
approval, no channel head and no dependency. Its conditions say how far it has come; that
it is `Progressing` with reason `Succeeded` is the good end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Blame, Diagnosis, Explanation, Standing
from olmkit.olm.install_objects import OURS, PART_OF
from olmkit.olm.preview import Preview

API = "olm.operatorframework.io/v1"
CLUSTER_CATALOG = (API, "ClusterCatalog")
CLUSTER_EXTENSION = (API, "ClusterExtension")
CRD_NAME = "clusterextensions.olm.operatorframework.io"
CATALOG_NAME_LABEL = "olm.operatorframework.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionRequest:
    """What shall be installed. `version` is a range; `catalog` the name of a ClusterCatalog.

    `catalog_image`: it is made, of that image. `service_account` where the CRD wants one.
    """

    package: str
    namespace: str
    version: str = ""
    channels: tuple[str, ...] = ()
    catalog: str = ""
    catalog_image: str = ""
    poll_minutes: int = 0
    service_account: str = ""


def cluster_catalog(request: ExtensionRequest) -> Manifest:
    image: dict[str, Any] = {"ref": request.catalog_image}
    if request.poll_minutes:
        image["pollIntervalMinutes"] = request.poll_minutes
    return {
        "apiVersion": API,
        "kind": "ClusterCatalog",
        "metadata": {"name": request.catalog, "labels": {**OURS, PART_OF: request.package}},
        "spec": {"source": {"type": "Image", "image": image}},
    }


def cluster_extension(request: ExtensionRequest) -> Manifest:
    catalog: dict[str, Any] = {"packageName": request.package}
    if request.version:
        catalog["version"] = request.version
    if request.channels:
        catalog["channels"] = list(request.channels)
    if request.catalog:
        catalog["selector"] = {"matchLabels": {CATALOG_NAME_LABEL: request.catalog}}
    spec: dict[str, Any] = {
        "namespace": request.namespace,
        "source": {"sourceType": "Catalog", "catalog": catalog},
    }
    if request.service_account:
        spec["serviceAccount"] = {"name": request.service_account}
    return {
        "apiVersion": API,
        "kind": "ClusterExtension",
        "metadata": {"name": request.package, "labels": {**OURS, PART_OF: request.package}},
        "spec": spec,
    }


def wants_service_account(crd: Manifest) -> bool:
    """Whether the CRD of ClusterExtensions demands a service account, as those before 1.11 do."""
    for version in sequence(kinds.spec(crd).get("versions")):
        schema = mapping(mapping(mapping(version).get("schema")).get("openAPIV3Schema"))
        spec = mapping(mapping(schema.get("properties")).get("spec"))
        if "serviceAccount" in sequence(spec.get("required")):
            return True
    return False


def check(preview: Preview) -> None:
    """Refuse a bundle that OLM v1 cannot install: `InputError`."""
    if "AllNamespaces" not in preview.modes:
        listed = ", ".join(f"`{mode}`" for mode in preview.modes) or "none"
        raise InputError(
            f"OLM v1 installs only bundles that support `AllNamespaces`, and `{preview.csv}` "
            f"supports {listed}",
            hint="install it with OLM v0",
        )
    if preview.requires:
        raise InputError(
            f"`{preview.csv}` needs the APIs of other operators ({', '.join(preview.requires)}), "
            "and OLM v1 resolves no dependencies",
            hint="install it with OLM v0",
        )


def asked(extension: Manifest) -> Mapping[str, Any]:
    """What is asked of the catalogs: package, version, channels, selector."""
    return mapping(mapping(kinds.spec(extension).get("source")).get("catalog"))


def catalog_name(asked: Mapping[str, Any]) -> str:
    """The only ClusterCatalog that may be taken from; empty when the selector names none."""
    labels = mapping(mapping(asked.get("selector")).get("matchLabels"))
    return text(labels.get(CATALOG_NAME_LABEL))


def installed(extension: Manifest) -> tuple[str, str]:
    """Name and version of the bundle that is installed; empty when there is none."""
    bundle = mapping(mapping(kinds.status(extension).get("install")).get("bundle"))
    return text(bundle.get("name")), text(bundle.get("version"))


def explain(extension: Manifest | None, catalogs: Sequence[Manifest], package: str) -> Explanation:
    """How a ClusterExtension stands, and why."""
    if extension is None:
        return Explanation(
            standing=Standing.BLOCKED,
            cause="not-installed",
            message=f"no ClusterExtension asks for `{package}`",
            hint=f"install it: `olmkit install {package} --olm v1`",
        )
    top = explanation.link(extension, _state(extension))
    progressing = _condition(extension, "Progressing")
    words = text(progressing.get("message"))
    reason = text(progressing.get("reason"))
    name, _ = installed(extension)
    if _is_old(extension, progressing):
        finding = Diagnosis(
            cause="waiting", message="OLM has not yet looked at it", standing=Standing.WAITING
        )
    elif (
        reason == "Succeeded"
        and name
        and _condition(extension, "Installed").get("status") == "True"
    ):
        return Explanation(
            standing=Standing.READY,
            cause="healthy",
            message=f"`{name}` is installed",
            hint=kinds.deprecation(extension),
            chain=(top,),
        )
    elif reason in ("Blocked", "InvalidConfiguration", "ProgressDeadlineExceeded"):
        finding = _of_words(words, catalogs, package, Standing.BLOCKED)
    elif reason == "Retrying":
        finding = _of_words(words, catalogs, package, Standing.STUCK)
    else:
        finding = Diagnosis(
            cause="waiting",
            message=explanation.first_line(words) or f"OLM is installing `{package}`",
            standing=Standing.WAITING,
        )
    return finding.below(top)


# A catalog that is `Blocked` is not tried again.
_TRIED = {"Retrying": Standing.STUCK, "Blocked": Standing.BLOCKED}


def of_catalog(catalog: Manifest) -> Diagnosis | None:
    """Why a ClusterCatalog is not served; None when it is."""
    serving = _condition(catalog, "Serving")
    if serving.get("status") == "True":
        return None
    name = objects.name(catalog)
    progressing = _condition(catalog, "Progressing")
    link = explanation.link(catalog, text(progressing.get("reason")) or "new")
    if text(serving.get("reason")) == "UserSpecifiedUnavailable":
        return Diagnosis(
            cause="catalog-switched-off",
            message=f"the catalog `{name}` is switched off",
            hint="set its `availabilityMode` to `Available`",
            links=(link,),
            standing=Standing.BLOCKED,
        )
    words = explanation.first_line(text(progressing.get("message")))
    standing = _TRIED.get(text(progressing.get("reason")), Standing.WAITING)
    is_tried = standing is not Standing.WAITING
    said = f": {words}" if is_tried and words else " yet"
    return Diagnosis(
        cause="catalog-not-ready",
        message=f"the catalog `{name}` is not served{said}",
        hint="see that its image can be pulled from the namespace of catalogd" if is_tried else "",
        links=(link,),
        standing=standing,
        blame=Blame.WORLD,
    )


Explain = Callable[[Mapping[str, str], str, Standing], Diagnosis]


def _of_words(
    words: str, catalogs: Sequence[Manifest], package: str, standing: Standing
) -> Diagnosis:
    for pattern, explain_ in _FRAGMENTS:
        found = pattern.search(words)
        if found is not None:
            if explain_ is _none:
                ailing = [one for catalog in catalogs if (one := of_catalog(catalog)) is not None]
                if ailing:
                    return ailing[0]
            return explain_(found.groupdict(), package, standing)
    return Diagnosis(
        cause="extension-fails",
        message=explanation.first_line(words) or "OLM gives no reason",
        standing=standing,
    )


def _none(part: Mapping[str, str], package: str, standing: Standing) -> Diagnosis:
    rest = part["rest"].strip()
    upgrade = part.get("from")
    if upgrade:
        return Diagnosis(
            cause="no-way",
            message=f"no catalog offers a way from version {upgrade} of `{package}` to what is "
            f"wanted{f' ({rest})' if rest else ''}",
            hint="`olmkit catalog graph` shows what replaces what",
            standing=standing,
        )
    return Diagnosis(
        cause="no-such-version" if rest else "no-such-package",
        message=f"no catalog has the package `{package}`{f' {rest}' if rest else ''}",
        hint="correct version and channels, or add a catalog that has it",
        standing=standing,
    )


def _ambiguous(part: Mapping[str, str], package: str, standing: Standing) -> Diagnosis:
    return Diagnosis(
        cause="several-catalogs",
        message=f"several catalogs of the same priority have `{package}`: {part['names']}",
        hint="choose one with `--catalog`, or give one of them a higher priority",
        standing=standing,
    )


def _dependency(part: Mapping[str, str], _: str, standing: Standing) -> Diagnosis:
    return Diagnosis(
        cause="dependencies-not-supported",
        message=f"`{part['bundle']}` needs other operators (`{part['type']}`), and OLM v1 "
        "resolves no dependencies",
        hint="install it with OLM v0",
        standing=standing,
    )


def _crd(part: Mapping[str, str], _: str, standing: Standing) -> Diagnosis:
    return Diagnosis(
        cause="crd-upgrade-unsafe",
        message=f"the new CustomResourceDefinition would break what is there: "
        f"{explanation.first_line(part['rest'])}",
        hint="publish one that only adds, or set `preflight.crdUpgradeSafety.enforcement` to "
        "`None` when you know better",
        standing=standing,
    )


def _range(part: Mapping[str, str], _: str, standing: Standing) -> Diagnosis:
    return Diagnosis(
        cause="bad-range",
        message=f"`{part['range']}` is no range of versions",
        hint="write `1.2.3`, `>=1.0.0 <2.0.0` or `1.x`",
        standing=standing,
    )


def _forbidden(part: Mapping[str, str], _: str, standing: Standing) -> Diagnosis:
    return Diagnosis(
        cause="service-account-forbidden",
        message=f"the service account of the ClusterExtension may not "
        f"{explanation.first_line(part['rest'])}",
        hint="bind it a role that allows what the bundle brings",
        standing=standing,
    )


_FROM = r'(?:error upgrading from currently installed version "(?P<from>[^"]*)": )?'
_FRAGMENTS: tuple[tuple[re.Pattern[str], Explain], ...] = (
    (
        re.compile(
            r"found bundles for package .* in multiple catalogs with the same priority "
            r"(?P<names>\[.*?\])",
            re.DOTALL,
        ),
        _ambiguous,
    ),
    (re.compile(_FROM + r'no bundles found for package "[^"]*"(?P<rest>[^;\n]*)'), _none),
    (
        re.compile(
            r'bundle "(?P<bundle>[^"]*)" has a dependency declared via property "(?P<type>[^"]*)"'
        ),
        _dependency,
    ),
    (re.compile(r'desired version range "(?P<range>[^"]*)" is invalid'), _range),
    (
        re.compile(
            r"(?i)(?:crd|customresourcedefinition)\b.*?upgrade[^:]*: (?P<rest>.*)", re.DOTALL
        ),
        _crd,
    ),
    (re.compile(r"is forbidden: User \S+ cannot (?P<rest>.*)"), _forbidden),
)


def _condition(manifest: Manifest, type_: str) -> Mapping[str, Any]:
    return next((one for one in kinds.conditions(manifest) if one.get("type") == type_), {})


def _is_old(extension: Manifest, progressing: Mapping[str, Any]) -> bool:
    """Whether the condition speaks of an earlier state of what is wanted, or there is none."""
    seen = kinds.number(progressing.get("observedGeneration"))
    wanted = kinds.number(objects.metadata(extension).get("generation"))
    return not progressing or seen < wanted


def _state(extension: Manifest) -> str:
    name, _ = installed(extension)
    progressing = _condition(extension, "Progressing")
    parts = [f"installed {name}" if name else "nothing installed"]
    if progressing:
        parts.append(text(progressing.get("reason")))
    return ", ".join(parts)
