"""Placeholders: scaffolded values are found, and values of the user are not."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from olmkit.jobs.bundle import generate, validate
from olmkit.jobs.bundle.generate import BundleGenerateOptions
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.jobs.project import scaffold
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest
from olmkit.rules.publishing import placeholders

BASE = "init/config/manifests/bases/_project_.clusterserviceversion.yaml.tmpl"


def found(bundle: Path, profile: str = "operatorhub") -> list[str]:
    options = CheckOptions(profile=profile)
    (checked,) = validate.validate_bundles([str(bundle)], options)
    return [one.message for one in checked.diagnostics if one.rule == "HUB066"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "pond-operator"
    scaffold.init(place, InitRequest(domain="example.com", name="pond-operator"))
    scaffold.create_api(place, ApiRequest(group="nature", version="v1", kind="Pond"))
    return place


def test_all_scaffolded_placeholders_are_found(project: Path) -> None:
    generate.generate(project, BundleGenerateOptions(version="0.1.0"))
    messages = found(project / "bundle")
    for place in (
        "`metadata.annotations.description`",
        "`spec.description`",
        "`spec.links[0].url`",
        "`spec.maintainers[0].name`",
        "`spec.maintainers[0].email`",
        "the icon",
        "the image `example.com/pond-operator:v0.0.1`",
    ):
        assert [one for one in messages if one.startswith(place)], place
    assert found(project / "bundle", "default") == []


def test_values_of_the_user_are_not_placeholders(project: Path) -> None:
    base = project / "config/manifests/bases/pond-operator.clusterserviceversion.yaml"
    text = base.read_text()
    for pattern, written in (
        (r"What Pond Operator does, in one sentence", "Keeps ponds"),
        (r"(?s)What Pond Operator does, for people.*?first example\.", "Keeps ponds clean."),
        (r"url: https://example\.com", "url: https://ponds.example.com/docs"),
        (r"pond-operator@example\.com", "alex@example.com"),
        (r"Pond Operator maintainers", "Alex"),
        (r"base64data: \S+", "base64data: PHN2Zy8+"),
    ):
        text, count = re.subn(pattern, written, text)
        assert count, pattern
    base.write_text(text)
    scaffold.edit(project, EditRequest(image="quay.io/ponds/pond-operator:v0.1.0"))
    generate.generate(project, BundleGenerateOptions(version="0.1.0"))
    assert found(project / "bundle") == []


@pytest.mark.parametrize(
    ("image", "is_placeholder"),
    [
        ("controller:latest", True),
        ("controller", True),
        ("docker.io/library/controller:latest", True),
        ("example.com/pond-operator:v1", True),
        ("quay.io/ponds/controller:latest", False),
        ("registry.example.com/ponds/pond:v1", False),
    ],
)
def test_the_image_of_a_generator_is_found(project: Path, image: str, is_placeholder: bool) -> None:
    generate.generate(project, BundleGenerateOptions(version="0.1.0"))
    csv = project / "bundle/manifests/pond-operator.clusterserviceversion.yaml"
    text = re.sub(r"(?m)(image: ).*pond-operator.*$", rf"\g<1>{image}", csv.read_text())
    csv.write_text(text)
    messages = found(project / "bundle")
    assert (f"the image `{image}` is a placeholder" in messages) is is_placeholder


def test_the_icon_is_that_of_the_template(root: Path) -> None:
    text = (root / "olmkit/project/templates" / BASE).read_text()
    (data,) = re.findall(r"base64data: (\S+)", text)
    assert hashlib.sha256(data.encode()).hexdigest() == placeholders.ICON
