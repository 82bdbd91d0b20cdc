"""The names of Python's types, of pydantic's and of olmkit's: what a field of each is in a CRD."""

from __future__ import annotations

from typing import Final

from olmkit.apis.model import Scalar, TypeExpression, WellKnown

_KINDS = ("olmkit", "olmkit.runtime", "olmkit.runtime.kinds")
OURS: dict[str, TypeExpression] = {
    "Int32": Scalar("integer", "int32"),
    "Int64": Scalar("integer", "int64"),
    **{
        name: WellKnown(name)
        for name in (
            "Quantity",
            "IntOrString",
            "RawExtension",
            "JSON",
            "Duration",
            "Time",
            "MicroTime",
            "ObjectMeta",
            "Condition",
        )
    },
}
PLAIN: dict[str, TypeExpression] = {
    "builtins.bool": Scalar("boolean"),
    "builtins.str": Scalar("string"),
    "builtins.bytes": Scalar("string", "byte"),
    "builtins.int": Scalar("integer"),
    "builtins.float": Scalar("number"),
    "datetime.datetime": Scalar("string", "date-time"),
    "datetime.timedelta": Scalar("string"),
    **{f"{module}.{name}": kind for module in _KINDS for name, kind in OURS.items()},
}
TYPING = ("typing", "typing_extensions")
# Names that users write before they import them → the import.
_ORIGINS: Final = {
    **{
        name: f"from {module} import {name}"
        for module, found in (
            ("olmkit.runtime", (*OURS, "CustomResource", "Model")),
            ("typing", ("Annotated", "Any", "ClassVar", "Literal", "Optional", "Union")),
            ("typing", ("Dict", "FrozenSet", "List", "Set", "Tuple")),
            ("collections.abc", ("Mapping", "MutableMapping", "Sequence")),
            ("datetime", ("datetime", "timedelta")),
            ("dataclasses", ("dataclass",)),
            ("enum", ("Enum", "IntEnum", "StrEnum")),
            ("pydantic", ("BaseModel", "HttpUrl", "PositiveInt", "NonNegativeInt")),
            ("msgspec", ("Struct",)),
        )
        for name in found
    },
    "msgspec": "import msgspec",
    "pydantic": "import pydantic",
    "typing": "import typing",
}
PYDANTIC = ("pydantic", "pydantic.types", "pydantic.networks")
# Pydantic's own names: the type, and its built-in limit.
LIMITED: dict[str, tuple[Scalar, tuple[tuple[str, int], ...]]] = {
    **{
        f"{prefix}{name}": (Scalar(kind), ((keyword, 0),))
        for prefix, keyword in (
            ("Positive", "exclusive minimum"),
            ("NonNegative", "minimum"),
            ("Negative", "exclusive maximum"),
            ("NonPositive", "maximum"),
        )
        for name, kind in (("Int", "integer"), ("Float", "number"))
    },
    "StrictInt": (Scalar("integer"), ()),
    "StrictStr": (Scalar("string"), ()),
    "StrictBool": (Scalar("boolean"), ()),
    "StrictFloat": (Scalar("number"), ()),
    "StrictBytes": (Scalar("string", "byte"), ()),
    "SecretStr": (Scalar("string", "password"), ()),
    "EmailStr": (Scalar("string", "email"), ()),
    **{name: (Scalar("string", "uri"), ()) for name in ("AnyUrl", "AnyHttpUrl", "HttpUrl")},
    **{name: (Scalar("string", "uuid"), ()) for name in ("UUID1", "UUID3", "UUID4", "UUID5")},
    **{
        name: (Scalar("string", "date-time"), ())
        for name in ("AwareDatetime", "NaiveDatetime", "PastDatetime", "FutureDatetime")
    },
}
# Calls that create a limited type; the first argument of the last two is the item type.
MAKERS: dict[str, TypeExpression | None] = {
    "conint": Scalar("integer"),
    "confloat": Scalar("number"),
    "constr": Scalar("string"),
    "conlist": None,
    "conset": None,
}


def typing_names(*names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module in TYPING for name in names)


_COLLECTIONS = "collections.abc"
LISTS = typing_names("List", "Sequence", "Tuple", "Collection", "Iterable") | {
    "builtins.list",
    "builtins.tuple",
    *(f"{_COLLECTIONS}.{name}" for name in ("Sequence", "Collection", "Iterable")),
}
SETS = typing_names("Set", "FrozenSet", "AbstractSet") | {
    "builtins.set",
    "builtins.frozenset",
    f"{_COLLECTIONS}.Set",
}
MAPS = typing_names("Dict", "Mapping", "MutableMapping") | {
    "builtins.dict",
    f"{_COLLECTIONS}.Mapping",
    f"{_COLLECTIONS}.MutableMapping",
}
WRAPPERS = typing_names("Required", "NotRequired", "Final", "ReadOnly")
SKIPPED = typing_names("ClassVar") | {"dataclasses.InitVar"}
UNTYPED = typing_names("Any") | {"builtins.object"}
ABSENT = frozenset({"msgspec.UnsetType", "msgspec._core.UnsetType"})
KNOWN: Final = (
    frozenset(PLAIN)
    | (LISTS | SETS | MAPS | WRAPPERS | SKIPPED | UNTYPED | ABSENT)
    | typing_names("Annotated", "Optional", "Union", "Literal", "NewType", "TypeAlias", "Generic")
    | {f"{module}.{name}" for module in PYDANTIC for name in (*LIMITED, *MAKERS)}
)
"""Dotted names of other libraries that are types."""


def import_hint(name: str) -> str:
    """Return the import of a name that a module lacks, if it is a known one."""
    origin = _ORIGINS.get(name.partition(".")[0])
    if origin is None:
        return "import it, or declare it in the package"
    return f"add `{origin}`"
