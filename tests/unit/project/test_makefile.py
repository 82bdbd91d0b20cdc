"""Options of controller-gen in Makefiles."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.project import makefile
from olmkit.project.config import Settings


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("\tcontroller-gen crd paths=./...\n", {}),
        ("\t$(CONTROLLER_GEN) crd:maxDescLen=0 paths=./...\n", {"max_description": 0}),
        ('\t"$(CONTROLLER_GEN)" rbac:roleName=r crd webhook paths="./..."\n', {"role_name": "r"}),
        ("\t@./bin/controller-gen crd rbac:roleName=r # paths=./api\n", {"role_name": "r"}),
        (
            (
                "\t${CONTROLLER_GEN_BINARY} crd:generateEmbeddedObjectMeta=true,year= \\\n\t"
                "crd:allowDangerousTypes=true,ignoreUnexportedFields=false\n"
            ),
            {
                "embedded_object_meta": True,
                "allow_dangerous_types": True,
                "ignore_unexported_fields": False,
            },
        ),
        (
            (
                'CRD_OPTIONS ?= "crd:maxDescLen=$(LENGTH)"\nLENGTH := 5\n'
                "\t$(CONTROLLER_GEN) $(CRD_OPTIONS)\n"
            ),
            {"max_description": 5},
        ),
        (
            '\tcontroller-gen crd:headerFile="hack/h.txt",year=2031 \\\n\t  rbac:roleName=r\n',
            {"header_file": "hack/h.txt", "year": "2031", "role_name": "r"},
        ),
        (
            (
                '\tcontroller-gen crd rbac:roleName=r paths="./api/...;./internal" '
                "paths={./a/.,./b/...}\n"
            ),
            {"role_name": "r", "sources": ("api", "internal/.", "a/.", "b")},
        ),
        ("\tcontroller-gen crd rbac:roleName=r paths=./api/... paths=./...\n", {"role_name": "r"}),
        (
            "\tcontroller-gen crd paths=./api/...\n\tcontroller-gen rbac:roleName=r paths=./c\n",
            {"role_name": "r"},
        ),
        ("\tcontroller-gen crd:maxDescLen=$(shell cat x) rbac:roleName=r\n", {"role_name": "r"}),
        ("\tcontroller-gen crd paths=./$(shell x) rbac:roleName=$(R)\n", {}),
        ("\tcontroller-gen crd:maxDescLen=many,unknown=1\n", {}),
        (
            "\tcontroller-gen crd output:crd:artifacts:config=./deploy/crds/\n",
            {"crd_folder": "deploy/crds"},
        ),
        ("\tcontroller-gen crd output:crd:dir=crds output:dir=all\n", {"crd_folder": "crds"}),
        ("\tcontroller-gen crd output:artifacts:config=all,code=c\n", {"crd_folder": "all"}),
        ("\tcontroller-gen crd output:crd:stdout output:object:dir=x\n", {}),
        ("\tcontroller-gen crd output:crd:dir=../crds\n", {}),
    ],
)
def test_options_are_read(text: str, settings: dict[str, Any]) -> None:
    found = makefile.read("all:\n" + text)

    assert found is not None
    assert found.settings == settings


@pytest.mark.parametrize(
    "text",
    [
        "",
        "controller-gen crd\n",
        "\tcontroller-gen object paths=./...\n",
        "\tcd api && controller-gen crd\n",
        "\techo 'controller-gen crd\n",
        "\tsome-controller-generator crd\n",
        "A = $(B)\nB = $(A)\n\t$(A) crd\n",
        "\x00\t\\",
    ],
)
def test_lines_that_generate_no_crds_here_are_ignored(text: str) -> None:
    assert makefile.read(text) is None


def test_explicit_settings_take_precedence() -> None:
    found = makefile.read("\n\tcontroller-gen crd:maxDescLen=5 rbac:roleName=r\n")
    assert found is not None

    settings, names = found.applied(Settings(role_name="mine"))

    assert (found.line, names) == (2, ("max-description",))
    assert (settings.role_name, settings.max_description) == ("mine", 5)


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("crd:crdVersions=v1 rbac:roleName=r,fileName=role.yaml webhook:year=2031", []),
        ("crd:crdVersions={v1} object:headerFile=x output:crd:dir=a output:webhook:none", []),
        ("crd:maxDescLength=0", ["`maxDescLength` is not an option of the generator `crd`"]),
        ("crd:maxDescLen=many", ["`many` is not a value of `crd:maxDescLen`"]),
        ("crd:crdVersions={v1,v1beta1}", ["`crd:crdVersions={v1,v1beta1}` has no effect"]),
        ("crd rbac:roleName=r,fileName=x.yaml", ["`rbac:fileName=x.yaml` has no effect"]),
        ("crd:maxDescLen=$(shell cat x)", ["`maxDescLen=$` is not read"]),
        ("crd output:stdout", ["`output:stdout` has no effect for `crd`"]),
        ("crd output:crd:dir=/tmp/x", ["`output:crd:dir=/tmp/x` has no effect for `crd`"]),
        (
            "crd rbac:roleName=r output:dir=all",
            ["`output:dir=all` has no effect for `rbac`, written to `config/rbac`"],
        ),
        ("crd rbac:roleName=r output:rbac:artifacts:config=config/rbac output:object:dir=x", []),
    ],
)
def test_options_without_an_effect_are_reported(words: str, messages: list[str]) -> None:
    found = makefile.read(f"\tcontroller-gen {words}\n")

    assert found is not None
    assert len(found.ignored) == len(messages)
    for one, message in zip(found.ignored, messages, strict=True):
        assert one.message.startswith(message)
