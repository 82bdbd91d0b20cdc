"""Resolve Go type expressions to the model of types.

The form of a type, and the part that markers of a field see, follow the reference generator. A type
without a form is a finding with a replacement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from olmkit.apis.findings import Findings
from olmkit.apis.go.model import (
    GoDeclaration,
    GoField,
    GoPackage,
    GoType,
    Map,
    Name,
    Other,
    Pointer,
    Slice,
    StructBody,
)
from olmkit.apis.go.packages import Library
from olmkit.apis.model import (
    ListType,
    MapType,
    Named,
    Scalar,
    TypeExpression,
    TypeReference,
    Untyped,
    WellKnown,
)
from olmkit.base.diagnostics import Location

META = "k8s.io/apimachinery/pkg/apis/meta/v1"
_BASICS: dict[str, Scalar] = {
    "bool": Scalar("boolean"),
    "string": Scalar("string"),
    **dict.fromkeys(
        ("int", "int8", "int16", "uint", "uint8", "uint16", "uintptr", "byte"), Scalar("integer")
    ),
    **dict.fromkeys(("int32", "uint32", "rune"), Scalar("integer", "int32")),
    **dict.fromkeys(("int64", "uint64"), Scalar("integer", "int64")),
    **dict.fromkeys(("float32", "float64"), Scalar("number")),
}
_REFUSED_BASICS = {
    "complex64": "a complex number",
    "complex128": "a complex number",
    "error": "an interface",
    "any": "an interface",
    "comparable": "an interface",
}
# Types whose schema is fixed, regardless of the declaration.
FIXED: dict[Named, str] = {
    Named(META, "ObjectMeta"): "ObjectMeta",
    Named(META, "Time"): "Time",
    Named(META, "MicroTime"): "MicroTime",
    Named(META, "Duration"): "Duration",
    Named(META, "Fields"): "Fields",
    Named("k8s.io/apimachinery/pkg/api/resource", "Quantity"): "Quantity",
    Named("k8s.io/apimachinery/pkg/util/intstr", "IntOrString"): "IntOrString",
    Named("k8s.io/apimachinery/pkg/runtime", "RawExtension"): "RawExtension",
    Named("k8s.io/apimachinery/pkg/apis/meta/v1/unstructured", "Unstructured"): "Unstructured",
    Named("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSON"): "JSON",
    Named("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1", "JSON"): "JSON",
}
# Names under which files import Kubernetes packages → the imported packages.
_USUAL_IMPORTS = {
    "appsv1": "k8s.io/api/apps/v1",
    "apiextensionsv1": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "batchv1": "k8s.io/api/batch/v1",
    "corev1": "k8s.io/api/core/v1",
    "intstr": "k8s.io/apimachinery/pkg/util/intstr",
    "metav1": META,
    "networkingv1": "k8s.io/api/networking/v1",
    "rbacv1": "k8s.io/api/rbac/v1",
    "resource": "k8s.io/apimachinery/pkg/api/resource",
}
# The marshalling methods of these types of the standard library.
_MARSHALERS: dict[Named, frozenset[str]] = {
    Named("time", "Time"): frozenset({"MarshalJSON", "MarshalText"}),
    Named("net/netip", "Addr"): frozenset({"MarshalText"}),
    Named("net/netip", "Prefix"): frozenset({"MarshalText"}),
    Named("net", "IP"): frozenset({"MarshalText"}),
    **dict.fromkeys(FIXED, frozenset({"MarshalJSON"})),
    Named(META, "ObjectMeta"): frozenset(),
}
_STANDARD_HINTS = {
    "time.Time": "use `metav1.Time`",
    "encoding/json.RawMessage": "use `apiextensionsv1.JSON` or `runtime.RawExtension`",
}
_TOO_DEEP = 100
_FREE_HINT = (
    "declare a named type, use `apiextensionsv1.JSON` for free content, or mark the field "
    "`+kubebuilder:validation:Schemaless` and `+kubebuilder:pruning:PreserveUnknownFields`"
)


@dataclass(frozen=True, slots=True)
class TypeScope:
    """The scope of names: a package, and the dot imports of the file."""

    package: GoPackage
    dots: tuple[str, ...] = ()


@dataclass(slots=True)
class TypeResolver:
    """Resolves type expressions of all packages of one project."""

    library: Library
    findings: Findings
    depth: int = 0
    _missing: set[Named] = field(default_factory=set)

    # Names

    def find(self, name: Name, scope: TypeScope) -> Named | None:
        """Return the declared type of a name; None for a built-in or unknown one."""
        if name.package:
            return Named(name.package, name.name)
        if name.name in scope.package.declarations:
            return Named(scope.package.path, name.name)
        for path in scope.dots:
            package = self.library.package(path)
            if package and name.name in package.declarations:
                return Named(path, name.name)
        return None

    def declaration(self, named: Named) -> tuple[GoDeclaration, TypeScope] | None:
        """Return a declaration and its scope of names; None if it is not available."""
        package = self.library.package(named.module)
        if package is None or named.name not in package.declarations:
            return None
        declaration = package.declarations[named.name]
        return declaration, TypeScope(package, declaration.dots)

    def underlying(self, kind: GoType, scope: TypeScope) -> tuple[GoType, TypeScope]:
        """Return the underlying type: a basic name, or an expression that is not a name."""
        for _ in range(_TOO_DEEP):
            if not isinstance(kind, Name):
                break
            named = self.find(kind, scope)
            found = self.declaration(named) if named else None
            if found is None:
                break
            declaration, scope = found
            kind = declaration.type
        return kind, scope

    def is_basic(self, kind: GoType, scope: TypeScope) -> str:
        """Return the name of the basic type that a type is based on, or an empty string."""
        under, _ = self.underlying(kind, scope)
        if isinstance(under, Name) and not under.package and under.name in _BASICS:
            return under.name
        return ""

    def methods(self, named: Named, depth: int = 0) -> frozenset[str]:
        """Return the names of a type's methods, including those of embedded types."""
        if named in _MARSHALERS:
            return _MARSHALERS[named]
        package = self.library.package(named.module)
        found = self.declaration(named)
        if package is None or found is None or depth > 10:
            return frozenset()
        own = package.methods.get(named.name, frozenset())
        declaration, scope = found
        if declaration.is_alias and isinstance(declaration.type, Name):
            target = self.find(declaration.type, scope)
            return self.methods(target, depth + 1) if target else own
        under, inner = self.underlying(declaration.type, scope)
        if not isinstance(under, StructBody):
            return own
        lent: list[frozenset[str]] = []
        for one in under.fields:
            if one.embedded:
                embedded = self.find(one.embedded, inner)
                if embedded and embedded != named:
                    lent.append(self.methods(embedded, depth + 1))
        # If two embedded types have the same method at one depth, neither is promoted.
        promoted = {name for methods in lent for name in methods}
        return own | {name for name in promoted if sum(name in m for m in lent) == 1}

    # Expressions

    def resolve(self, kind: GoType, scope: TypeScope, at: Location) -> TypeExpression:
        """Return the type in the model; one without a form becomes `Untyped` and a finding."""
        self.depth += 1
        try:
            if self.depth > _TOO_DEEP:
                return self.refuse(f"the type is nested more than {_TOO_DEEP} levels deep", at)
            return self._resolve(kind, scope, at)
        finally:
            self.depth -= 1

    def _resolve(self, kind: GoType, scope: TypeScope, at: Location) -> TypeExpression:
        match kind:
            case Name():
                return self._name(kind, scope, at)
            case Pointer(to=inner):
                return self.resolve(inner, scope, at)
            case Slice(item=item, length=length):
                if item == Name("byte") and not length and self.find(item, scope) is None:
                    return Scalar("string", "byte")
                return ListType(self.resolve(item, scope, at))
            case Map(key=key, value=value):
                return self._map(key, value, scope, at)
            case StructBody():
                return self.refuse(
                    "a struct inside a type cannot be expressed in a CRD",
                    at,
                    "declare it under a name",
                )
            case Other(what=what):
                return self.refuse(f"{what} cannot be expressed in a CRD", at, _FREE_HINT)

    def refuse(self, message: str, at: Location, hint: str = "") -> Untyped:
        self.findings.add("API006", message, at, hint=hint)
        return Untyped()

    def _map(self, key: GoType, value: GoType, scope: TypeScope, at: Location) -> TypeExpression:
        if not self._is_key(key, scope):
            self.refuse("keys of a map must be strings, or types that marshal to strings", at)
        is_value = isinstance(value, (Name, Slice, Map, Pointer))
        if not is_value:
            return MapType(
                self.refuse("the map's values cannot be expressed in a CRD", at, _FREE_HINT)
            )
        return MapType(self.resolve(value, scope, at))

    def _is_key(self, key: GoType, scope: TypeScope) -> bool:
        if not isinstance(key, Name):
            return False
        if self.is_basic(key, scope) == "string":
            return True
        named = self.find(key, scope)
        return named is not None and "MarshalText" in self.methods(named)

    def _name(self, name: Name, scope: TypeScope, at: Location) -> TypeExpression:
        named = self.find(name, scope)
        if named is None:
            return self._builtin(name, at)
        if named in FIXED:
            is_local = named.module == scope.package.path
            return self._reference(WellKnown(FIXED[named]), name, scope, is_local=is_local)
        found = self.declaration(named)
        if found is None:
            return self._unknown(named, at)
        declaration, inner = found
        if declaration.is_generic:
            return self.refuse(
                f"`{name.name}` is a generic type, which cannot be expressed in a CRD",
                at,
                "declare the type without type parameters",
            )
        if declaration.is_alias:
            return self._alias(declaration, named, inner, at)
        is_local = named.module == scope.package.path
        return self._reference(named, name, scope, is_local=is_local)

    def _alias(
        self, declaration: GoDeclaration, named: Named, scope: TypeScope, at: Location
    ) -> TypeExpression:
        """Return the type of an alias; an alias of a basic type is a separate type."""
        kind = declaration.type
        if not isinstance(kind, Name):
            return self.refuse(
                f"`{declaration.name}` is an alias of an unnamed type, which is not supported",
                at,
                f"declare it without the equals sign: `type {declaration.name} …`",
            )
        if self.find(kind, scope) is not None:
            return self.resolve(kind, scope, at)
        if kind.name in _BASICS:
            return TypeReference(named, is_scalar=True)
        return self._builtin(kind, at)

    def _reference(
        self, to: Named | WellKnown, name: Name, scope: TypeScope, *, is_local: bool
    ) -> TypeReference:
        """Return a named type with the part that markers of a field see."""
        under, inner = self.underlying(name, scope)
        match under:
            case Slice():
                return TypeReference(to, "array")
            case Map():
                return TypeReference(to, "object")
            case Name() if is_local and self.is_basic(under, inner):
                return TypeReference(to, is_scalar=True)
            case _:
                return TypeReference(to)

    def _builtin(self, name: Name, at: Location) -> TypeExpression:
        if name.name in _BASICS:
            return _BASICS[name.name]
        if name.name in _REFUSED_BASICS:
            return self.refuse(
                f"`{name.name}` is {_REFUSED_BASICS[name.name]}, which cannot be expressed "
                f"in a CRD",
                at,
                _FREE_HINT,
            )
        self.findings.add(
            "API007",
            f"the type `{name.name}` is not declared",
            at,
            hint="declare it in the package, or import the package that does",
        )
        return Untyped()

    def _unknown(self, named: Named, at: Location) -> TypeExpression:
        package = self.library.package(named.module)
        is_standard = "." not in named.module.partition("/")[0]
        if package is not None and not is_standard:
            self.findings.add(
                "API007", f"the package `{named.module}` declares no type `{named.name}`", at
            )
        elif package is None and named.module in _USUAL_IMPORTS:
            self.findings.add(
                "API007",
                f"the file does not import `{named.module}`",
                at,
                hint=f'add `{named.module} "{_USUAL_IMPORTS[named.module]}"` to its imports',
            )
        elif is_standard and not self.library.is_own(named.module):
            self.refuse(
                f"`{named.module}.{named.name}` of the standard library cannot be expressed "
                f"in a CRD",
                at,
                _STANDARD_HINTS.get(str(named), "use a string, or declare a type"),
            )
        elif named not in self._missing:
            self._missing.add(named)  # used in a hundred places, but reported once
            self.findings.add(
                "API007",
                f"the type `{named.module}.{named.name}` cannot be found: its package is not "
                f"in the project, in `vendor` or in the module cache",
                at,
                hint="run `go mod download` or `go mod vendor` once, or mark the field "
                "`+kubebuilder:validation:Schemaless`",
            )
        return Untyped()


def field_words(one: GoField) -> str:
    """Return the name of a field in findings."""
    if one.names:
        return f"`{', '.join(one.names)}`"
    return f"`{one.embedded.name}`" if one.embedded else "of an embedded type"
