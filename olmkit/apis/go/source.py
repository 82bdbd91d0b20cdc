"""Go source text → packages, kinds, fields, descriptions and markers.

The counterpart of `source` for Go. Markers of all packages of the project are read, so that typos
are found everywhere; types are followed only from the kinds, because types that no API uses need
not be valid in a CRD.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from olmkit.apis import import_cycles, model
from olmkit.apis.crds import schema_markers
from olmkit.apis.findings import Findings
from olmkit.apis.go import file, parser
from olmkit.apis.go import packages as go_packages
from olmkit.apis.go.model import GoDeclaration, GoField, GoPackage, GoType, StructBody
from olmkit.apis.go.model import Name as GoName
from olmkit.apis.go.packages import Library, Modules
from olmkit.apis.go.type_lookup import META, TypeResolver, TypeScope, field_words
from olmkit.apis.markers.language import Comment, Marker, MarkerLevel
from olmkit.apis.markers.reading import read_marker
from olmkit.apis.markers.table import VALIDATION
from olmkit.apis.model import (
    ApiPackage,
    Choice,
    Declaration,
    Field,
    Named,
    NamedType,
    Scalar,
    Sources,
    Struct,
    TypeExpression,
    Untyped,
)
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree

# No hand-written file is longer; a generated one is not an API.
MAX_SOURCE_SIZE = 16 * 1024 * 1024
_ROOTS = frozenset({Named(META, "TypeMeta"), Named(META, "ObjectMeta")})


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOptions:
    """`ignore_unexported`: fields that start with a small letter are not part of the API."""

    ignore_unexported: bool = False


def read(
    tree: Tree,
    module: str,
    modules: Modules,
    findings: Findings,
    *,
    prefix: str = "",
    options: GoOptions | None = None,
) -> Sources:
    """Return all `.go` files of a tree as the sources of one project.

    `module` is the module path of the tree's root, `modules` finds other packages; `prefix` is
    added before paths in findings. Errors are added to `findings`. Raises `ConfigurationError` if
    the extra `go` is not installed.
    """
    parser.check_installed()
    own: dict[str, GoPackage] = {}
    names: dict[str, str] = {}
    for folder, files in sorted(_folders(tree, prefix, findings).items()):
        path = posixpath.join(module, folder) if folder else module
        package = go_packages.read_package(path, files, findings, is_own=True, names=names)
        if package:
            own[path] = package
    import_cycles.check(
        {
            path: {other: at for other, at in package.imports.items() if other in own}
            for path, package in own.items()
        },
        findings,
    )
    library = Library(own, modules)
    sources = _Reader(library, findings, options or GoOptions()).sources()
    for name, (version, release) in sorted(library.approximated.items()):
        findings.add(
            "API025",
            f"`{name}` {version} is not in the module cache, so the types of {release} are used",
            Location(path=f"{prefix}go.mod"),
            hint="run `go mod download`; descriptions and fields may differ",
        )
    return sources


def _folders(tree: Tree, prefix: str, findings: Findings) -> Mapping[str, dict[str, bytes]]:
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for path in tree:
        if not path.endswith(".go"):
            continue
        data = tree.data(path)
        if len(data) > MAX_SOURCE_SIZE:
            message = (
                f"the file is {len(data) / 1e6:.0f} MB; the limit is {MAX_SOURCE_SIZE / 1e6:.0f} MB"
            )
            findings.add("API002", message, Location(path=prefix + path))
        else:
            found[posixpath.dirname(path)][prefix + path] = data
    return found


@dataclass(slots=True)
class _Reader:
    """Reads the declarations of one project, starting with its kinds."""

    library: Library
    findings: Findings
    options: GoOptions
    types: TypeResolver = field(init=False)
    declarations: dict[Named, Declaration] = field(default_factory=dict)
    packages: dict[str, ApiPackage] = field(default_factory=dict)
    _waiting: list[Named] = field(default_factory=list)
    _quiet: Findings = field(default_factory=Findings)

    def __post_init__(self) -> None:
        self.types = TypeResolver(self.library, self.findings)

    def sources(self) -> Sources:
        for path, package in self.library.own.items():
            self.packages[path] = self._package(package)
            self._check_markers(package)
        kinds: dict[str, list[Declaration]] = {}
        for path, package in self.library.own.items():
            kinds[path] = [
                self._struct(Named(path, name), declaration, scope, True)
                for name, declaration in package.declarations.items()
                if self._is_kind(declaration, scope := TypeScope(package, declaration.dots))
                and not self.packages[path].is_skipped
            ]
            self.declarations.update({kind.name: kind for kind in kinds[path]})
        self._follow()
        whole = {
            path: replace(package, declarations=tuple(kinds[path]))
            for path, package in self.packages.items()
            if path in kinds
        }
        return Sources(
            packages=tuple(whole.values()),
            declarations=self.declarations,
            package_of={name: self._package_of(name.module) for name in self.declarations},
        )

    # Packages and markers

    def _package_of(self, path: str) -> ApiPackage:
        if path not in self.packages:
            package = self.library.package(path)
            at = package.at if package else Location(path=path)
            self.packages[path] = (
                self._package(package)
                if package
                else ApiPackage(module=path, at=at, group=None, version="")
            )
        return self.packages[path]

    def _package(self, package: GoPackage) -> ApiPackage:
        is_own = self.library.is_own(package.path)
        markers = self._markers(package.comments, MarkerLevel.PACKAGE, is_own=is_own)
        group = next((m for m in markers if m.name == "groupName"), None)
        version = next((m.value for m in markers if m.name == "versionName"), package.name)
        return ApiPackage(
            module=package.path,
            at=group.at if group else package.at,
            group=group.value if group else None,
            version=version,
            markers=markers,
            is_skipped=any(m.name == "kubebuilder:skip" for m in markers),
            optional_by_default=any(m.name == VALIDATION + "Optional" for m in markers),
        )

    def _markers(
        self, comments: Iterable[Comment], level: MarkerLevel, *, is_own: bool
    ) -> tuple[Marker, ...]:
        """Return the markers in comments; unknown ones in external packages are ignored."""
        findings = self.findings if is_own else self._quiet
        found = tuple(read_marker(comment, level, findings) for comment in comments)
        return tuple(marker for marker in found if marker)

    def _check_markers(self, package: GoPackage) -> None:
        for declaration in package.declarations.values():
            self._markers(declaration.comments, MarkerLevel.TYPE, is_own=True)
            if isinstance(declaration.type, StructBody):
                for one in declaration.type.fields:
                    self._markers(one.comments, MarkerLevel.FIELD, is_own=True)

    # Declarations

    def _is_kind(self, declaration: GoDeclaration, scope: TypeScope) -> bool:
        """Return whether a type embeds both metadata types, directly or through another package."""
        kind = declaration.type
        if isinstance(kind, GoName) and kind.package and not declaration.is_alias:
            found = self.types.declaration(Named(kind.package, kind.name))
            if found:
                kind, scope = found[0].type, found[1]
        if not isinstance(kind, StructBody):
            return False
        embedded = {
            self.types.find(one.type, scope)
            for one in kind.fields
            if not one.names and isinstance(one.type, GoName)
        }
        return embedded >= _ROOTS

    def _follow(self) -> None:
        """Read every type that an earlier type refers to."""
        while self._waiting:
            named = self._waiting.pop()
            if named in self.declarations:
                continue
            found = self.types.declaration(named)
            if found:
                self.declarations[named] = self._declaration(named, *found)

    def _declaration(
        self, named: Named, declaration: GoDeclaration, scope: TypeScope
    ) -> Declaration:
        is_own = self.library.is_own(named.module)
        markers = self._markers(declaration.comments, MarkerLevel.TYPE, is_own=is_own)
        methods = self.types.methods(named)
        if "MarshalJSON" in methods:
            seen: dict[str, object] = {}
            schema_markers.apply(seen, markers, self.findings)
            if seen.get("type"):
                return _named_type(named, declaration, Untyped(), markers)
        elif "MarshalText" in methods:
            self._check_text(markers, declaration)
            return _named_type(named, declaration, Scalar("string"), markers)
        if isinstance(declaration.type, StructBody):
            return self._struct(named, declaration, scope, is_kind=False)
        kind = self._resolve(declaration.type, scope, declaration.at)
        if any(marker.name == "k8s:enum" for marker in markers):
            kind = self._enumeration(named, declaration, scope)
        return replace(_named_type(named, declaration, kind, markers), doc=declaration.doc)

    def _check_text(self, markers: Iterable[Marker], declaration: GoDeclaration) -> None:
        for marker in markers:
            if marker.name == VALIDATION + "Type" and marker.value != "string":
                self.findings.add(
                    "API009",
                    f"`{declaration.name}` marshals to a string, but `+{marker.name}` is "
                    f"`{marker.value}`",
                    marker.at,
                )

    def _enumeration(
        self, named: Named, declaration: GoDeclaration, scope: TypeScope
    ) -> TypeExpression:
        """Return the constants of exactly this type; the marker refuses other values."""
        values = scope.package.constants.get(named.name, ())
        is_text = self.types.is_basic(declaration.type, scope) == "string"
        if is_text and values:
            return Choice(Scalar("string"), values)
        return (
            Scalar("string") if is_text else self._resolve(declaration.type, scope, declaration.at)
        )

    def _struct(
        self, named: Named, declaration: GoDeclaration, scope: TypeScope, is_kind: bool
    ) -> Struct:
        fields: list[Field] = []
        like = None
        if isinstance(declaration.type, GoName):
            like = Named(declaration.type.package, declaration.type.name)
            self._waiting.append(like)
        if isinstance(declaration.type, StructBody):
            for one in declaration.type.fields:
                read = self._field(one, named, scope)
                if read:
                    fields.append(read)
        is_own = self.library.is_own(named.module)
        return Struct(
            name=named,
            at=declaration.at,
            doc=declaration.doc,
            markers=self._markers(declaration.comments, MarkerLevel.TYPE, is_own=is_own),
            fields=tuple(fields),
            is_kind=is_kind,
            declares_metadata=is_kind,
            like=like,
        )

    # Fields

    def _field(self, one: GoField, owner: Named, scope: TypeScope) -> Field | None:
        is_hidden = bool(one.names) and not one.names[0][:1].isupper()
        if is_hidden and self.options.ignore_unexported:
            return None
        tag = file.json_tag(one.tag)
        if tag is None:
            self.findings.add(
                "API006",
                f"the field {field_words(one)} of `{owner.name}` has no JSON tag",
                one.at,
                hint='write `json:"…"` after its type; `json:"-"` omits the field',
            )
            if not one.names or is_hidden:
                return None
            tag = one.names[0]  # Go writes it in this form, and CSVs can describe it
        name, *words = tag.split(",")
        if name == "-" and not words:
            return None
        markers = self._markers(
            one.comments, MarkerLevel.FIELD, is_own=self.library.is_own(owner.module)
        )
        is_inline = not name or "inline" in words
        if any(marker.name == VALIDATION + "Schemaless" for marker in markers):
            kind: TypeExpression = Untyped()
        else:
            kind = self._resolve(one.type, scope, one.at)
        embedded = one.embedded.name if one.embedded else ""
        return Field(
            name=one.names[0] if one.names else embedded,
            json_name=name,
            type=kind,
            at=one.at,
            is_optional=is_inline or "omitempty" in words or "omitzero" in words,
            is_inline=is_inline,
            doc=one.doc,
            markers=markers,
        )

    def _resolve(self, kind: GoType, scope: TypeScope, at: Location) -> TypeExpression:
        found = self.types.resolve(kind, scope, at)
        self._waiting.extend(model.named(found))
        return found


def _named_type(
    named: Named, declaration: GoDeclaration, kind: TypeExpression, markers: tuple[Marker, ...]
) -> NamedType:
    return NamedType(name=named, at=declaration.at, type=kind, markers=markers)
