from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from olmkit.base import texts
from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.cli import main
from olmkit.cli.frame import other_names
from olmkit.cli.frame.app import App, command
from olmkit.cli.main import LazyGroup
from olmkit.cli.table import COMMANDS, GROUPS, SECTIONS, CommandEntry


def _loaded(path: str) -> click.Command:
    group = main.root
    words = path.split(" ")
    for word in words[:-1]:
        found = group.get_command(click.Context(group), word)
        assert isinstance(found, LazyGroup)
        group = found
    leaf = group.get_command(click.Context(group), words[-1])
    assert leaf is not None
    return leaf


def _misuse(message: str, command: str) -> str:
    said, hint = main.misuse(message, command)
    return f"error: {said}\nhint: {hint}"


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_a_summary_in_the_table_is_that_of_the_command(path: str) -> None:
    leaf = _loaded(path)
    assert COMMANDS[path].summary == (leaf.help or "").split("\n\n")[0].replace("\n", " ").strip()
    assert COMMANDS[path].summary.endswith(".")


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_shows_an_example_in_its_help(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*path.split(" "), "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example:" in out
    assert f"olmkit {path}" in out


@pytest.mark.parametrize("path", sorted(GROUPS))
def test_a_group_lists_its_commands(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*path.split(" "), "--help"]) == 0
    assert "Commands:" in capsys.readouterr().out


def test_the_help_of_olmkit_has_sections_and_lists_every_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main.run(["--help"])
    said = capsys.readouterr().out
    names = {path.split(" ")[0] for path in (*COMMANDS, *GROUPS)}
    told = [line.split()[0] for line in said.splitlines() if line[:3].strip() and line[:2] == "  "]
    assert {name for name in told if name in names} == names
    assert {name for section in SECTIONS.values() for name in section} <= names
    assert [title for title in (*SECTIONS, "Other") if f"\n{title}:\n" not in said] == []


