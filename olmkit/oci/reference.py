"""Names of images: in registries and in other sources.

`Reference` is the Docker reference grammar with its normalization (`ubuntu` is
`docker.io/library/ubuntu`). `Source` is a user's reference to an image or a catalog: a reference,
an OCI layout or archive, a Docker archive, a Docker engine's image, or a folder. This module does
not access the disk; `olmkit.edges.images.transports` decides whether a word is a folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.oci.content import Digest

DEFAULT_REGISTRY = "docker.io"
DEFAULT_TAG = "latest"
MAX_NAME_LENGTH = 255  # characters of registry and repository together, in the Docker grammar

# Written without nested optional repetition, so that matching stays linear on hostile text.
_DOMAIN_COMPONENT = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = (
    rf"{_DOMAIN_COMPONENT}(?:\.{_DOMAIN_COMPONENT})*(?::[0-9]+)?|\[[a-fA-F0-9:]+\](?::[0-9]+)?"
)
_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_TAG = r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[a-fA-F0-9]{32,}"
_REFERENCE = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    rf"(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_PINNED = re.compile(rf"(?P<rest>.*)@(?P<digest>{_DIGEST})", re.DOTALL)
# Wider than the grammar of the image specification, which does not allow all Docker tags.
_LAYOUT_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+/-]*")


@dataclass(eq=False)
class InvalidReferenceError(ConfigurationError):
    """A text is not an image reference; `reason` is the message of other tools."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An image in a registry: `registry/repository[:tag][@digest]`, normalized."""

    registry: str
    repository: str
    tag: str | None = None
    digest: Digest | None = None

    @staticmethod
    def parse(text: str) -> Reference:
        """Parse `text` by the Docker grammar; `InvalidReferenceError` if it is invalid."""
        if _IDENTIFIER.fullmatch(text):
            raise _invalid(
                text,
                f"invalid repository name ({text}), cannot specify 64-byte hexadecimal strings",
            )
        domain, remainder = _split_domain(text)
        path = remainder.partition(":")[0]
        if path.lower() != path:
            raise _invalid(text, "invalid reference format: repository name must be lowercase")
        found = _REFERENCE.fullmatch(f"{domain}/{remainder}")
        if found is None:
            if _REFERENCE.fullmatch(f"{domain}/{remainder}".lower()) is not None:
                raise _invalid(text, "repository name must be lowercase")
            raise _invalid(text, "invalid reference format")
        name = f"{found['domain']}/{found['path']}" if found["domain"] else found["path"]
        if len(name) > MAX_NAME_LENGTH:
            raise _invalid(
                text, f"repository name must not be more than {MAX_NAME_LENGTH} characters"
            )
        digest = None
        if found["digest"] is not None:
            try:
                digest = Digest.parse(found["digest"])
            except InputError as error:
                raise _invalid(text, error.message) from None
        # A first part that is not a host name (`a_b.c/d`) belongs to the path.
        return Reference(
            registry=found["domain"] or "",
            repository=found["path"],
            tag=found["tag"],
            digest=digest,
        )

    @property
    def name(self) -> str:
        """Return registry and repository, without tag and digest."""
        return f"{self.registry}/{self.repository}" if self.registry else self.repository

    @property
    def is_loopback(self) -> bool:
        """Whether the registry is this machine, so that no other host receives the requests."""
        return names.is_loopback(self.host)

    @property
    def host(self) -> str:
        """Return the registry without its port, and without the brackets of an IPv6 address."""
        if self.registry.startswith("["):
            return self.registry[1:].partition("]")[0]
        return self.registry.partition(":")[0]

    def pinned(self, digest: Digest) -> Reference:
        """Return the same image, only with its digest."""
        return replace(self, tag=None, digest=digest)

    def tagged(self) -> Reference:
        """Return the same image with a tag, `latest` if it has neither tag nor digest."""
        if self.tag is None and self.digest is None:
            return replace(self, tag=DEFAULT_TAG)
        return self

    @property
    def selector(self) -> str:
        """Return the digest or else the tag for requests to the API of a registry."""
        return str(self.digest) if self.digest is not None else self.tag or DEFAULT_TAG

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag is not None else ""
        digest = f"@{self.digest}" if self.digest is not None else ""
        return f"{self.name}{tag}{digest}"


@dataclass(frozen=True, slots=True)
class LayoutReference:
    """An image in an OCI layout folder: `oci:FOLDER[:TAG][@DIGEST]`."""

    folder: str
    tag: str | None = None
    digest: Digest | None = None

    def pinned(self, digest: Digest) -> LayoutReference:
        return LayoutReference(self.folder, None, digest)

    def __str__(self) -> str:
        return _format("oci", self.folder, self.tag, self.digest)


