"""Properties of every command: its output formats, its quiet mode, its options.

A chain of commands, from an empty directory to a catalog and its pages, runs once with `-q` and
once with `-o json`. Every other command runs where it fails.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from olmkit.cli import main
from olmkit.cli.frame import app
from olmkit.cli.table import COMMANDS, GROUPS, WITHOUT_ENVELOPE

Run = Callable[..., tuple[int, str, str]]

CHAIN = """\
init op --domain example.com
create api -C op --group cache --version v1 --kind Memo
create webhook -C op --group cache --version v1 --kind Memo --defaulting
edit -C op --prometheus
generate -C op
render -C op config/default
bundle generate -C op --version 0.1.0
bundle validate op/bundle
bundle show op/bundle
bundle diff op/bundle op/bundle
bundle scorecard op/bundle
bundle build op/bundle -t oci:images:one
bundle unpack oci:images:one -d two
image inspect oci:images:one
image copy oci:images:one oci:more:one
image build -C op --dry-run
catalog manifests quay.io/example/catalog:v1 --name example
catalog add cat op/bundle --image quay.io/example/op-bundle:v0.1.0 --channel alpha
catalog validate cat
catalog check cat
catalog list packages cat
catalog list channels cat
catalog list bundles cat
catalog graph cat op
catalog path cat op --from 0.1.0
catalog resolve cat -i op
catalog images cat
catalog diff cat cat
catalog build cat -t oci:images:cat
image mirror cat oci:usb --dry-run
hub build cat --directory pages
explain CSV001
explain
doctor -C op
"""
BLOBS = """\
catalog init op
catalog render cat
catalog filter cat --package op
catalog convert basic cat
completion bash
"""
# Commands whose answer is no, or whose machine lacks something.
_MAY_END_WITH_1 = ("bundle diff", "bundle scorecard", "doctor")


def _loaded(path: str) -> click.Command:
    found: click.Command = main.root
    for word in path.split(" "):
        assert isinstance(found, click.Group)
        command = found.get_command(click.Context(found), word)
        assert command is not None
        found = command
    return found


def _options(path: str) -> dict[str, click.Parameter]:
    return {name: one for one in _loaded(path).params for name in one.opts}


def _has_envelope(path: str) -> bool:
    option = _options(path).get("--output")
    return option is not None and option.name == "output"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in an empty directory, without a cluster or a network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")

    def ran(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main.run([*words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def _checked(value: Any, path: str) -> None:
    assert list(value)[:4] == ["version", "command", "result", "diagnostics"]
    assert value["version"] == 1
    assert value["command"] == path
    assert value.keys() <= {"version", "command", "result", "diagnostics", "error"}


def _path(line: str) -> str:
    return max((path for path in COMMANDS if f"{line} ".startswith(f"{path} ")), key=len)


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_a_command_has_the_envelope_or_a_reason(path: str) -> None:
    assert _has_envelope(path) or path in WITHOUT_ENVELOPE


def test_reasons_are_for_existing_commands_and_are_in_the_reference(root: Path) -> None:
    page = (root / "docs/reference/commands.md").read_text("utf-8")
    for path, reason in WITHOUT_ENVELOPE.items():
        assert path in COMMANDS
        assert f"| `olmkit {path}` | {reason} |" in page


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - WITHOUT_ENVELOPE.keys()))
def test_invalid_usage_with_json_is_the_envelope(path: str, run: Run) -> None:
    code, out, err = run(*path.split(), "-o", "json", "--unknown-option")
    assert (code, err) == (2, "")
    value = json.loads(out)
    _checked(value, path)
    assert "`--unknown-option`" in value["error"]["message"]


def _values(path: str) -> list[str]:
    """Return arguments and required options that name missing files."""
    words = []
    for one in _loaded(path).params:
        if isinstance(one, click.Argument) and one.required:
            choices = getattr(one.type, "choices", ())
            words.append(str(choices[0]) if choices else f"missing-{one.name}")
        elif isinstance(one, click.Option) and one.required:
            choices = getattr(one.type, "choices", ())
            words += [one.opts[0], str(choices[0]) if choices else "missing"]
    return words


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - WITHOUT_ENVELOPE.keys()))
def test_a_command_that_fails_only_prints_the_envelope(path: str, run: Run) -> None:
    code, out, err = run(*path.split(), "-o", "json", *_values(path))
    value = json.loads(out)
    _checked(value, path)
    assert code in (0, 1, 2, 3)
    assert "error:" not in err
    assert (code > 1) <= ("error" in value)


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - {"run"}))
def test_a_command_that_fails_is_quiet_except_for_its_error(path: str, run: Run) -> None:
    code, out, err = run(*path.split(), "-q", *_values(path))
    assert code in (0, 1, 2, 3)
    assert code == 0 or out or err.startswith(("error", "warning"))
    assert code == 0 or len(err.splitlines()) < 12
    assert code != 0 or err == ""


def test_a_chain_of_commands_only_prints_envelopes(run: Run) -> None:
    for line in CHAIN.splitlines():
        path = _path(line)
        if path in WITHOUT_ENVELOPE:
            continue
        code, out, err = run(*line.split(), "-o", "json")
        value = json.loads(out)
        _checked(value, path)
        assert code == 0 or path in _MAY_END_WITH_1, (line, err, value.get("error"))
        assert value["result"] is not None or "error" in value, line
        assert not re.search(r"^(error|warning)", err, re.MULTILINE), (line, err)


def test_a_chain_of_commands_is_quiet(run: Run) -> None:
    for line in (CHAIN + BLOBS).splitlines():
        code, out, err = run(*line.split(), "-q")
        path = _path(line)
        assert code == 0 or path in _MAY_END_WITH_1, (line, out, err)
        assert err == "" or path in _MAY_END_WITH_1, (line, err)


def test_each_local_command_is_in_the_chain_or_needs_something_else() -> None:
    ran = {_path(line) for line in (CHAIN + BLOBS).splitlines()}
    needs_more = {
        # a cluster
        *("catalog deploy", "deploy", "install", "olm install", "olm status", "olm uninstall"),
        *("run", "status", "undeploy", "uninstall", "upgrade", "why"),
        # a registry or keys
        *("bundle push", "catalog push", "image push", "image sign", "image verify"),
        # a server
        *("catalog serve", "hub serve"),
        # inputs that are written by hand: golden cases
        *("bundle convert", "catalog render-template", "submit check", "submit prepare"),
        *(path for path in COMMANDS if path.startswith("catalog template ")),
    }
    assert ran | needs_more == set(COMMANDS)
    assert ran & needs_more == set()


@functools.cache
def _jobs(root: Path) -> str:
    folders = (root / "olmkit" / name for name in ("jobs", "project"))
    return "".join(one.read_text("utf-8") for folder in folders for one in folder.rglob("*.py"))


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_each_option_is_read(path: str, root: Path) -> None:
    """The function of a command reads each of its parameters; the frame reads the common ones."""
    function: Any = _loaded(path).callback
    read: set[Any] = {"output", "project", "quiet", "verbose", "debug", "color"}
    while function is not None:
        (made,) = ast.parse(textwrap.dedent(inspect.getsource(function.__code__))).body
        assert isinstance(made, ast.FunctionDef)
        # A function with `**words` passes the rest to other functions of its module.
        searched = [ast.parse(Path(function.__code__.co_filename).read_text("utf-8"))]
        nodes = [
            node for line in (searched if made.args.kwarg else made.body) for node in ast.walk(line)
        ]
        read |= {node.id for node in nodes if isinstance(node, ast.Name)}
        read |= {node.value for node in nodes if isinstance(node, ast.Constant)}
        function = getattr(function, "__wrapped__", None)
    # An object that is passed on as a whole is read as an attribute.
    rest = {one.name for one in _loaded(path).params} - read
    assert {name for name in rest if not re.search(rf"\.{name}\b", _jobs(root))} == set()


def test_the_frame_reads_the_options_of_all_commands() -> None:
    source = inspect.getsource(app)
    for name in ("output", "project", "quiet", "verbose", "debug", "color"):
        assert f'arguments.pop("{name}")' in source


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_each_long_option_that_is_mistyped_is_suggested(path: str, run: Run) -> None:
    for name in _options(path):
        if name.startswith("--") and len(name) > 6:
            code, _, err = run(*path.split(), f"{name[:-2]}{name[-1]}{name[-2]}x")
            assert code == 2
            assert f"`{name}`" in err or "did you mean" in err, (name, err)


@pytest.mark.parametrize("path", sorted((*COMMANDS, *GROUPS)))
def test_each_command_that_is_mistyped_is_suggested(path: str, run: Run) -> None:
    group, _, name = path.rpartition(" ")
    typed = f"{name[:-2]}{name[-1]}{name[-2]}" if name[-1] != name[-2] else f"{name}x"
    code, out, err = run(*group.split(), typed)
    assert (code, out) == (2, "")
    assert f"error: no such command `{typed}`" in err
    assert f"`olmkit {path}`" in err, err


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_each_command_has_a_man_page_and_is_completed(path: str, root: Path) -> None:
    assert (root / f"man/olmkit-{path.replace(' ', '-')}.1").is_file()
    from click.shell_completion import ShellComplete

    complete = ShellComplete(main.root, {}, "olmkit", "_OLMKIT_COMPLETE")
    group, _, name = path.rpartition(" ")
    assert name in {one.value for one in complete.get_completions(group.split(), name[:1])}
    options = {one.value for one in complete.get_completions(path.split(), "--")}
    assert {"--quiet", "--verbose", "--help"} <= options