def test_help_imports_neither_http_nor_yaml() -> None:
    code = (
        "import sys\n"
        "from olmkit.cli import main\n"
        "assert main.run(['--help']) == 0\n"
        "heavy = {'aiohttp', 'asyncio', 'grpc', 'jsonschema', 'msgspec', 'rich', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_mistyped_command_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["bundel"]) == 2
    assert "hint: did you mean `olmkit bundle`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("catalog ls", "catalog list packages"),
        ("catalog list ./c", "catalog list packages ./c"),
        ("bundle run", "install --bundle"),
        ("bundle upgrade x", "upgrade --bundle"),
        ("cleanup x", "uninstall"),
        ("scorecard", "bundle scorecard"),
        ("validate", "bundle validate` or `olmkit catalog validate"),
        ("lint", "bundle validate` or `olmkit catalog validate"),
        ("bundle lint", "bundle validate"),
        ("catalog lint", "catalog validate"),
        ("catalog rm x", "catalog filter"),
        ("bundle inspect", "bundle show"),
        ("bundle pull x", "bundle unpack"),
        ("image validate", "bundle validate` or `olmkit catalog validate"),
        ("push", "bundle push` or `olmkit catalog push` or `olmkit image push"),
        ("submit lint", "submit check"),
        ("submit validate", "submit check"),
        ("create crd", "create api"),
        ("operator-sdk bundle validate x", "bundle validate"),
        ("operator-sdk run bundle x", "install --bundle"),
        ("kubebuilder create api", "create api"),
        ("kustomize build config", "render"),
        ("help bundle generate", "bundle generate --help"),
        ("index", "catalog"),
        ("version", "--version"),
        ("catalog lst", "catalog list"),
        ("run bundle x", "install --bundle"),
        ("run bundle-upgrade x", "upgrade --bundle"),
        ("run packagemanifests x", "bundle convert"),
        ("generate bundle", "bundle generate"),
        ("generate kustomize manifests", "generate"),
        ("generate packagemanifests", "bundle generate"),
    ],
)
def test_names_of_other_tools_are_recognized(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(typed.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: no such command `")
    assert said.err.endswith(f"hint: did you mean `olmkit {meant}`?\n")


@pytest.mark.parametrize("line", ["generate crd", "run -- bundle", "generate"])
def test_commands_of_olmkit_with_the_name_of_such_a_group_are_commands(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *rest = line.split()
    assert main.run([first, "-C", str(tmp_path), *rest]) != 0
    assert "no such command" not in capsys.readouterr().err


def test_a_suggestion_exists() -> None:
    for meant in other_names.KNOWN.values():
        words = [word for word in meant.split() if not word.startswith("--")]
        path = " ".join(words)
        assert not path or path in COMMANDS or path in GROUPS
        option = meant.removeprefix(path).strip()
        if path and option:
            assert option in {name for one in _loaded(path).params for name in one.opts}


@pytest.mark.parametrize("typed", other_names.KNOWN)
def test_every_known_name_has_the_command_with_the_same_purpose_as_suggestion(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(typed.split()) == 2
    assert capsys.readouterr().err.endswith(
        f"hint: did you mean `olmkit {other_names.KNOWN[typed]}`?\n"
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("alpha render-template basic", "catalog template basic"),
        ("opm alpha list packages catalog", "catalog list packages"),
        ("opm render catalog", "catalog render"),
        ("opm index add", "catalog add"),
        ("opm", "catalog"),
        ("alpha bundle unpack image", "bundle unpack"),
        ("alpha", "catalog"),
        ("index prune", "catalog filter"),
        ("index rm", "catalog filter"),
        ("serve catalog", "catalog serve"),
    ],
)
def test_commands_of_opm_have_a_suggestion(typed: str, meant: str) -> None:
    assert other_names.suggestions("", typed.split(), [*COMMANDS, *GROUPS]) == (meant,)


@pytest.mark.parametrize("words", [[], ["catalog"], ["catalog", "list"], ["bundle"]])
def test_a_group_alone_prints_its_help(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words) == 0
    said = capsys.readouterr()
    assert said.out.startswith(" ".join(["Usage: olmkit", *words, "[OPTIONS] COMMAND"]))
    assert said.err == ""


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["bundle", "validate", "--nope"], "no such option `--nope`"),
        (["bundle", "diff", "a"], "missing argument `NEW`"),
        (
            ["hub", "serve", "--bundle", "no-folder"],
            "invalid value for `--bundle`: directory `no-folder` does not exist",
        ),
        (["completion", "csh"], "invalid value for `{bash|zsh|fish}`: `csh` is not one of"),
    ],
)
def test_usage_errors_have_the_same_form_as_other_errors(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"error: {error}")
    assert second.startswith("hint: ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["-q", "bundle", "validate", "b"],
            "options follow the command: `olmkit bundle validate -q`",
        ),
        (["-n", "web", "install", "x"], "options follow the command: `olmkit install -n`"),
        (["--nope", "install", "x"], "`olmkit --help` shows the usage"),
        (["--nope"], "`olmkit --help` shows the usage"),
        (["catalog", "add", "--image"], "`olmkit catalog add --help` shows the usage"),
        (
            ["init", "a", "--default-channel", "b"],
            "did you mean `olmkit catalog init --default-channel`?",
        ),
        (["init", "--helm-chart", "x"], "did you mean `olmkit create api --helm-chart`?"),
    ],
)
def test_the_hint_names_the_command_that_was_typed(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words) == 2
    assert capsys.readouterr().err.splitlines()[1] == f"hint: {hint}"


@pytest.mark.parametrize(
    "words",
    [
        ["x" * 3000],
        ["bundle", "validate", "--profile", "x" * 3000, "b"],
        ["explain", "x" * 3000],
        ["explain", "x" * 3000, "-o", "json"],
        ["init", "-o", "json", "--domain", "x" * 3000, "d"],
        ["init", "--domain", "x" * 3000, "d"],
    ],
)
def test_an_error_shortens_what_was_typed(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words) in (1, 2)
    said = capsys.readouterr()
    assert "x" * (texts.MOST + 1) not in said.out + said.err


def test_quiet_creates_a_project_without_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["init", "-q", str(tmp_path / "toy"), "--domain", "example.com"]
    assert main.run(words) == 0
    assert capsys.readouterr() == ("", "")


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("olmkit ")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A command `fail` that raises what the test puts into the list."""
    raised: list[BaseException] = []

    @command(example="olmkit fail")
    def fail(app: App) -> None:
        """Fail."""
        app.emit({"fine": True}, text="fine") if not raised else _throw(raised[0])

    def _throw(error: BaseException) -> None:
        raise error

    monkeypatch.setattr(
        main, "COMMANDS", {**COMMANDS, "fail": CommandEntry("unused:unused", "Fail.")}
    )
    original = LazyGroup.get_command

    def get(self: LazyGroup, ctx: click.Context, name: str) -> click.Command | None:
        return fail if name == "fail" else original(self, ctx, name)

    monkeypatch.setattr(LazyGroup, "get_command", get)
    return raised


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("no"), 1),
        (ConfigurationError("invalid usage"), 2),
        (RemoteError("the registry is away"), 3),
        (ValueError("oops"), 70),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else type(value).__name__,
)
def test_the_exit_code_depends_on_the_cause(
    failing: list[BaseException],
    error: BaseException,
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing.append(error)
    assert main.run(["fail"]) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "Traceback" not in seen.err


def test_an_error_in_json_is_one_value_on_stdout(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(InputError("no CSV", hint="add one"))
    assert main.run(["fail", "-o", "json"]) == 1
    seen = capsys.readouterr()
    assert json.loads(seen.out)["error"] == {"message": "no CSV", "hint": "add one"}
    assert seen.err == ""


@pytest.mark.parametrize(
    "message",
    [
        "No such option '--ab'. (Did you mean one of: '--abc', '--abd'?)",
        "No such option: '--ab' (Possible options: '--abc', '--abd')",
    ],
)
def test_several_suggestions_are_a_hint(message: str) -> None:
    said = _misuse(message, "olmkit x")
    assert said.endswith("`--ab`\nhint: did you mean `--abc` or `--abd`?")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        *((f"{command} {option}", hint) for (command, option), hint in other_names.OPTIONS.items()),
        ("status -A", other_names.OPTIONS["status", "--all-namespaces"]),
        ("status -w", other_names.OPTIONS["status", "--watch"]),
        (
            "catalog list packages catalogsource:olm/shop --context c",
            "set the variable `OLMKIT_CONTEXT` instead",
        ),
        ("install a b -n shop", "run the command once for each package"),
        ("why a b", "run the command once for each package"),
    ],
)
def test_options_of_other_command_lines_have_a_hint(
    typed: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(typed.split()) == 2
    assert capsys.readouterr().err.endswith(f"\nhint: {hint}\n")


def test_options_of_other_command_lines_are_not_our_own() -> None:
    for name, option in other_names.OPTIONS:
        assert not [one for one in _loaded(name).params if option in one.opts]


def test_help_is_not_suggested_next_to_an_option() -> None:
    message = "No such option '--channel'. (Did you mean one of: '--channels', '--help'?)"
    said = _misuse(message, "olmkit x")
    assert said.endswith("hint: did you mean `--channels`?")


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("--namespaced=false", "write `--no-namespaced`"),
        ("--namespaced=true", "write `--namespaced`"),
        ("--dry-run=false", "omit `--dry-run`"),
    ],
)
def test_the_value_of_a_flag_is_a_hint(
    argument: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["edit", argument]) == 2
    assert capsys.readouterr().err.endswith(f"does not take a value\nhint: {hint}\n")


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--zap-devel", "options of the operator follow `--`: `olmkit run -- --zap-devel`"),
        (
            "--contxt",
            (
                "did you mean `--context`? Otherwise, options of the operator follow `--`: "
                "`olmkit run -- --contxt`"
            ),
        ),
    ],
)
def test_options_of_the_operator_follow_two_dashes(
    option: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["run", option]) == 2
    assert capsys.readouterr().err == f"error: no such option `{option}`\nhint: {hint}\n"


def test_help_alone_is_not_a_suggestion() -> None:
    said = _misuse("No such option '--repo'. Did you mean '--help'?", "olmkit init")
    assert said.endswith("`--repo`\nhint: `olmkit init --help` shows the usage")


def test_choices_of_a_missing_argument_are_on_one_line() -> None:
    message = "Missing argument '{bash|zsh}'. Choose from:\n\tbash,\n\tzsh"
    said = _misuse(message, "olmkit completion")
    assert said.startswith("error: missing argument `{bash|zsh}`. Choose from: bash, zsh\n")


@pytest.mark.parametrize("value", ["q" * 10_000, "q " * 5_000])
def test_an_extra_argument_is_named_and_cut(value: str) -> None:
    said = _misuse(f"Got unexpected extra argument ({value})", "olmkit x")
    assert said.startswith("error: unexpected argument `q")
    assert len(said) < 300


@pytest.mark.usefixtures("failing")
def test_invalid_usage_in_json_is_one_value_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["fail", "--nothing", "-o", "json"]) == 2
    assert "nothing" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_an_internal_error_shows_its_traceback_with_debug(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(ValueError("oops"))
    assert main.run(["fail", "--debug"]) == 70
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "bug in olmkit" in err


@pytest.mark.usefixtures("failing")
def test_the_result_is_an_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["fail", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "version": 1,
        "command": "fail",
        "result": {"fine": True},
        "diagnostics": [],
    }


def test_a_closed_pipe_is_not_an_error() -> None:
    done = subprocess.run(  # noqa: S602 - the shell's pipe is what is tested
        f"{sys.executable} -m olmkit --help | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.strip() in {"0", "141"}


def test_an_unexpected_error_of_the_disk_is_exit_code_3(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(PermissionError(13, "Permission denied", "secret/bundle"))
    assert main.run(["fail"]) == 3
    assert capsys.readouterr().err == "error: cannot access `secret/bundle`: permission denied\n"


def test_a_name_that_is_too_long_for_a_file_is_invalid_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in ("bundle validate", "catalog validate", "catalog list packages", "bundle build"):
        assert main.run([*words.split(), "a" * 5000]) == 2
        error = capsys.readouterr().err
        assert error == f"error: `{'a' * 119}…` is too long for the name of a file\n"


@pytest.mark.parametrize("path", sorted(set(COMMANDS) - {"completion"}))
def test_an_empty_argument_is_invalid_usage(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    leaf = _loaded(path)
    arguments = [param for param in leaf.params if isinstance(param, click.Argument)]
    assert main.run([*path.split(" "), *([""] * max(1, len(arguments)))]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "error: " in seen.err


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_an_empty_value_of_an_option_is_invalid_usage(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leaf = _loaded(path)
    for option in leaf.params:
        if not isinstance(option, click.Option) or option.is_flag or option.count:
            continue
        name = option.opts[-1]
        assert main.run([*path.split(" "), f"{name}="]) == 2, name
        error = capsys.readouterr().err
        assert f"`{name}`" in error
        assert "it is empty" in error


@pytest.mark.parametrize(
    ("words", "is_json"),
    [
        (["-o", "json"], True),
        (["-ojson"], True),
        (["--output=json"], True),
        (["-o", "text", "--color", "json"], False),
        (["--", "-o", "json"], False),
    ],
)
@pytest.mark.usefixtures("failing")
def test_invalid_usage_is_reported_in_the_requested_format(
    words: list[str], is_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["fail", "--nothing", *words]) == 2
    seen = capsys.readouterr()
    assert seen.out.startswith("{") == is_json
    assert (seen.err == "") == is_json


@pytest.mark.usefixtures("failing")
def test_the_format_in_the_environment_also_applies_to_invalid_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OLMKIT_OUTPUT", "json")
    assert main.run(["fail", "--nothing"]) == 2
    assert "nothing" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_the_format_of_blobs_is_not_the_format_of_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["catalog", "render", "--nothing", "-o", "json"]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "nothing" in seen.err


def test_an_internal_error_in_json_is_one_value_on_stdout(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(ValueError("oops"))
    assert main.run(["fail", "-o", "json"]) == 70
    seen = capsys.readouterr()
    assert "bug in olmkit" in json.loads(seen.out)["error"]["message"]
    assert seen.err == ""


@pytest.mark.parametrize(
    ("redirection", "code", "error"),
    [
        (">/dev/full", 3, "error: cannot write the result: no space left on device\n"),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        ("<&-", 0, ""),
    ],
)
def test_full_and_closed_streams_have_their_exit_codes(
    redirection: str, code: int, error: str
) -> None:
    for words in ("--help", "completion bash", "bundle validate --list-rules"):
        done = subprocess.run(  # noqa: S602 - the shell's redirections are what is tested
            f"{sys.executable} -m olmkit {words} {redirection}",
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, error)


def test_an_error_that_cannot_be_written_has_its_exit_code() -> None:
    for words, code in (("bundel", 2), ("bundle validate nothing", 2), ("catalog lst", 2)):
        for redirection in ("2>/dev/full", "2>&-", ">&- 2>&-"):
            done = subprocess.run(  # noqa: S602 - as above
                f"{sys.executable} -m olmkit {words} {redirection}",
                shell=True,
                capture_output=True,
                check=False,
            )
            assert done.returncode == code


def test_results_are_utf_8_in_every_terminal(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "PYTHONIOENCODING": "ascii",
    }
    folder = os.fsencode(tmp_path) + b"/\xc3\xbc\xff"

    def said(form: str) -> bytes:
        words = ["-m", "olmkit", "bundle", "validate", os.fsdecode(folder), "nothing"]
        done = subprocess.run(
            [sys.executable, *words, "-o", form], capture_output=True, env=environment, check=False
        )
        return done.stdout

    references = [one["reference"] for one in json.loads(said("json"))["result"]["bundles"]]
    assert references[0].endswith("ü\udcff")
    assert "ü\\udcff: error MET000".encode() in said("concise")
