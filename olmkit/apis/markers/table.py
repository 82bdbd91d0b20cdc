"""All known markers, with their levels and arguments.

Reading, hints, warnings about typos, and the reference page in the documentation are based on this
table.
"""

from __future__ import annotations

from olmkit.apis.markers.language import Argument, MarkerDefinition, MarkerLevel, MarkerRegistry
from olmkit.apis.markers.values import MarkerListOf, MarkerScalar, ValueType

_P, _T, _F = MarkerLevel.PACKAGE, MarkerLevel.TYPE, MarkerLevel.FIELD
_STRINGS = MarkerListOf(MarkerScalar.STRING)
VALIDATION = "kubebuilder:validation:"
ITEMS = "kubebuilder:validation:items:"
CSV = "operator-sdk:csv:customresourcedefinitions"


def _flag(
    name: str, levels: tuple[MarkerLevel, ...], doc: str, *, is_used: bool = True
) -> MarkerDefinition:
    return MarkerDefinition(name=name, levels=frozenset(levels), doc=doc, is_used=is_used)


def _valued(
    name: str,
    levels: tuple[MarkerLevel, ...],
    kind: ValueType,
    doc: str,
    *,
    required: bool = True,
    is_used: bool = True,
    drops_comment: bool = False,
) -> MarkerDefinition:
    return MarkerDefinition(
        name=name,
        levels=frozenset(levels),
        arguments=(Argument("", kind, required),),
        doc=doc,
        is_used=is_used,
        drops_comment=drops_comment,
    )


def _named(
    name: str,
    levels: tuple[MarkerLevel, ...],
    doc: str,
    /,
    **arguments: ValueType | tuple[ValueType],
) -> MarkerDefinition:
    """Declare named arguments; those whose type is in a tuple are required."""
    return MarkerDefinition(
        name=name,
        levels=frozenset(levels),
        doc=doc,
        arguments=tuple(
            Argument(key, kind[0], True) if isinstance(kind, tuple) else Argument(key, kind, False)
            for key, kind in arguments.items()
        ),
    )


# The validation family is valid on fields and types, and with `items:` for the items of a list.
_VALIDATION: tuple[tuple[str, ValueType | None, str], ...] = (
    ("Maximum", MarkerScalar.BOUND, "The largest number allowed."),
    ("Minimum", MarkerScalar.BOUND, "The smallest number allowed."),
    ("ExclusiveMaximum", MarkerScalar.BOOL, "The maximum itself is not allowed."),
    ("ExclusiveMinimum", MarkerScalar.BOOL, "The minimum itself is not allowed."),
    ("MultipleOf", MarkerScalar.NUMBER, "The number must be a multiple of this."),
    ("MaxLength", MarkerScalar.INT, "The largest length of a string."),
    ("MinLength", MarkerScalar.INT, "The smallest length of a string."),
    ("Pattern", MarkerScalar.STRING, "A regular expression that the string must match."),
    ("MaxItems", MarkerScalar.COUNT, "The largest number of items."),
    ("MinItems", MarkerScalar.INT, "The smallest number of items."),
    (
        "UniqueItems",
        MarkerScalar.BOOL,
        "Items must be unique; API servers refuse this: use `listType=set`.",
    ),
    ("MaxProperties", MarkerScalar.INT, "The largest number of keys."),
    ("MinProperties", MarkerScalar.INT, "The smallest number of keys."),
    ("Enum", MarkerListOf(MarkerScalar.ANY), "The values that are allowed."),
    ("Format", MarkerScalar.STRING, "The OpenAPI format of the value."),
    ("Type", MarkerScalar.STRING, "The OpenAPI type, instead of the computed one."),
    ("XPreserveUnknownFields", None, "Keep fields that the schema does not declare."),
    ("XEmbeddedResource", None, "The value is a complete Kubernetes object."),
    ("XIntOrString", None, "The value is an integer or a string."),
)

_RULE: dict[str, ValueType | tuple[ValueType]] = {
    "rule": (MarkerScalar.STRING,),
    "message": MarkerScalar.STRING,
    "messageExpression": MarkerScalar.STRING,
    "reason": MarkerScalar.STRING,
    "fieldPath": MarkerScalar.STRING,
    "optionalOldSelf": MarkerScalar.BOOL,
}


def _validation_family() -> list[MarkerDefinition]:
    found: list[MarkerDefinition] = []
    for prefix in (VALIDATION, ITEMS):
        found.append(_named(prefix + "XValidation", (_F, _T), "A rule in CEL.", **_RULE))
        for name, kind, doc in _VALIDATION:
            if kind is None:
                found.append(_flag(prefix + name, (_F, _T), doc))
            else:
                found.append(_valued(prefix + name, (_F, _T), kind, doc))
    return found


