"""What the fast reader accepts, and what it leaves to the exact reader."""

import random
from typing import Any

import pytest

from olmkit.base.yaml import fast as yaml_fast
from olmkit.base.yaml import reader as yaml_reader
from olmkit.base.yaml.events import YamlError

pytestmark = pytest.mark.skipif(
    yaml_fast.yamlrocks is None, reason="the fast parser needs Python 3.12"
)

PLAIN = """# a comment
---
metadata:
  name: memcached.v1.0.0
  annotations:
    alm-examples: |-
      [
        {"kind": "Memcached", "spec": {"size": 010, "at": "10:30"}}
      ]
    createdAt: 2023-01-01T00:00:00Z
    released: 2020-07-20
    text: "a ? b [c], 10:30"
spec:
  description: Is it [good]? See 10:30 and 1_000.
  empty: []
  list:
  - a: 1.0
    image: quay.io/x/y:1.0@sha256:abc
  - {}
"""


def test_a_common_manifest_is_read() -> None:
    assert yaml_fast.read(PLAIN.encode()) == yaml_reader.read(PLAIN.encode()).value


@pytest.mark.parametrize("date", ["2020-07-08", "2020-06-03T06:02:05Z", "2020-07-08T06:02:05"])
@pytest.mark.parametrize("text", ["a: {}\n", "b: [c, d]\na: '{}'\n", "- {} # x\n", "{}: [1]\n"])
def test_dates_are_read(date: str, text: str) -> None:
    data = text.replace("{}", date).encode()
    assert yaml_fast.read(data) == yaml_reader.read(data).value


def test_windows_line_endings_are_read() -> None:
    assert yaml_fast.read(b"a: 1\r\nb: |\r\n  x\r\n") == {"a": 1, "b": "x\n"}


@pytest.mark.parametrize(
    "text",
    [
        "a: 1:30\n",
        "a: 0899\n",
        "08 : 1\n",
        "-08  : 1\n",
        "a: 0o17\n",
        "a: _1\n",
        "a: .5_\n",
        "a: +18446744073709551615\n",
        "a: .inf\n",
        "1: a\n",
        "~: a\n",
        "a: &x 1\n",
        "a: !!str 1\n",
        "a: {<<: {b: 1}}\n",
        "a: 1\na: 2\n",
        "a: 1\n---\nb: 2\n",
        "---\n---\na: 1\n",
        "a: [b?]\n",
        "a: {b:, c: 1}\n",
        "a: {{ x }}\n",
        "a:\tb\n",
        "a: |\n  b",
        "a: \u0085b\n",
        "\ufeffa: 1\n",
        "%YAML 1.1\n---\na: 1\n",
        'a: "\\/"\n',
        "a:\n  b:\n  c\n",
        "text\n",
        "",
        "a: 0x" + "f" * 100 + "\n",
        "a:\n" * 600,
    ],
)
def test_rare_and_invalid_forms_are_left_to_the_exact_reader(text: str) -> None:
    assert yaml_fast.read(text.encode()) is yaml_fast.REFUSED


def _exact(data: bytes) -> Any:
    try:
        found = yaml_reader.read(data)
    except YamlError as error:
        return error.message
    return (found.value, found.more)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(4))
def test_damaged_texts_have_the_same_value_as_in_the_exact_reader_or_are_refused(seed: int) -> None:
    chance = random.Random(seed)
    pieces = [*"\n\n\n  -:?[]{},#&*!|>'\"%@`~<=0123456789ab_.+\\/", "\n  ", "\n- ", ": ", "- "]
    pieces += [
        "---\n",
        "<<: ",
        "1:3",
        "2020-07-08",
        "T06:02:05Z",
        "01",
        "0o7",
        "1_0",
        "null",
        "yes",
        "{}",
        "[]",
        "|\n",
        "é",
        "\t",
    ]
    for _ in range(2_000):
        text = list(PLAIN[chance.randrange(120) :] if chance.random() < 0.5 else PLAIN)
        for _ in range(chance.choice([1, 1, 2, 3])):
            at = chance.randrange(len(text))
            text[at : at + chance.choice([0, 0, 1, 2])] = [chance.choice(pieces)]
        data = "".join(text).encode()
        quick = yaml_fast.read(data)
        if quick is not yaml_fast.REFUSED:
            assert repr((quick, False)) == repr(_exact(data)), data
