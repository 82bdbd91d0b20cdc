"""`olmkit bundle validate`: its output, its exit codes and its errors for invalid input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.cli import main

MINIMAL = Path(__file__).parents[2] / "rules" / "minimal"
CSV = "manifests/kettle.clusterserviceversion.yaml"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MINIMAL, tmp_path / "bundle"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def ran(*words: str) -> tuple[int, str, str]:
        code = main.run(["bundle", "validate", *words])
        streams = capsys.readouterr()
        return int(code), streams.out, streams.err

    return ran


def _change(bundle: Path, path: str, old: str, new: str) -> None:
    file = bundle / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.usefixtures("bundle")
def test_a_valid_bundle_passes_and_stdout_stays_empty(run: Run) -> None:
    assert run("bundle") == (0, "", "kettle.v1.2.3 passed\n")


def test_findings_go_to_stdout_with_lines_and_hints(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "  version: 1.2.3", "  version: v1.2.3")

    code, out, err = run("bundle")

    assert code == 1
    assert out.startswith("error[CSV038]: version `v1.2.3` is not a semantic version\n")
    assert f"--> bundle/{CSV}:12:12" in out
    assert "hint: write three numbers" in out
    assert err == "Found 1 error; 1 can be fixed with `--fix`; kettle.v1.2.3 failed\n"


def test_warnings_only_fail_on_request(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "  minKubeVersion: 1.28.0\n", "")

    assert run("bundle")[0] == 0
    code, _, err = run("bundle", "--fail-on-warnings")
    assert (code, err) == (
        1,
        "Found 1 warning; kettle.v1.2.3 failed, since warnings count as errors\n",
    )
    _, out, _ = run("bundle", "--fail-on-warnings", "-o", "json")
    result = json.loads(out)["result"]
    assert (result["passed"], result["bundles"][0]["passed"]) == (False, False)


def test_json_has_a_result_and_the_findings(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "  minKubeVersion: 1.28.0\n", "")

    code, out, err = run("bundle", "-o", "json")

    value = json.loads(out)
    assert (code, err) == (0, "")
    assert (value["version"], value["command"]) == (1, "bundle validate")
    checks = value["result"].pop("checks")
    assert (checks["profile"], checks["notRun"]) == ("default", [])
    assert checks["suites"] == ["default", "sound"]
    assert value["result"] == {
        "passed": True,
        "bundles": [
            {
                "reference": "bundle",
                "name": "kettle.v1.2.3",
                "passed": True,
                "errors": 0,
                "warnings": 1,
            }
        ],
    }
    assert [found["rule"] for found in value["diagnostics"]] == ["CSV019"]


def test_concise_output_has_one_line_per_finding(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "supported: true", "supported: false")

    _, out, _ = run("bundle", "-o", "concise")

    assert out == f"bundle/{CSV}:46:5: error CSV018 none of InstallModeTypes are supported\n"


def test_github_output_has_workflow_commands(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "supported: true", "supported: false")

    _, out, _ = run("bundle", "-o", "github")

    assert out.startswith("::error title=CSV018 no-supported-install-mode,file=bundle/manifests/")
    assert ",line=46,endLine=53,col=5" in out


def test_sarif_output_names_rules_and_places(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "supported: true", "supported: false")

    _, out, _ = run("bundle", "-o", "sarif")

    (sarif,) = json.loads(out)["runs"]
    assert sarif["tool"]["driver"]["rules"][0]["id"] == "CSV018"
    (result,) = sarif["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("CSV018", "error")
    assert place["artifactLocation"]["uri"] == f"bundle/{CSV}"
    assert place["region"]["startLine"] == 46


def test_rules_are_selected_and_ignored(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "supported: true", "supported: false")

    assert run("bundle", "--ignore", "CSV018,CSV019")[0] == 0
    assert run("bundle", "--select", "CRD")[0] == 0
    assert run("bundle", "--select", "no-supported-install-mode")[0] == 1


def test_a_profile_can_be_stricter(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "  installModes:", "  relatedImages: [{name: a}]\n  installModes:")

    assert run("bundle")[0] == 0
    assert run("bundle", "--profile", "community")[0] == 1


def test_many_bundles_are_checked_in_one_call(run: Run, bundle: Path, tmp_path: Path) -> None:
    for number in range(6):
        shutil.copytree(bundle, tmp_path / f"b{number}")
    _change(tmp_path / "b3", CSV, "supported: true", "supported: false")

    code, out, err = run(*(f"b{number}" for number in range(6)), "-o", "concise")

    assert code == 1
    assert [line.partition("/")[0] for line in out.splitlines()] == ["b3"]
    assert err == ""
    assert run(*(f"b{number}" for number in range(3)))[2] == "3 bundles passed\n"


def test_a_missing_bundle_does_not_hide_the_others(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "supported: true", "supported: false")

    code, out, _ = run("bundle", "./nothing", "-o", "concise")

    assert code == 2
    assert "CSV018" in out
    assert "./nothing: error MET000 `nothing` does not exist" in out


def test_the_path_of_several_bundles_names_the_bundle_in_it(
    run: Run, bundle: Path, tmp_path: Path
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    shutil.copytree(bundle, shelf / "1.0.0")

    code, out, _ = run(str(shelf))

    assert code == 1
    assert f"hint: pass the folder of the bundle, `{shelf}/1.0.0`" in out


def test_an_image_is_checked_like_its_directory(
    run: Run, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _change(bundle, CSV, "supported: true", "supported: false")
    assert main.run(["bundle", "build", "bundle", "-t", "oci:layout:new"]) == 0
    capsys.readouterr()

    code, out, _ = run("oci:layout:new")

    assert code == 1
    assert f"--> oci:layout:new/{CSV}:46:5" in out
    assert "46 |     - type: OwnNamespace" in out


def test_a_missing_image_is_reported_with_its_exit_code(run: Run) -> None:
    code, out, err = run("oci:nothing:new")

    assert (code, out) != (0, "")
    assert "nothing" in err


def test_a_rule_is_explained(run: Run) -> None:
    code, out, _ = run("--explain", "repeated-install-mode")

    assert code == 0
    assert out.startswith("CSV012 repeated-install-mode")
    assert json.loads(run("--explain", "CSV012", "-o", "json")[1])["result"]["code"] == "CSV012"


def test_rules_are_listed(run: Run) -> None:
    _, out, _ = run("--list-rules", "--select", "CSV012")

    assert out.startswith("CSV012  repeated-install-mode  error ")
    listed = json.loads(run("--list-rules", "-o", "json")[1])["result"]
    assert {"code", "name", "severity", "suite", "summary"} == set(listed[0])


def _missing(folder: Path) -> str:
    return f"{folder}/nothing"


def _empty(folder: Path) -> str:
    (folder / "empty").mkdir()
    return "empty"


def _mistyped(folder: Path) -> str:  # noqa: ARG001 - one signature
    return "bundel"


def _file(folder: Path) -> str:
    (folder / "file.yaml").write_text("kind: A\n")
    return "file.yaml"


def _binary(folder: Path) -> str:
    (folder / "bundle/manifests/logo.yaml").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    return "bundle"


def _huge(folder: Path) -> str:
    with (folder / "bundle/manifests/huge.yaml").open("wb") as stream:
        stream.truncate(200_000_000)
    return "bundle"


def _syntax(folder: Path) -> str:
    (folder / "bundle/manifests/role.yaml").write_text("kind: Role\nmetadata:\n\tname: a\n")
    return "bundle"


def _two_csvs(folder: Path) -> str:
    shutil.copy(folder / "bundle" / CSV, folder / "bundle/manifests/other.yaml")
    return "bundle"


def _no_csv(folder: Path) -> str:
    (folder / "bundle" / CSV).unlink()
    return "bundle"


def _no_annotations(folder: Path) -> str:
    (folder / "bundle/metadata/annotations.yaml").unlink()
    return "bundle"


def _no_manifests(folder: Path) -> str:
    shutil.rmtree(folder / "bundle/manifests")
    return "bundle"


def _bomb(folder: Path) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (folder / "bundle/manifests/bomb.yaml").write_text("\n".join(lines) + "\n")
    return "bundle"


def _deep(folder: Path) -> str:
    (folder / "bundle/manifests/deep.yaml").write_text("a: " + "[" * 5000 + "]" * 5000 + "\n")
    return "bundle"


def _link(folder: Path) -> str:
    (folder / "bundle/manifests/passwd.yaml").symlink_to("/etc/passwd")
    return "bundle"


BAD: list[tuple[Any, int, str]] = [
    (_missing, 2, "does not exist"),
    (_mistyped, 2, "`bundel` is neither a folder nor an image reference"),
    (_file, 2, "`file.yaml` is not a folder"),
    (_empty, 1, "`empty` is empty, so there is no bundle in it"),
    (_binary, 1, "bundle/manifests/logo.yaml"),
    (_huge, 1, "is 200 MB; the limit"),
    (_syntax, 1, "bundle/manifests/role.yaml:3:1"),
    (_two_csvs, 1, "invalid bundle: contains multiple CSVs"),
    (_no_csv, 1, "unable to find a csv in bundle directory bundle/manifests"),
    (_no_annotations, 1, "metadata not found in bundle"),
    (_no_manifests, 1, "The directory bundle/manifests contains no yaml files"),
    (_bomb, 1, "bundle/manifests/bomb.yaml"),
    (_deep, 1, "bundle/manifests/deep.yaml"),
    (_link, 1, "is a link that leaves"),
]


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    ("make", "wanted", "words"), BAD, ids=lambda value: getattr(value, "__name__", "")
)
def test_invalid_input_has_one_clear_error_with_its_place_and_cause(
    run: Run, tmp_path: Path, make: Any, wanted: int, words: str
) -> None:
    code, out, err = run(make(tmp_path), "-o", "concise")

    said = out + err
    assert code == wanted
    assert sum(words in line for line in said.splitlines()) == 1, said
    assert "Traceback" not in said
    assert "bug in olmkit" not in said
    assert max(map(len, said.splitlines())) < 400


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no bundle was passed"),
        (("bundle", "--select", "XYZ999"), "there is no rule `XYZ999`"),
        (("bundle", "--ignore", "no-supported-install-modes"), "did you mean"),
        (("bundle", "--profile", "x"), "`x` is not one of"),
        (("--explain", "x"), "there is no rule `x`"),
    ],
)
def test_invalid_usage_is_exit_code_2(run: Run, words: tuple[str, ...], said: str) -> None:
    code, out, err = run(*words)

    assert (code, out) == (2, "")
    assert said in err


def test_an_error_is_also_json(run: Run) -> None:
    code, out, _ = run("./nothing", "-o", "json")

    assert code == 2
    assert json.loads(out)["error"]["message"] == "`nothing` does not exist"


@pytest.mark.usefixtures("bundle")
def test_a_rule_that_crashes_is_exit_code_70(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from olmkit.rules import engine

    def crash(_: Any) -> Any:
        raise RuntimeError("oh")

    rule = engine.find("CSV012")._replace(check=crash)
    monkeypatch.setattr(engine, "choose", lambda *_, **__: (rule,))

    code, out, _ = run("bundle")

    assert code == 70
    assert "error[BUG001]: rule `CSV012` stopped with RuntimeError: oh" in out


@pytest.mark.usefixtures("bundle")
def test_a_publishing_profile_reports_checks_that_did_not_run(run: Run) -> None:
    _, _, err = run("bundle", "--profile", "certified")

    assert "Ran the rules of profile `certified`; not checked here:" in err
    assert "run `preflight check operator IMAGE`" in err


@pytest.mark.usefixtures("bundle")
def test_a_selector_of_operator_sdk_adds_rules(run: Run) -> None:
    code, out, _ = run("bundle", "--select-optional", "name=good-practices", "-o", "concise")

    assert code == 0
    assert "warning HUB061 container `manager` does not request cpu and memory" in out


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k8s-version", "banana"), "`banana` is not a version of Kubernetes"),
        (("--k8s-version", "1.250"), "`1.250` is not a version of Kubernetes"),
        (("--ocp-versions", "4"), "`4` names no versions of OpenShift"),
        (("--containerfile", "absent"), "cannot read the Containerfile: `absent` does not exist"),
        (("--categories", "absent"), "cannot read the file of categories"),
        (("--optional-values", "k8s=1.25"), "`k8s=1.25` is not an optional value"),
        (("--optional-values", "container-tools=nerdctl"), "`nerdctl` is not a container tool"),
        (("--select-optional", "name=other"), "`name=other` selects no validator"),
    ],
)
def test_invalid_options_are_refused(run: Run, words: tuple[str, ...], message: str) -> None:
    code, out, err = run("bundle", *words)

    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_a_version_of_kubernetes_makes_a_removed_api_an_error(run: Run, bundle: Path) -> None:
    (bundle / "manifests" / "pdb.yaml").write_text(
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n"
        "metadata: {name: kettle}\nspec: {maxUnavailable: 1}\n"
    )
    _change(bundle, CSV, "minKubeVersion: 1.28.0", "minKubeVersion: 1.20.0")
    arguments = ("bundle", "--select", "KUB001", "-o", "concise")

    assert run(*arguments)[0] == 0
    assert run(*arguments, "--k8s-version", "1.24")[0] == 0
    assert run(*arguments, "--k8s-version", "1.25.0-rc.1")[0] == 1
    assert run(*arguments, "--optional-values", "k8s-version=1.30")[0] == 1
    assert run(*arguments, "--ocp-versions", "v4.11-v4.12")[0] == 1
    assert run(*arguments, "--ocp-versions", "=v4.11")[0] == 0


def test_categories_of_a_file_replace_the_standard_ones(
    run: Run, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _change(bundle, CSV, "capabilities: Basic Install", "categories: Cooking")
    (bundle.parent / "known.json").write_text('{"categories": ["Cooking"]}')
    arguments = ("bundle", "--select", "categories")

    assert run(*arguments)[0] == 1
    assert run(*arguments, "--categories", "known.json")[0] == 0
    monkeypatch.setenv("OPERATOR_BUNDLE_CATEGORIES", "known.json")
    assert run(*arguments)[0] == 0


def test_fix_writes_and_diff_prints(run: Run, bundle: Path) -> None:
    original = (bundle / CSV).read_bytes()
    _change(bundle, CSV, "minKubeVersion: 1.28.0", "minkubeversion: v1.28.0  # tested")
    broken = (bundle / CSV).read_bytes()

    code, out, err = run("bundle", "--diff")
    assert (code, err) == (1, "Would fix 2 findings in 1 file\n")
    assert "-  minkubeversion: v1.28.0  # tested\n+  minKubeVersion: 1.28.0  # tested\n" in out
    assert (bundle / CSV).read_bytes() == broken

    code, out, err = run("bundle", "--fix")
    assert (code, out) == (0, "")
    assert err.startswith("Fixed 2 findings in 1 file\n")
    assert (bundle / CSV).read_bytes() == original.replace(b"1.28.0", b"1.28.0  # tested")

    assert run("bundle", "--fix")[2].startswith("Nothing to fix\n")
    assert run("bundle", "--diff") == (0, "", "Nothing to fix\n")


@pytest.mark.usefixtures("bundle")
def test_an_image_cannot_be_fixed(run: Run) -> None:
    code, _, err = run("oci:absent:v1", "--fix")

    assert code != 0
    assert "error:" in err


def test_a_project_ignores_a_rule_with_a_reason(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "  minKubeVersion: 1.28.0\n", "")
    project = bundle.parent / "pyproject.toml"
    assert "CSV019" in run("bundle")[1]

    project.write_text('[tool.olmkit.ignore]\nCSV019 = "every Kubernetes is tested"\n')
    assert run("bundle")[:2] == (0, "")

    project.write_text('[tool.olmkit.ignore]\nCSV019 = ""\n')
    assert run("bundle")[2].startswith("error: `pyproject.toml` ignores `CSV019` without a reason")

    project.write_text('[tool.olmkit.ignore]\nCSV999 = "it does not exist"\n')
    assert run("bundle")[2].startswith("error: there is no rule `CSV999`")


def test_a_baseline_omits_known_findings(run: Run, bundle: Path) -> None:
    _change(bundle, CSV, "  minKubeVersion: 1.28.0\n", "")
    code, _, err = run("bundle", "--write-baseline", "known.json")
    assert (code, err) == (0, "Wrote 1 finding into `known.json`\n")
    first = (bundle.parent / "known.json").read_bytes()

    _change(bundle, CSV, "spec:\n", "# a line more\nspec:\n")
    assert run("bundle", "--baseline", "known.json")[:2] == (0, "")
    run("bundle", "--write-baseline", "known.json")
    assert (bundle.parent / "known.json").read_bytes() == first

    _change(bundle, CSV, "  version: 1.2.3", "  version: v1.2.3")
    code, out, _ = run("bundle", "--baseline", "known.json")
    assert code == 1
    assert "CSV038" in out
    assert "CSV019" not in out

    (bundle.parent / "known.json").write_text("[]")
    assert run("bundle", "--baseline", "known.json")[0] == 2
    for extra in ('"note": 1, "findings": []', '"findings": [{"line": 1}]'):
        (bundle.parent / "known.json").write_text(f'{{"version": 1, {extra}}}')
        assert run("bundle", "--baseline", "known.json")[0] == 2
    assert run("bundle", "--baseline", "absent.json")[0] == 2
    assert run("bundle", "--write-baseline", "known.json", "--fix")[0] == 2
