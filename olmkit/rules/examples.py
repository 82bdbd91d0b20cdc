"""Rules about the examples of a CSV: the custom resources in `alm-examples`.

The console offers them to users as templates, and tests create them, so an example must be JSON,
use an API that the operator provides, and match its schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from olmkit.base import texts
from olmkit.base.diagnostics import Severity
from olmkit.base.json import syntax_errors
from olmkit.bundle.model import GVK, Bundle, ClusterServiceVersion
from olmkit.kube import objects
from olmkit.kube.crds import field_errors, instances
from olmkit.rules import schemas
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

ALM_EXAMPLES = "alm-examples"
OLM_EXAMPLES = "olm.examples"


class AlmExamples(NamedTuple):
    """The examples of a CSV: their place, and the parsed objects."""

    csv: ClusterServiceVersion
    annotation: str
    items: tuple[Mapping[str, Any], ...] = ()
    syntax: str = ""
    shape: str = ""
    repeated: tuple[str, ...] = ()


@rule("CSV007", "no-annotations-in-csv", severity=Severity.WARNING)
def no_annotations_in_csv(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no annotations.

    Why: catalogs read examples, capabilities, categories and other data from annotations.

    Fix: write them below `metadata.annotations`.
    """
    csv = bundle.csv
    if csv is not None and not csv.annotations:
        yield Finding(
            "annotations not found",
            at=csv.at("metadata", "annotations"),
            hint="write at least `alm-examples` and `capabilities`",
        )


