"""The configuration of a repository of operators, and the pipeline that checks it.

Source: `config.yaml` of the repositories of OpenShift's catalogs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.kube import objects

FILE: Final = "config.yaml"
_MAX_PATTERN: Final = 200


class Target(StrEnum):
    """The pipelines, by the catalogs that they publish to."""

    OPERATORHUB = "operatorhub"
    OPENSHIFT = "openshift"
    CERTIFIED = "certified"


PROFILES: Final[Mapping[Target, str]] = {
    Target.OPERATORHUB: "operatorhub",
    Target.OPENSHIFT: "community",
    Target.CERTIFIED: "certified",
}
"""The profile of rules behind each pipeline."""

# The pipeline's name of a check, and the equivalent rules.
_CHECKS: Final[Mapping[str, tuple[str, ...]]] = {
    "check_api_version_constraints": ("OCP001", "OCP002"),
    "check_bundle_images_in_fbc": ("SUB051",),
    "check_bundle_release_config": ("SUB021", "SUB022", "SUB023"),
    "check_catalog_usage_ci_config": ("SUB014",),
    "check_ci_upgrade_graph": ("SUB015",),
    "check_dangling_bundles": ("SUB040",),
    "check_network_policy_presence": ("OCP003",),
    "check_olm_bundle_object_in_fbc": ("SUB050",),
    "check_operator_name": ("OCP004", "SUB030"),
    "check_operator_name_unique": ("SUB031",),
    "check_operator_version_directory_name": ("OCP005",),
    "check_pruned_graph": ("SUB045",),
    "check_replaces_availability": ("SUB042", "SUB043", "SUB044"),
    "check_schema_operator_ci_config": ("SUB012",),
    "check_upgrade_graph_loop": ("SUB041",),
    "check_using_fbc": ("SUB057",),
    "check_validate_schema_bundle_release_config": ("SUB020",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`waived` has, for each rule, patterns of the operators for which the repository waives it."""

    organization: str = ""
    registries: tuple[str, ...] = ()
    waived: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def waives(self, code: str, operator: str) -> bool:
        """Return whether the repository does not apply a rule to an operator."""
        return any(_matches(pattern, operator) for pattern in self.waived.get(code, ()))

    @property
    def target(self) -> Target:
        """Return the pipeline of the organization."""
        match self.organization:
            case "certified-operators" | "redhat-marketplace":
                return Target.CERTIFIED
            case "community-operators":
                return Target.OPENSHIFT
            case _:
                return Target.OPERATORHUB


def parse(data: bytes | None, path: str) -> Settings:
    """Return the settings in a file, or the defaults without one. Raises `InputError`."""
    value = objects.mapping(documents.load(data, path).value) if data else {}
    waived: dict[str, list[str]] = {}
    for item in objects.sequence(value.get("tests")):
        entry = objects.mapping(item)
        for code in _CHECKS.get(str(entry.get("name")), ()):
            waived.setdefault(code, []).extend(_texts(entry.get("ignore_operators")))
    return Settings(
        organization=objects.scalar_text(value.get("organization")),
        registries=_texts(value.get("allowed_bundle_registries")),
        waived={code: tuple(patterns) for code, patterns in waived.items()},
    )


def read(data: bytes | None, path: str) -> Settings:
    """Like `parse`; the defaults for an unreadable file, which its pipeline reports."""
    try:
        return parse(data, path)
    except InputError:
        return Settings()


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in objects.sequence(value) if isinstance(item, str))


def _matches(pattern: str, operator: str) -> bool:
    """Match regular expressions at the beginning; only their plain parts are read."""
    text = pattern[:_MAX_PATTERN]
    prefix = text.removeprefix("^")
    is_open = prefix.endswith(".*")
    prefix = prefix.removesuffix(".*")
    is_exact = prefix.endswith("$")
    plain = prefix.removesuffix("$").replace("\\", "")
    if re.fullmatch(r"[\w.-]*", plain) is None:
        return False
    return operator == plain if is_exact and not is_open else operator.startswith(plain)