_SCHEMA = [
    _flag(VALIDATION + "Required", (_F, _P), "The field is required."),
    _flag(
        VALIDATION + "Optional", (_F, _P), "The field, or each field of the package, is optional."
    ),
    _flag("required", (_F,), "The field is required."),
    _flag("optional", (_F,), "The field is optional."),
    _flag("k8s:required", (_F,), "The field is required and must not be empty."),
    _flag("k8s:optional", (_F,), "The field is optional."),
    _valued("k8s:minimum", (_F,), MarkerScalar.BOUND, "The smallest number.", drops_comment=True),
    _valued("k8s:maximum", (_F,), MarkerScalar.BOUND, "The largest number.", drops_comment=True),
    _valued(
        "k8s:maxItems",
        (_F,),
        MarkerScalar.COUNT,
        "The largest number of items.",
        drops_comment=True,
    ),
    _flag("nullable", (_F,), "The value may be null."),
    _valued("kubebuilder:default", (_F,), MarkerScalar.ANY, "The default value."),
    _valued("default", (_F,), MarkerScalar.JSON, "The default value, as JSON."),
    _valued("kubebuilder:example", (_F,), MarkerScalar.ANY, "An example."),
    _valued("kubebuilder:title", (_F, _T), MarkerScalar.ANY, "A title."),
    _named(
        "kubebuilder:externalDocs",
        (_F, _T),
        "A link to more documentation.",
        url=(MarkerScalar.STRING,),
        description=MarkerScalar.STRING,
    ),
    _flag(VALIDATION + "EmbeddedResource", (_F,), "The value is a complete Kubernetes object."),
    _flag(VALIDATION + "Schemaless", (_F,), "The type is ignored; only markers count."),
    _flag("kubebuilder:pruning:PreserveUnknownFields", (_F, _T), "Keep unknown fields."),
    _valued("listType", (_F, _T), MarkerScalar.STRING, "How lists merge: map, set, atomic."),
    _valued("k8s:listType", (_F, _T), MarkerScalar.STRING, "How lists merge: map, set, atomic."),
    _valued("listMapKey", (_F, _T), MarkerScalar.STRING, "A key field of the items; may repeat."),
    _valued(
        "k8s:listMapKey", (_F, _T), MarkerScalar.STRING, "A key field of the items; may repeat."
    ),
    _valued("mapType", (_F, _T), MarkerScalar.STRING, "How maps merge: granular, atomic."),
    _valued("structType", (_F, _T), MarkerScalar.STRING, "How objects merge: granular, atomic."),
    _flag("k8s:immutable", (_F,), "The field cannot change once it is set."),
    _flag("k8s:enum", (_T, _F), "Sort the values, as Kubernetes does in its enums."),
    _valued(VALIDATION + "AtMostOneOf", (_T,), _STRINGS, "At most one of these fields."),
    _valued(VALIDATION + "ExactlyOneOf", (_T,), _STRINGS, "Exactly one of these fields."),
    _valued(VALIDATION + "AtLeastOneOf", (_T,), _STRINGS, "At least one of these fields."),
    _flag("olmkit:nodefault", (_F,), "The default in Python is not a default of the schema."),
]

_CRD = [
    _named(
        "kubebuilder:resource",
        (_T,),
        "Names and scope of the resource.",
        path=MarkerScalar.STRING,
        shortName=_STRINGS,
        categories=_STRINGS,
        singular=MarkerScalar.STRING,
        scope=MarkerScalar.STRING,
    ),
    _flag("kubebuilder:subresource:status", (_T,), "The status is a subresource."),
    _named(
        "kubebuilder:subresource:scale",
        (_T,),
        "The scale is a subresource, for `kubectl scale`.",
        specpath=(MarkerScalar.STRING,),
        statuspath=(MarkerScalar.STRING,),
        selectorpath=MarkerScalar.STRING,
    ),
    _named(
        "kubebuilder:printcolumn",
        (_T,),
        "A column of `kubectl get`.",
        name=(MarkerScalar.STRING,),
        type=(MarkerScalar.STRING,),
        JSONPath=(MarkerScalar.STRING,),
        description=MarkerScalar.STRING,
        format=MarkerScalar.STRING,
        priority=MarkerScalar.INT,
    ),
    _flag("kubebuilder:storageversion", (_T,), "Objects are stored in this version."),
    _flag("kubebuilder:unservedversion", (_T,), "This version is not served."),
    _named(
        "kubebuilder:deprecatedversion",
        (_T,),
        "The version is deprecated, and users get a warning.",
        warning=MarkerScalar.STRING,
    ),
    _flag("kubebuilder:skipversion", (_T,), "This version is omitted from the CRD."),
    _named(
        "kubebuilder:selectablefield",
        (_T,),
        "A field that field selectors can use.",
        JSONPath=(MarkerScalar.STRING,),
    ),
    _named(
        "kubebuilder:metadata",
        (_T,),
        "Labels and annotations of the CRD.",
        annotations=_STRINGS,
        labels=_STRINGS,
    ),
    _valued(
        "groupName", (_P,), MarkerScalar.STRING, "The API group of the package.", required=False
    ),
    _valued("versionName", (_P,), MarkerScalar.STRING, "The API version of the package."),
    _flag("kubebuilder:skip", (_P,), "The package is skipped."),
]