@rule("CSV008", "no-examples", severity=Severity.WARNING)
def no_examples(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no examples.

    Why: the console shows an example of each API, which users can edit.

    Fix: write the annotation `alm-examples`, a JSON list of custom resources;
    `olmkit bundle generate` creates it from the samples.
    """
    csv = bundle.csv
    if csv is not None and csv.annotations and not _annotation(csv):
        yield Finding(
            "example annotations not found",
            at=csv.at("metadata", "annotations"),
            hint="write `alm-examples`, a JSON list with one custom resource for each API",
        )


@rule("CSV009", "examples-twice", severity=Severity.WARNING)
def examples_twice(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has examples in both annotations.

    Why: tools then read only `alm-examples`.

    Fix: remove `olm.examples`.
    """
    csv = bundle.csv
    if csv is not None and ALM_EXAMPLES in csv.annotations and OLM_EXAMPLES in csv.annotations:
        yield Finding(
            "both `alm-examples` and `olm.examples` are present. Checking only `alm-examples`",
            at=csv.at_key("metadata", "annotations", OLM_EXAMPLES),
            hint="remove `olm.examples`",
        )


@rule("CSV010", "examples-syntax")
def examples_syntax(bundle: Bundle) -> Iterator[Finding]:
    """The examples are not JSON.

    Why: no tool can read them. YAML, comments and trailing commas are not valid JSON.

    Fix: correct the text at the reported position.
    """
    examples = examples_of(bundle)
    if examples is not None and examples.syntax:
        yield Finding(
            f"invalid example: `{examples.annotation}` is not JSON: {examples.syntax}",
            at=_at(examples),
            hint="write a JSON list of custom resources",
        )


@rule("CSV011", "examples-shape")
def examples_shape(bundle: Bundle) -> Iterator[Finding]:
    """The examples are not a list of Kubernetes objects.

    Why: tools expect a JSON list with a `kind` in each of its objects.

    Fix: put the objects into `[` and `]`.
    """
    examples = examples_of(bundle)
    if examples is not None and examples.shape:
        yield Finding(
            f"error decoding example CustomResource: {examples.shape}",
            at=_at(examples),
            hint="write a JSON list of objects with `apiVersion` and `kind`",
        )


@rule("CSV014", "example-not-provided")
def example_not_provided(bundle: Bundle) -> Iterator[Finding]:
    """An example has an API that the operator does not provide.

    Why: users cannot create the object. Examples must have an owned API.

    Fix: correct `apiVersion` and `kind`, add the API to the owned APIs, or remove the
    example.
    """
    examples = examples_of(bundle)
    if examples is None or not examples.csv.spec:
        return
    provided = set(provided_apis(examples.csv))
    missing = {gvk_of(item) for item in examples.items} - provided
    for gvk in sorted(missing):
        near = [other for other in sorted(provided) if other.kind == gvk.kind]
        yield Finding(
            f"{gvk}: example must have a provided API",
            at=_at(examples),
            hint=f"the CSV provides `{near[0].group}/{near[0].version}` of this kind"
            if near
            else "add the API to `spec.customresourcedefinitions.owned`, or remove the example",
        )


@rule("CSV015", "api-without-example", severity=Severity.WARNING)
def api_without_example(bundle: Bundle) -> Iterator[Finding]:
    """An API that the operator provides has no example.

    Why: the console shows an example of each API, which users can edit.

    Fix: add a custom resource of that API to `alm-examples`.
    """
    examples = examples_of(bundle)
    if examples is None or examples.syntax or examples.shape:
        return
    shown = {gvk_of(item) for item in examples.items}
    for gvk in sorted(set(provided_apis(examples.csv)) - shown):
        yield Finding(
            f"{texts.shorten(str(gvk))}: provided API should have an example annotation",
            at=_at(examples),
            hint=f"add a `{gvk.kind}` to `{examples.annotation}`",
        )


@rule("CSV070", "example-key-repeated", suite=SOUND_SUITE)
def example_key_repeated(bundle: Bundle) -> Iterator[Finding]:
    """An object in the examples has a duplicate key.

    Why: the last value takes effect without a warning. Usually a different key was
    intended.

    Fix: remove one of them.
    """
    examples = examples_of(bundle)
    for key in examples.repeated if examples else ():
        if examples is not None:
            yield Finding(
                f"key `{key}` is in an object of `{examples.annotation}` twice",
                at=_at(examples),
                hint="remove one of them",
            )


@rule("CSV071", "example-schema", severity=Severity.WARNING, suite=SOUND_SUITE)
def example_schema(bundle: Bundle) -> Iterator[Finding]:
    """An example does not match the schema of its API.

    Why: if a user creates it, the API server rejects it or drops unknown fields.

    Fix: correct the example, or the schema.
    """
    examples = examples_of(bundle)
    if examples is None:
        return
    for index, item in enumerate(examples.items):
        schema = schemas.schema_of(bundle, gvk_of(item))
        metadata = objects.mapping(item.get("metadata"))
        if schema is None:
            continue
        if not metadata.get("name") and not metadata.get("generateName"):
            yield Finding(
                f"the example of {gvk_of(item).kind} has no `metadata.name`", at=_at(examples)
            )
        # A status is dropped when a user creates the object.
        written = {key: value for key, value in item.items() if key != "status"}
        for keys, problem in instances.differences(written, schema):
            field = field_errors.path(keys)
            yield Finding(
                f"example {index + 1} ({gvk_of(item).kind}) does not match its schema: "
                f"{f'`{field}` ' if field else ''}{problem}",
                at=_at(examples),
            )


def examples_of(bundle: Bundle) -> AlmExamples | None:
    """Return the examples of the bundle's CSV; `None` if it has no annotation for them."""
    found: AlmExamples | None = bundle.once("examples", _find)
    return found


def _find(bundle: Bundle) -> AlmExamples | None:
    csv = bundle.csv
    annotation = _annotation(csv) if csv else ""
    return _read(csv, annotation) if csv and annotation else None


def provided_apis(csv: ClusterServiceVersion) -> Iterator[GVK]:
    """Yield the owned APIs whose names can be read."""
    yield from (api.gvk for api in csv.owned_crds if "." in api.name)
    yield from (api.gvk for api in csv.owned_api_services)


def gvk_of(item: Mapping[str, Any]) -> GVK:
    """Return the GVK that an entry of `alm-examples` declares."""
    return GVK.parse(
        objects.scalar_text(item.get("apiVersion")), objects.scalar_text(item.get("kind"))
    )


def _annotation(csv: ClusterServiceVersion) -> str:
    for name in (ALM_EXAMPLES, OLM_EXAMPLES):
        if name in csv.annotations:
            return name
    return ""


def _read(csv: ClusterServiceVersion, annotation: str) -> AlmExamples:
    text = csv.annotations[annotation]
    if not text:
        return AlmExamples(csv=csv, annotation=annotation)
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) != len(items):
            keys = [key for key, _ in items]
            repeated.extend(key for key in value if keys.count(key) > 1)
        return value

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        error = syntax_errors.same_on_each_python(error)
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
        return AlmExamples(csv=csv, annotation=annotation, syntax=problem)
    except (ValueError, RecursionError) as error:
        return AlmExamples(csv=csv, annotation=annotation, syntax=str(error)[:100])
    return AlmExamples(
        csv=csv,
        annotation=annotation,
        items=tuple(value) if not _shape_problem(value) and value else (),
        shape=_shape_problem(value),
        repeated=tuple(repeated),
    )


def _shape_problem(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, list):
        return "the examples are not a list"
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            return f"example {index + 1} is not an object"
        if not isinstance(item.get("kind"), str) or not item["kind"]:
            return f"Object 'Kind' is missing in example {index + 1}"
    return ""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not JSON")


def _at(examples: AlmExamples) -> Any:
    return examples.csv.at("metadata", "annotations", examples.annotation)