@dataclass(frozen=True, slots=True)
class ArchiveReference:
    """An image in an OCI layout that is one tar file: `oci-archive:FILE[:TAG][@DIGEST]`."""

    file: str
    tag: str | None = None
    digest: Digest | None = None

    def pinned(self, digest: Digest) -> ArchiveReference:
        return ArchiveReference(self.file, None, digest)

    def __str__(self) -> str:
        return _format("oci-archive", self.file, self.tag, self.digest)


@dataclass(frozen=True, slots=True)
class DockerArchiveReference:
    """An image in a tar file of `docker save`: `docker-archive:FILE[:NAME]`."""

    file: str
    name: Reference | None = None

    def __str__(self) -> str:
        return f"docker-archive:{self.file}" + (f":{self.name}" if self.name else "")


@dataclass(frozen=True, slots=True)
class EngineReference:
    """An image in the Docker engine: `docker-daemon:NAME[:TAG]`."""

    name: Reference

    def __str__(self) -> str:
        return f"docker-daemon:{self.name}"


@dataclass(frozen=True, slots=True)
class FolderReference:
    """A folder with a bundle or a catalog in it."""

    folder: str

    def __str__(self) -> str:
        return self.folder


ImageReference = (
    Reference | LayoutReference | ArchiveReference | DockerArchiveReference | EngineReference
)
AnyReference = ImageReference | FolderReference


def parse_source(text: str) -> AnyReference:
    """Parse a reference to an image or a catalog, or raise `InvalidReferenceError`.

    A registry must be named: a mistyped folder should not be looked for on the internet.
    """
    prefix, colon, rest = text.partition(":")
    if colon:
        match prefix:
            case "oci":
                return LayoutReference(*_parse_file(text, rest, "folder"))
            case "oci-archive":
                return ArchiveReference(*_parse_file(text, rest, "file"))
            case "docker-archive":
                file, _, name = rest.partition(":")
                if not file:
                    raise _invalid(text, "it names no file")
                return DockerArchiveReference(file, Reference.parse(name) if name else None)
            case "docker-daemon":
                return EngineReference(Reference.parse(rest).tagged())
            case _:
                pass
    if text in (".", "..") or text.startswith(("./", "../", "/", "~/")) or text.endswith("/"):
        return FolderReference(text)
    reference = Reference.parse(text)
    if not reference.registry or not names_registry(text):
        raise InvalidReferenceError(
            f"`{text}` is neither a folder nor an image reference with a registry",
            hint=f"check the path, or name the registry too: `{reference.tagged()}`",
            reason="repository name must be canonical",
        )
    return reference.tagged()


def parse_image(text: str) -> ImageReference:
    """Like `parse_source`, but does not accept folders."""
    source = parse_source(text)
    if isinstance(source, FolderReference):
        raise _invalid(text, "it is a folder")
    return source


def _split_domain(text: str) -> tuple[str, str]:
    """Return registry and rest; by convention, a registry has a dot, a port or is local."""
    if names_registry(text):
        domain, _, remainder = text.partition("/")
    else:
        domain, remainder = DEFAULT_REGISTRY, text
    if domain == "index.docker.io":
        domain = DEFAULT_REGISTRY
    if domain == DEFAULT_REGISTRY and "/" not in remainder:
        remainder = f"library/{remainder}"
    return domain, remainder


def names_registry(text: str) -> bool:
    """Return whether the first part of a name is a registry: it has a dot, a port or is local."""
    first, slash, _ = text.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def _parse_file(text: str, rest: str, noun: str) -> tuple[str, str | None, Digest | None]:
    digest = None
    if found := _PINNED.fullmatch(rest):
        rest = found["rest"]
        try:
            digest = Digest.parse(found["digest"])
        except InputError as error:
            raise _invalid(text, error.message) from None
    path, _, tag = rest.partition(":")
    if not path:
        raise _invalid(text, f"it names no {noun}")
    if tag and not _LAYOUT_TAG.fullmatch(tag):
        raise _invalid(text, f"`{tag}` is not a valid name in an OCI layout")
    return path, tag or None, digest


def _format(prefix: str, path: str, tag: str | None, digest: Digest | None) -> str:
    return f"{prefix}:{path}" + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def _invalid(text: str, reason: str) -> InvalidReferenceError:
    return InvalidReferenceError(
        f"`{_printable(text)}` is not an image reference: {_printable(reason)}",
        hint=_hint(text, reason),
        reason=reason,
    )


def _hint(text: str, reason: str) -> str:
    scheme, found, rest = text.partition("://")
    if found and rest:
        return f"remove `{scheme}://`"
    if "lowercase" in reason:
        return "write the repository in lower case"
    if "64-byte" in reason:
        return "write `registry/repository@sha256:…`, not the bare hash"
    return "write `registry/repository:tag` or `registry/repository@sha256:…`"


def _printable(text: str) -> str:
    """Shorten `text` for a message, and remove control characters."""
    safe = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return safe if len(safe) <= 200 else f"{safe[:200]}…"
