"""The operator's image in the files of a project: the overlay, the base CSV, the Makefile.

The overlay of the manager is the source. The base CSV and the Makefile are updated if they name the
same image, so that `make bundle` does not restore the previous image and version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.project.config import Project
from olmkit.project.edits import yaml as yaml_edits
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.project import MANAGER_OVERLAY, Draft

MAKEFILE: Final = "Makefile"
_CONTAINER_IMAGE: Final = ("metadata", "annotations", "containerImage")


def set_image(draft: Draft, project: Project, image: str) -> None:
    """Set the operator's image in the overlay of the manager, as `kustomize edit` does.

    If the base CSV and the Makefile name the same image, they are updated too. Raises
    `ConfigurationError` for an image that cannot be the operator's own.
    """
    name, tag, digest = scaffold.own_image_parts(image)
    data = draft.get(MANAGER_OVERLAY)
    if data is None:
        raise InputError(
            f"`{MANAGER_OVERLAY}` does not exist, so the image cannot be set",
            hint="set it where your manifests define it",
        )
    entry: dict[str, str] = {"name": "controller", "newName": name}
    entry |= {"digest": digest} if digest else {"newTag": tag}

    document = documents.load_yaml(data, MANAGER_OVERLAY)
    images = document.get("images")
    found = images if isinstance(images, list) else []
    for index, one in enumerate(found):
        if isinstance(one, Mapping) and one.get("name") == "controller":
            draft.put(MANAGER_OVERLAY, _replace_image(data, index, entry))
            _follow(draft, project, str(one.get("newName", "")), image)
            return
    draft.add_item(MANAGER_OVERLAY, ("images",), entry)


def _replace_image(data: bytes, index: int, entry: Mapping[str, str]) -> bytes:
    for key in ("digest", "newName", "newTag"):
        keys = ("images", index, key)
        if key in entry:
            data = yaml_edits.with_value(data, MANAGER_OVERLAY, keys, entry[key])
        else:
            data = yaml_edits.without_key(data, MANAGER_OVERLAY, keys)
    return data


def _follow(draft: Draft, project: Project, old_name: str, image: str) -> None:
    """Replace the image named `old_name` by the new one in other files."""
    base = f"config/manifests/bases/{project.name}.clusterserviceversion.yaml"
    data = draft.get(base)
    if old_name and data is not None:
        said = documents.load_yaml(data, base).get(*_CONTAINER_IMAGE)
        if isinstance(said, str) and _is_of(said, old_name):
            draft.put(base, yaml_edits.with_value(data, base, _CONTAINER_IMAGE, image))
    data = draft.get(MAKEFILE)
    if old_name and data is not None:
        text = data.decode("utf-8", "surrogateescape")
        followed = update_makefile(text, old_name, image)
        if followed != text:
            draft.put(MAKEFILE, followed.encode("utf-8", "surrogateescape"))


def update_makefile(text: str, old_name: str, image: str) -> str:
    """Return a Makefile whose `IMG`, `VERSION` and names derived from the image follow a new image.

    Only lines with `?=` in the form of the scaffold are changed; the author's lines are kept.
    """
    name, tag, digest = scaffold.image_parts(image)
    if not _is_of(_variable(text, "IMG"), old_name):
        return text
    version = "" if digest else scaffold.version_of_tag(tag)
    if version and _variable(text, "VERSION"):
        text = _with_variable(text, "VERSION", version)
        text = _with_variable(text, "IMG", f"{name}:v$(VERSION)")
    else:
        text = _with_variable(text, "IMG", image)
    for variable, ending in (("BUNDLE_IMG", "-bundle"), ("CATALOG_IMG", "-catalog")):
        value = _variable(text, variable)
        if _is_of(value, old_name + ending):
            rest = value.removeprefix(old_name + ending)
            text = _with_variable(text, variable, f"{name}{ending}{rest}")
    return text


def _is_of(image: str, name: str) -> bool:
    """Return whether a reference, whose tag may have a variable, has that name."""
    return image == name or image.startswith((f"{name}:", f"{name}@"))


def _variable(text: str, name: str) -> str:
    found = _line(name).search(text)
    return found[2] if found else ""


def _with_variable(text: str, name: str, value: str) -> str:
    return _line(name).sub(lambda match: match[1] + value, text, count=1)


def _line(name: str) -> re.Pattern[str]:
    return re.compile(rf"^({name} \?= )([^\s#]+)(?=[ \t]*$)", re.MULTILINE)
