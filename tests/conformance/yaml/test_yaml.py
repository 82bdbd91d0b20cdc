"""Texts compared with the results of Kubernetes' YAML reader.

`vectors.jsonl` has short texts of this project, valid, invalid and unusual, each with
the JSON (or the error) of sigs.k8s.io/yaml v1.6.0. If it reads a text, olmkit has
the same value; if it refuses a text, olmkit refuses it. `differences.toml` has
the texts that olmkit refuses although Go reads them, and why.
"""

from __future__ import annotations

import base64
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olmkit.base.json import text as json_text
from olmkit.base.yaml import fast as yaml_fast
from olmkit.base.yaml import reader as yaml_reader
from olmkit.base.yaml.events import YamlError

HERE = Path(__file__).parent
_MINUS_ZERO = re.compile(rb"(?<![\w.])-0(?![\d.])")
DIFFERENCES: dict[str, str] = tomllib.loads((HERE / "differences.toml").read_text("utf-8"))["cases"]


def _vectors() -> Iterator[tuple[bytes, dict[str, Any]]]:
    for line in (HERE / "vectors.jsonl").read_text("utf-8").splitlines():
        vector = json.loads(line)
        yield (
            base64.b64decode(vector["bytes"]) if "bytes" in vector else vector["text"].encode(),
            vector,
        )


def _read(data: bytes) -> Any:
    value = yaml_reader.read(data).value
    return None if value is yaml_reader.MISSING else value


def _same(ours: Any, theirs: Any) -> bool:
    # Minus zero is zero; any other number must have the same text.
    texts = {_MINUS_ZERO.sub(b"0", json_text.compact(value)) for value in (ours, theirs)}
    return len(texts) == 1


def _difference(data: bytes, vector: dict[str, Any]) -> str:
    try:
        value = _read(data)
    except YamlError as error:
        return "" if "error" in vector else f"we refuse: {error.message}"
    if "error" in vector:
        return f"we read {value!r}"
    return "" if _same(value, vector["json"]) else f"we read {value!r}"


def test_texts_are_read_and_refused_as_in_kubernetes() -> None:
    differing = {
        ascii(data.decode("utf-8", "replace")): difference
        for data, vector in _vectors()
        if (difference := _difference(data, vector))
    }

    assert {text: differing[text] for text in differing if text not in DIFFERENCES} == {}
    assert [text for text in DIFFERENCES if text not in differing] == []


def test_a_difference_is_never_a_wrong_value() -> None:
    wrong = [
        data
        for data, vector in _vectors()
        if (difference := _difference(data, vector)) and not difference.startswith("we refuse")
    ]

    assert wrong == []


def test_the_fast_reader_has_the_exact_value_or_refuses() -> None:
    for data, _ in _vectors():
        quick = yaml_fast.read(data)
        if quick is not yaml_fast.REFUSED:
            assert repr(quick) == repr(_read(data)), data
