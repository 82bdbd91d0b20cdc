"""The action for GitHub: its scripts run in bash, with inputs as GitHub passes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


@dataclass(frozen=True)
class Ended:
    """The end of a step: its exit code, output and outputs."""

    code: int
    out: str
    err: str
    outputs: dict[str, str]


@pytest.fixture
def action(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((root / "action.yml").read_text())
    return found


@pytest.fixture
def step(action: dict[str, Any], repository: Path, tmp_path: Path, program: Path) -> Any:
    """Runs a step by its name with inputs; other inputs have their defaults."""
    temporary = tmp_path / "runner"
    temporary.mkdir()

    def run(name: str, **given: str) -> Ended:
        found = next(one for one in action["runs"]["steps"] if one["name"] == name)
        values = {key: str(one["default"]) for key, one in action["inputs"].items()}
        values["program"] = str(program)
        values |= {key.replace("_", "-"): value for key, value in given.items()}
        environment = {
            key: INPUT.sub(lambda match: values[match[1]], text)
            for key, text in found.get("env", {}).items()
        }
        outputs = tmp_path / "outputs"
        outputs.write_text("")
        done = subprocess.run(
            # GitHub runs `shell: bash` this way.
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
            cwd=repository,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "RUNNER_TEMP": str(temporary),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_ACTION_PATH": "/action",
            }
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = outputs.read_text().splitlines()
        found_outputs = dict(line.split("=", 1) for line in lines)
        return Ended(done.returncode, done.stdout, done.stderr, found_outputs)

    return run


def test_no_script_contains_an_expression(action: dict[str, Any]) -> None:
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        for text in step.get("env", {}).values():
            match = INPUT.fullmatch(text)
            assert match is not None
            assert match[1] in action["inputs"]


def test_findings_are_annotations_and_the_exit_code_is_that_of_olmkit(step: Any) -> None:
    done = step("Run olmkit")
    assert done.code == 1
    assert done.outputs == {"exit-code": "1"}
    place = "file=bundle/metadata/dependencies.yaml,line=5"
    assert any(line.startswith("::error title=MET041") and place in line
               for line in done.out.splitlines())  # fmt: skip
    assert done.out.rstrip().endswith("::error title=olmkit::olmkit ended with exit code 1")


def test_a_valid_bundle_passes(step: Any) -> None:
    done = step("Run olmkit", path="sound bundle\n", args="--ignore\nCSV019\n\n")
    assert (done.code, done.outputs) == (0, {"exit-code": "0"})
    assert "::error" not in done.out


def test_findings_in_sarif_are_written_and_named(step: Any, repository: Path) -> None:
    done = step("Run olmkit", sarif="found it.sarif", profile="community")
    assert done.outputs == {"exit-code": "1", "sarif": "found it.sarif"}
    [run] = json.loads((repository / "found it.sarif").read_text())["runs"]
    assert {"MET041"} <= {one["ruleId"] for one in run["results"]}


def test_an_upload_needs_no_file_name(step: Any) -> None:
    done = step("Run olmkit", upload_sarif="true")
    assert json.loads(Path(done.outputs["sarif"]).read_text())["version"] == "2.1.0"


def test_a_failed_run_leaves_no_file_to_upload(step: Any, repository: Path) -> None:
    done = step("Run olmkit", path="missing", sarif="out.sarif")
    assert done.code == 2
    assert done.outputs == {"exit-code": "2"}
    assert not (repository / "out.sarif").exists()
    assert "missing" in done.err


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("bundle scorecard", {}),
        ("catalog validate", {"path": "nothing"}),
        ("catalog check", {"path": "nothing"}),
        ("submit check", {"path": "nothing"}),
        ("generate", {"path": "nothing"}),
    ],
)
def test_every_command_runs(step: Any, command: str, given: dict[str, str]) -> None:
    done = step("Run olmkit", command=command, **given)
    assert done.outputs["exit-code"] == str(done.code) != "0"
    assert "usage" not in done.err.lower()
    assert "error: " in done.err


def test_generate_only_checks(step: Any, root: Path) -> None:
    done = step("Run olmkit", command="generate", path=str(root / "operator"))
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "hostile",
    [
        "$(touch pwned); `touch pwned`",
        "' ; touch pwned #",
        '" && touch pwned #',
        "*\n-o\njson\n$(touch pwned)\n\\",
    ],
)
@pytest.mark.parametrize("name", ["command", "path", "profile", "args", "sarif"])
def test_no_input_is_executed_as_code(step: Any, repository: Path, name: str, hostile: str) -> None:
    before = set(repository.iterdir())
    done = step("Run olmkit", **{name: hostile})
    assert done.code in (1, 2)
    assert {path.name for path in set(repository.iterdir()) - before} <= {hostile}
    assert set(done.outputs) <= {"exit-code", "sarif"}


@pytest.mark.parametrize(
    "given",
    [
        {"command": "deploy"},
        {"command": "bundle validate --debug"},
        {"command": "catalog check", "profile": "community"},
        {"command": "generate", "sarif": "a"},
        {"command": "generate", "path": "a\nb"},
        {"sarif": "a\nexit-code=0"},
    ],
)
def test_invalid_inputs_are_refused(step: Any, given: dict[str, str]) -> None:
    done = step("Run olmkit", **given)
    assert (done.code, done.outputs) == (2, {"exit-code": "2"})
    assert done.out.startswith("::error title=olmkit::")


def test_the_action_installs_itself(step: Any, tmp_path: Path, monkeypatch: Any) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    fake = bin_ / "python3"
    fake.write_text(
        '#!/bin/sh\necho "$@" >>"$HOME/calls"\n'
        '[ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; }\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
    assert step("Install olmkit").code == 0
    first, second = (tmp_path / "calls").read_text().splitlines()
    assert first == f"-m venv {tmp_path}/runner/olmkit"
    assert second.startswith("-m pip install ")
    assert second.endswith("olmkit[go,serve] @ file:///action")