_RBAC = [
    _named(
        "kubebuilder:rbac",
        (_P,),
        "A rule of the operator's role.",
        groups=_STRINGS,
        resources=_STRINGS,
        resourceNames=_STRINGS,
        verbs=(_STRINGS,),
        urls=_STRINGS,
        namespace=MarkerScalar.STRING,
        roleName=MarkerScalar.STRING,
    ),
]

_WEBHOOK = [
    _named(
        "kubebuilder:webhook",
        (_P,),
        "An admission webhook.",
        mutating=(MarkerScalar.BOOL,),
        failurePolicy=(MarkerScalar.STRING,),
        groups=(_STRINGS,),
        resources=(_STRINGS,),
        verbs=(_STRINGS,),
        versions=(_STRINGS,),
        name=(MarkerScalar.STRING,),
        admissionReviewVersions=(_STRINGS,),
        path=MarkerScalar.STRING,
        url=MarkerScalar.STRING,
        serviceName=MarkerScalar.STRING,
        serviceNamespace=MarkerScalar.STRING,
        servicePort=MarkerScalar.INT,
        matchPolicy=MarkerScalar.STRING,
        sideEffects=MarkerScalar.STRING,
        timeoutSeconds=MarkerScalar.INT,
        reinvocationPolicy=MarkerScalar.STRING,
        webhookVersions=_STRINGS,
        patch=MarkerScalar.STRING,
    ),
    _named(
        "kubebuilder:webhookconfiguration",
        (_P,),
        "The name of a webhook configuration.",
        mutating=(MarkerScalar.BOOL,),
        name=MarkerScalar.STRING,
    ),
]

_CSV = [
    _named(
        CSV,
        (_T,),
        "How the kind is shown to users.",
        displayName=MarkerScalar.STRING,
        resources=MarkerListOf(MarkerListOf(MarkerScalar.STRING)),
        order=MarkerScalar.INT,
    ),
    _named(
        CSV,
        (_F,),
        "How the field is shown to users.",
        type=MarkerScalar.STRING,
        displayName=MarkerScalar.STRING,
        xDescriptors=_STRINGS,
        order=MarkerScalar.INT,
    ),
]

_OTHERS = "Read by other generators."
_EXTERNAL = [
    _valued("kubebuilder:object:generate", (_P, _T), MarkerScalar.BOOL, _OTHERS, is_used=False),
    _valued("kubebuilder:object:root", (_T,), MarkerScalar.BOOL, _OTHERS, is_used=False),
    _valued("k8s:deepcopy-gen", (_P, _T), MarkerScalar.RAW, _OTHERS, is_used=False, required=False),
    _valued("k8s:deepcopy-gen:interfaces", (_T,), MarkerScalar.STRING, _OTHERS, is_used=False),
    _valued("kubebuilder:ac:generate", (_P, _T), MarkerScalar.BOOL, _OTHERS, is_used=False),
    _valued("kubebuilder:ac:output:package", (_P,), MarkerScalar.STRING, _OTHERS, is_used=False),
    _flag("genclient", (_T,), _OTHERS, is_used=False),
    _flag("genclient:nonNamespaced", (_T,), _OTHERS, is_used=False),
]

REGISTRY = MarkerRegistry(
    [*_validation_family(), *_SCHEMA, *_CRD, *_RBAC, *_WEBHOOK, *_CSV, *_EXTERNAL]
)

# Families whose names are not listed: insertion points, documentation, other generators.
IGNORED_PREFIXES = (
    "kubebuilder:scaffold:",
    "kubebuilder:docs-gen:",
    "kubebuilder:object:",
    "k8s:openapi-",
    "k8s:conversion-gen",
    "k8s:defaulter-gen",
    "k8s:protobuf-gen",
    "k8s:prerelease-lifecycle-gen",
    "genclient",
    "groupGoName",
    "patchStrategy",
    "patchMergeKey",
)
