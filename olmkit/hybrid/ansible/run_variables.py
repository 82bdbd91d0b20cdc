"""The extra variables of a run of Ansible, and their files.

Later ones take precedence: the fields of the spec, the magic variables, those of the entry, those
of the finalizer. The values of the object are in a separate file, whose whole content has the tag
`!unsafe`: Ansible never treats a string in it as a template. Not JSON with `__ansible_unsafe`:
Ansible reads a JSON file as YAML when an object in it looks like one of its types but is not, and
then ignores those marks. Nor the tag on each string: there it makes the text `2` a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from olmkit.hybrid.ansible import snake_case
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

META = "ansible_operator_meta"
_RESERVED = "ansible_"
_SIMPLE_KEY = 1024  # characters; of YAML
_SPECIAL = re.compile(r'["\\]|[^\x20-\x7e]')

Variables = Mapping[str, Any]


def object_variables(owner: Manifest, *, snake_case_names: bool) -> dict[str, Any]:
    """Return the variables of an object: the fields of its spec, and the magic ones."""
    spec = dict(objects.mapping(owner.get("spec")))
    found = dict(snake_case.convert_keys(spec)) if snake_case_names else spec
    gvk = objects.gvk(owner)
    name = f"_{gvk.group}_{gvk.kind.lower()}".replace(".", "_").replace("-", "_")
    found[META] = {"name": objects.name(owner), "namespace": objects.namespace(owner)}
    found[name] = owner
    found[f"{name}_spec"] = objects.mapping(owner.get("spec"))
    return found


def find_reserved(variables: Variables) -> list[str]:
    """Return the names among these that have a meaning in Ansible, except the magic one.

    For example, the extra variable `ansible_python_interpreter` sets the program that a run starts.
    """
    return sorted(one for one in variables if one.startswith(_RESERVED) and one != META)


def files(variables: Variables, trusted: Variables, *, is_unsafe: bool) -> tuple[bytes, bytes]:
    """Return the two files of variables; for equal names, `trusted` takes precedence.

    Raises `ValueError` for a value that JSON cannot represent.
    """
    kept = {key: value for key, value in variables.items() if key not in trusted}
    mark = "!unsafe " if is_unsafe else ""
    # The line of dashes: no JSON parser accepts it.
    return (
        f"---\n{mark}{_format_value(kept)}\n".encode(),
        f"---\n{_format_value(trusted)}\n".encode(),
    )


def _format_value(value: Any) -> str:
    """Format in YAML's flow style; strings have quotes, so that they remain strings."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(str(key))}: {_format_value(one)}" for key, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_format_value(one) for one in value)}]"
    text = json.dumps(value, allow_nan=False)
    # YAML 1.1 treats `1e+300` as a string: a number with an exponent needs a dot.
    return (
        text.replace("e", ".0e") if "e" in text and text[-1].isdigit() and "." not in text else text
    )


def _key(text: str) -> str:
    """Return a key; YAML accepts a long key only after a question mark."""
    quoted = _quote(text)
    return quoted if len(quoted) < _SIMPLE_KEY else f"? {quoted} "


def _quote(text: str) -> str:
    """Return a string in double quotes with YAML escapes."""
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    letter = found[0]
    return f"\\{letter}" if letter in '"\\' else f"\\U{ord(letter):08x}"
