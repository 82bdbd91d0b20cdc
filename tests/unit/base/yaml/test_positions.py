from olmkit.base.yaml import positions as yaml_positions
from olmkit.base.yaml.positions import YamlNode


def _compose(text: str) -> YamlNode:
    node = yaml_positions.compose(text.encode())
    assert node is not None
    return node


def test_a_block_ends_with_its_last_entry() -> None:
    node = _compose("a:\n  b: 1\n  c: xyz\n\n# end\nd: 2\n")

    value = node.entries["a"][1]
    assert (value.line, value.column, value.end_line, value.end_column) == (1, 2, 2, 8)


def test_an_alias_has_the_entries_of_its_anchor() -> None:
    node = _compose("a: &x {b: 1}\nc: *x\n")

    assert node.entries["c"][1].line == 1
    assert node.entries["c"][1].entries["b"][1].line == 0


def test_merged_keys_are_found_and_are_not_repeated_keys() -> None:
    node = _compose("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3\n")

    merged = node.entries["d"][1]
    assert (merged.entries["b"][1].line, merged.entries["c"][1].line) == (3, 0)
    assert merged.twice == []


def test_an_unreadable_text_has_no_positions() -> None:
    assert yaml_positions.compose(b"a: [") is None


def test_a_document_is_found_by_its_number() -> None:
    node = yaml_positions.compose(b"a: 1\n---\nb: 2\n", index=1)

    assert node is not None
    assert list(node.entries) == ["b"]
