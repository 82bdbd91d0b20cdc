"""Reading `go.mod`."""

from __future__ import annotations

from olmkit.apis.go import modfile as go_modfile
from olmkit.apis.go.modfile import GoModule

TEXT = """\
// A comment.
module "example.com/toys" // its path

go 1.26.0

toolchain go1.26.8

require k8s.io/api v0.36.0

require (
	k8s.io/apimachinery v0.36.1 // indirect
	example.com/Old v1.0.0
	example.com/local v0.0.0
	example.com/deep/module v1.2.3
	example.com/deep v1.0.0
)

exclude example.com/Old v0.9.0

replace (
	example.com/Old v1.0.0 => example.com/New v2.0.0+incompatible
	example.com/local => ./local
)
replace k8s.io/api => k8s.io/api v0.34.0
"""


def test_modules_and_their_replacements_are_read() -> None:
    modfile = go_modfile.parse(TEXT)

    assert modfile.module == "example.com/toys"
    assert modfile.resolve("k8s.io/api") == GoModule("k8s.io/api", "v0.34.0")
    assert modfile.resolve("k8s.io/apimachinery") == GoModule("k8s.io/apimachinery", "v0.36.1")
    assert modfile.resolve("example.com/Old") == GoModule("example.com/New", "v2.0.0+incompatible")
    assert modfile.resolve("example.com/local") == GoModule("./local")
    assert modfile.resolve("example.com/none") is None


def test_a_package_belongs_to_the_module_with_the_longest_path() -> None:
    modfile = go_modfile.parse(TEXT)

    assert modfile.module_of("example.com/deep/module/v1") == "example.com/deep/module"
    assert modfile.module_of("example.com/deep/other") == "example.com/deep"
    assert modfile.module_of("example.com") == ""


def test_a_file_that_is_not_a_go_mod_has_no_module() -> None:
    assert go_modfile.parse("replace\nrequire (\n\x00 => =>\nmodule").module == ""


def test_capital_letters_are_escaped_as_in_the_module_cache() -> None:
    assert go_modfile.escape("github.com/VictoriaMetrics/VM") == (
        "github.com/!victoria!metrics/!v!m"
    )
