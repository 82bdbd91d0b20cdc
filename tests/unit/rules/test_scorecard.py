"""The built-in tests of the scorecard, one error at a time; results are those of operator-sdk."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.bundle.scorecard.configuration import ScorecardTest
from olmkit.bundle.scorecard.results import ScorecardResult
from olmkit.rules import scorecard

CSV = "manifests/csv.yaml"
CRD = "manifests/crd.yaml"


def sample(**fields: Any) -> dict[str, Any]:
    head = {"apiVersion": "example.com/v1", "kind": "Cache", "metadata": {"name": "one"}}
    return head | {"spec": {"size": 1}} | fields


@pytest.fixture
def findings_for(minimal: Tree) -> Any:
    """Run a test on the minimal bundle with an API, samples, and the entry of the owned CRD."""

    def run(
        name: str, samples: Any, owned: dict[str, Any] | None = None, **version: Any
    ) -> ScorecardResult:
        csv_path = next(path for path in minimal if b"ClusterServiceVersion" in minimal.data(path))
        csv = yaml.safe_load(minimal.data(csv_path))
        text = samples if isinstance(samples, str) else json.dumps(samples)
        csv["metadata"].setdefault("annotations", {})["alm-examples"] = text
        entry = {"name": "caches.example.com", "version": "v1", "kind": "Cache", **(owned or {})}
        csv["spec"]["customresourcedefinitions"] = {"owned": [entry]}
        properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "caches.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"kind": "Cache", "plural": "caches"},
                "scope": "Namespaced",
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": schema, **version}
                ],
            },
        }
        files = {path: file.data for path, file in minimal.items() if b"kind: Cu" not in file.data}
        files |= {csv_path: yaml.safe_dump(csv).encode(), CRD: yaml.safe_dump(crd).encode()}
        [found] = scorecard.run(name, layout.read(Tree(files), "bundle"))
        return found

    return run


@pytest.mark.parametrize(
    ("samples", "state", "errors", "suggestions"),
    [
        ([sample()], "pass", (), ()),
        ("", "pass", (), ()),
        ("null", "pass", (), ()),
        ([sample(spec=None), sample(spec=None)], "pass", (), ("spec missing from [one]",)),
        ("[", "fail", "error getting custom resources: failed to parse alm-examples", ()),
        ({}, "fail", "the examples are not a list", ()),
        ([{"spec": {}}], "fail", "Object 'Kind' is missing", ()),
    ],
)
def test_basic_check_spec_requires_samples_with_spec(
    findings_for: Any, samples: Any, state: str, errors: Any, suggestions: Any
) -> None:
    found = findings_for("basic-check-spec", samples)
    assert (found.name, found.state, found.suggestions) == ("basic-check-spec", state, suggestions)
    if isinstance(errors, str):
        assert errors in found.errors[0]
    else:
        assert found.errors == errors


@pytest.mark.parametrize(
    ("samples", "version", "state", "suggestions"),
    [
        ([sample()], {}, "pass", ()),
        ([sample(kind="CACHE")], {}, "pass", ()),
        ([sample(apiVersion="other.org/v1")], {}, "pass", ()),
        ([sample(apiVersion="example.com/v2", spec={"x": 1})], {}, "pass", ()),
        (
            [sample(spec={"x": 1, "size": 1}, status={"y": 1})],
            {},
            "fail",
            (
                "Add CRD validation for spec field `x` in Cache/v1",
                "Add CRD validation for status field `y` in Cache/v1",
            ),
        ),
        ([sample()], {"schema": None}, "pass", ("Add CRD validation for Cache/v1",)),
    ],
)
def test_olm_crds_have_validation_requires_schemas(
    findings_for: Any, samples: Any, version: Any, state: str, suggestions: Any
) -> None:
    found = findings_for("olm-crds-have-validation", samples, **version)
    assert (found.state, found.errors, found.suggestions) == (state, (), suggestions)
    assert found.log.splitlines() == [
        f"Loaded {len(samples)} Custom Resources from alm-examples",
        "Loaded CustomresourceDefinitions: [caches.example.com]",
    ]


def test_samples_that_are_not_json_are_an_error_of_the_other_tests(findings_for: Any) -> None:
    for name in ("olm-crds-have-validation", "olm-spec-descriptors", "olm-status-descriptors"):
        found = findings_for(name, "[")
        assert found.state == "error"
        assert found.errors[0].startswith("failed to parse alm-examples annotation: line 1")


@pytest.mark.parametrize("part", ["spec", "status"])
def test_a_part_that_is_not_an_object_fails_without_a_crash(findings_for: Any, part: str) -> None:
    found = findings_for("olm-crds-have-validation", [sample(**{part: [1]})])
    assert found.state == "fail"
    assert found.errors == (f"the {part} of the sample one is not an object",)


def test_olm_crds_have_resources_requires_resources(findings_for: Any) -> None:
    found = findings_for("olm-crds-have-resources", [sample()])
    assert found.errors == ("Owned CRDs do not have resources specified",)
    owned = {"resources": [{"kind": "Pod", "version": "v1"}]}
    assert findings_for("olm-crds-have-resources", [sample()], owned).state == "pass"


@pytest.mark.parametrize(
    ("samples", "owned", "state", "errors", "suggestions"),
    [
        (
            [sample()],
            {},
            "fail",
            ("size does not have a spec descriptor",),
            ("Add a spec descriptor for size",),
        ),
        ([sample()], {"specDescriptors": [{"path": "size"}]}, "pass", (), ()),
        ([sample(spec=None)], {}, "fail", ("the sample one has no spec",), ()),
        (
            [sample(kind="Other")],
            {},
            "fail",
            ("Failed to find an owned CRD for CR one with GVK example.com/v1, Kind=Other",),
            (),
        ),
        ([sample(spec=[])], {}, "fail", ("the spec of the sample one is not an object",), ()),
    ],
)
def test_olm_spec_descriptors_requires_descriptors_of_fields(
    findings_for: Any, samples: Any, owned: Any, state: str, errors: Any, suggestions: Any
) -> None:
    found = findings_for("olm-spec-descriptors", samples, owned)
    assert (found.state, found.errors, found.suggestions) == (state, errors, suggestions)


@pytest.mark.parametrize(
    ("samples", "owned", "state", "errors", "suggestion"),
    [
        ([sample()], {}, "pass", (), "caches.example.com does not have status spec. Note that"),
        ([sample(status={})], {}, "pass", (), "caches.example.com does not have status spec"),
        (
            [sample(status={"a": 1})],
            {},
            "fail",
            ("caches.example.com does not have a status descriptor",),
            "add status descriptor for the crd caches.example.com. If your project",
        ),
        ([sample(status={"a": 1})], {"statusDescriptors": [{"path": "b"}]}, "pass", (), ""),
        ([sample(status="x")], {}, "fail", ("the status of the sample one is not an object",), ""),
    ],
)
def test_olm_status_descriptors_requires_descriptors_of_fields(
    findings_for: Any, samples: Any, owned: Any, state: str, errors: Any, suggestion: str
) -> None:
    found = findings_for("olm-status-descriptors", samples, owned)
    assert (found.state, found.errors) == (state, errors)
    assert "".join(found.suggestions).startswith(suggestion)
    assert len(found.suggestions) == bool(suggestion)


def test_olm_bundle_validation_reports_the_findings_of_rules(findings_for: Any) -> None:
    found = findings_for("olm-bundle-validation", [sample(kind="Other")])
    assert found.state == "fail"
    assert any("CSV014" in error for error in found.errors)
    assert any("CSV015" in suggestion for suggestion in found.suggestions)
    assert all(": " in one for one in (*found.errors, *found.suggestions))


@pytest.mark.parametrize(
    ("path", "content", "state"),
    [
        ("manifests/zz.yaml", b"", "fail"),  # an empty file ends operator-sdk's reader
        ("manifests/zz.yaml", b"# a licence\n\n", "pass"),  # a file without a value does not
        ("metadata/annotations.yaml", b"annotations: {}\n", "fail"),
    ],
)
def test_a_file_that_operator_sdk_does_not_load_fails(
    minimal: Tree, path: str, content: bytes, state: str
) -> None:
    bundle = layout.read(minimal.merge({path: content}), "bundle")
    [found] = scorecard.run("basic-check-spec", bundle)
    assert found.state == state


def test_a_bundle_that_cannot_be_loaded_fails_every_test(minimal: Tree) -> None:
    bundle = layout.read(minimal.merge({"manifests/broken.yaml": b"a: ["}), "bundle")
    for name in scorecard.TESTS:
        [found] = scorecard.run(name, bundle)
        assert found.state == "fail"
        assert found.errors[0] == "the bundle cannot be loaded"
        assert "bundle/manifests/broken.yaml" in found.errors[1]


def test_an_unknown_name_fails_with_the_valid_ones(minimal: Tree) -> None:
    [found] = scorecard.run("other", layout.read(minimal, "bundle"))
    assert found.state == "fail"
    assert found.errors[0].startswith("Valid tests for this image include: olm-bundle-validation, ")


@pytest.mark.parametrize(
    ("image", "entrypoint", "name"),
    [
        ("quay.io/operator-framework/scorecard-test:v1.42.3", ("scorecard-test", "a"), "a"),
        ("mirror:5000/scorecard-test@sha256:00", ("/usr/bin/scorecard-test", "a"), "a"),
        ("quay.io/operator-framework/scorecard-test", ("scorecard-test",), ""),
        ("quay.io/operator-framework/scorecard-test-kuttl:v1", ("scorecard-test", "a"), None),
        ("quay.io/example/own:v1", ("scorecard-test", "a"), None),
        ("quay.io/operator-framework/scorecard-test:v1", ("own",), None),
        ("quay.io/operator-framework/scorecard-test:v1", (), None),
    ],
)
def test_built_in_tests_are_recognized_by_image_and_program(
    image: str, entrypoint: tuple[str, ...], name: str | None
) -> None:
    assert scorecard.name_of(ScorecardTest(image, entrypoint)) == name
