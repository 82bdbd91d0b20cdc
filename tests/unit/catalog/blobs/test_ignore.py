import pytest

from olmkit.base.tree import Tree
from olmkit.catalog.blobs import ignore


def _seen(patterns: str, *paths: str, below: str = "") -> list[str]:
    files = {f"{below}/.indexignore" if below else ".indexignore": patterns.encode()}
    return list(ignore.catalog_files(Tree({**dict.fromkeys(paths, b""), **files})))


@pytest.mark.parametrize(
    ("patterns", "seen"),
    [
        ("", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("# a.md\n\n", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("  a.md  \r\n", ["b/c.yaml", "d"]),
        ("*.md", ["b/c.yaml", "d"]),
        ("/a.md", ["b/a.md", "b/c.yaml", "d"]),
        ("b/a.md", ["a.md", "b/c.yaml", "d"]),
        ("b", ["a.md", "d"]),
        ("b/", ["a.md", "d"]),
        ("d/", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("/b/*", ["a.md", "d"]),
        ("**/a.md", ["b/c.yaml", "d"]),
        ("/b/**", ["a.md", "d"]),
        ("?", ["a.md"]),
        ("[a-c].md", ["b/c.yaml", "d"]),
        ("[^a].md", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("[z-a]", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("\\d", ["a.md", "b/a.md", "b/c.yaml"]),
        ("*.md\n!a.md", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("b\n!b/c.yaml", ["a.md", "b/c.yaml", "d"]),
        ("!a.md\n*.md", ["b/c.yaml", "d"]),
        ("A.md", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("[a", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("a[]", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("\\", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("a**/x", ["a.md", "b/a.md", "b/c.yaml", "d"]),
        ("*", []),
    ],
)
def test_patterns_hide_files(patterns: str, seen: list[str]) -> None:
    assert _seen(patterns, "a.md", "b/a.md", "b/c.yaml", "d") == seen


def test_a_pattern_is_relative_to_its_own_directory() -> None:
    assert _seen("/c.yaml", "c.yaml", "b/c.yaml", "b/d/c.yaml", below="b") == [
        "b/d/c.yaml",
        "c.yaml",
    ]


def test_a_deeper_file_takes_precedence() -> None:
    tree = Tree(
        {
            ".indexignore": b"*.md\n",
            "b/.indexignore": b"!a.md\n",
            "a.md": b"",
            "b/a.md": b"",
        }
    )

    assert list(ignore.catalog_files(tree)) == ["b/a.md"]


def test_the_walk_goes_directory_by_directory() -> None:
    assert _seen("", "a.yaml", "a/z", "a-b/c", "b") == ["a/z", "a-b/c", "a.yaml", "b"]
