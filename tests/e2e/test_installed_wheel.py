"""The wheels in new environments of the newest and the oldest Python, with all extras or none.

Every command does its work, correctly refuses its input, or names the extra that it
needs. The packages come from the index that pip and uv use on this machine, in the versions of
requirements.lock.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmkit.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
ENDS = ("newest", "oldest")  # if both work, a version in between works too
EXTRAS = ("docker", "go", "hub", "operator", "sbom", "serve", "sign")
# Command lines, their exit code with all extras, and the extra without which it is 2. The
# directory has a bundle, a catalog, a Python and a Go project, and a cluster that does not answer.
LINES: list[tuple[str, int, str]] = [
    ("bundle build bundle", 0, ""),
    ("bundle convert nothing", 2, ""),
    ("bundle diff bundle newer", 1, ""),
    ("bundle generate -C toy --version 0.1.0", 0, ""),
    ("bundle generate -C go-project --version 0.1.0 --input rendered", 0, ""),
    ("bundle push --layout dist/none localhost:1/a/b:v1", 2, ""),
    ("bundle scorecard bundle", 0, ""),
    ("bundle show bundle", 0, ""),
    ("bundle unpack oci:dist/none:v1 -d out", 2, ""),
    ("bundle validate bundle", 0, ""),
    ("catalog add catalog nothing --channel stable", 2, ""),
    ("catalog build catalog", 0, ""),
    ("catalog check catalog", 0, ""),
    ("catalog convert basic catalog", 0, ""),
    ("catalog deploy localhost:1/a/b:v1 -n x --name served", 3, ""),
    ("catalog diff catalog catalog", 0, ""),
    ("catalog filter catalog --package memcached-operator", 0, ""),
    ("catalog graph catalog", 0, ""),
    ("catalog images catalog", 0, ""),
    ("catalog init toy --default-channel stable", 0, ""),
    ("catalog list bundles catalog", 0, ""),
    ("catalog list channels catalog", 0, ""),
    ("catalog list packages catalog", 0, ""),
    ("catalog manifests localhost:1/a/b:v1 -n x --name served", 0, ""),
    ("catalog path catalog memcached-operator --from 0.0.1", 0, ""),
    ("catalog push --layout dist/none localhost:1/a/b:v1", 2, ""),
    ("catalog render bundle catalog", 0, ""),
    ("catalog render-template basic.yaml", 0, ""),
    ("catalog resolve catalog -i memcached-operator", 0, ""),
    ("catalog serve nothing", 2, ""),
    ("catalog template basic basic.yaml", 0, ""),
    ("catalog template semver basic.yaml", 1, ""),
    ("catalog template substitutes basic.yaml", 1, ""),
    ("catalog template composite -c basic.yaml -f basic.yaml", 1, ""),
    ("catalog validate catalog", 0, ""),
    ("completion bash", 0, ""),
    ("create api -C toy --group cache --version v1beta1 --kind Cache", 0, ""),
    ("create webhook -C toy --kind Cache --group cache --version v1beta1 --defaulting", 0, ""),
    ("deploy -C toy", 3, ""),
    ("doctor", 1, ""),
    ("edit -C toy --prometheus", 0, ""),
    ("explain CSV001", 0, ""),
    ("generate -C toy", 0, ""),
    ("generate -C go-project", 0, "go"),
    ("hub build catalog -d pages", 0, "hub"),
    ("hub serve nothing", 2, ""),
    ("image build -C toy --dry-run", 0, ""),
    ("image copy oci:dist/none:v1 oci:dist/other:v1", 2, ""),
    ("image inspect oci:dist/none:v1", 2, ""),
    ("image inspect docker-daemon:none:v1", 3, "docker"),
    ("image mirror nothing localhost:1/a", 2, ""),
    ("image push --layout dist/none localhost:1/a/b:v1", 2, ""),
    ("image sign localhost:1/a/b@sha256:%s --key none.key" % ("0" * 64), 2, ""),
    ("image verify localhost:1/a/b@sha256:%s --key none.pub" % ("0" * 64), 2, ""),
    ("init other", 0, ""),
    ("install memcached-operator --catalog localhost:1/a/b:v1", 3, ""),
    ("olm install -f olm.yaml", 3, ""),
    ("olm status", 3, ""),
    ("olm uninstall -f olm.yaml", 3, ""),
    ("render -C toy", 0, ""),
    ("run -C toy", 3, ""),
    ("status", 3, ""),
    ("submit check .", 2, ""),
    ("submit prepare . bundle", 2, ""),
    ("undeploy -C toy", 3, ""),
    ("uninstall memcached-operator", 3, ""),
    ("upgrade memcached-operator", 3, ""),
    ("why memcached-operator", 3, ""),
]


def _pythons() -> list[str]:
    done = subprocess.run(
        ["sh", str(ROOT / "scripts/find-python"), "all"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel of the tools and the wheel of the runtime."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder)]
    for project in (ROOT, ROOT / "runtime"):
        subprocess.run([*command, str(project)], check=True, capture_output=True)
    (tools,) = folder.glob("olmkit-*.whl")
    (runtime,) = folder.glob("olmkit_runtime-*.whl")
    return tools, runtime


# Runs command lines one after the other in one process, so that modules are loaded once.
RUNNER = """
import json, os, sys, tempfile
from olmkit.cli import main

def run(words):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        code = main.run(words)
        sys.stdout.flush()
        for number, stream in zip((1, 2), kept):
            os.dup2(stream, number)
            os.close(stream)
        return code, *(stream.seek(0) or stream.read().decode() for stream in (out, err))

json.dump([run(words) for words in json.load(sys.stdin)], sys.stdout)
"""


def _olmkit(python: Path, folder: Path, *lines: str) -> list[tuple[int, str, str]]:
    """Return exit code, stdout and stderr of each command line."""
    environment = {
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "OLMKIT_NO_PROGRESS": "1",
    }
    done = subprocess.run(
        [str(python), "-I", "-c", RUNNER],
        cwd=folder,
        env=environment,
        input=json.dumps([line.split() for line in lines]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: olm}\n"
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: none
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
"""


@pytest.fixture(scope="module", params=["", f"[{','.join(EXTRAS)}]"], ids=["least", "extras"])
def extras(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=ENDS)
def python(
    request: pytest.FixtureRequest,
    extras: str,
    wheels: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """The program of a new environment with both wheels."""
    tools, runtime = wheels
    folder = tmp_path_factory.mktemp("environment")
    yield _environment(folder, request.param, f"{tools}{extras}", str(runtime))
    shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: Path, end: str, *packages: str) -> Path:
    """Create an environment with this Python and these packages; return its program."""
    found = _pythons()
    if end == "oldest" and len(found) == 1:
        pytest.skip("only one supported Python is here")
    base = found[0 if end == "newest" else -1]
    made = folder / "e/bin/python"
    constraints = folder / "constraints.txt"
    lock = (ROOT / "requirements.lock").read_text()
    constraints.write_text("\n".join(re.findall(r"^[\w.-]+==[^\\\n]*", lock, re.MULTILINE)))
    for words in (
        ("venv", "-q", "-p", base, str(folder / "e")),
        ("pip", "install", "-q", "-p", str(made), "-c", str(constraints), *packages),
    ):
        subprocess.run([sys.executable, "-m", "uv", *words], check=True, capture_output=True)
    return made


def _prepare(python: Path, folder: Path) -> None:
    shutil.copytree(ROOT / "bundle/0.0.1", folder / "bundle")
    shutil.copytree(ROOT / "bundle/0.0.2", folder / "newer")
    shutil.copytree(ROOT / "catalog", folder / "catalog")
    shutil.copytree(ROOT / "tests/fixtures/go-project", folder / "go-project")
    (folder / "kubeconfig").write_text(KUBECONFIG)
    (folder / "olm.yaml").write_text(NAMESPACE)
    (folder / "basic.yaml").write_text("schema: olm.template.basic\nentries: []\n")
    answers = _olmkit(
        python,
        folder,
        "init toy --domain example.com",
        "create api -C toy --group cache --version v1alpha1 --kind Memcached",
    )
    assert [code for code, _, _ in answers] == [0, 0], answers


def test_every_command_is_run() -> None:
    tried = {path for path in COMMANDS if any(line.startswith(f"{path} ") for line, _, _ in _all())}
    assert tried == set(COMMANDS)


def _all() -> list[tuple[str, int, str]]:
    return [(f"{line} ", code, extra) for line, code, extra in LINES]


@pytest.mark.e2e
def test_every_command_works_or_names_its_extra(python: Path, extras: str, tmp_path: Path) -> None:
    _prepare(python, tmp_path)
    answers = _olmkit(python, tmp_path, *(line for line, _, _ in LINES))
    wrong = []
    for (line, with_extras, extra), (code, out, err) in zip(LINES, answers, strict=True):
        expected = 2 if extra and not extras else with_extras
        found = f"{line}: exit code {code}, expected {expected}\n{out[-300:]}{err[-600:]}"
        if code != expected or "Traceback" in err:
            wrong.append(found)
        elif extra and not extras and f"olmkit[{extra}]" not in err:
            wrong.append(f"does not name the extra: {found}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.e2e
def test_the_program_starts_by_its_name(python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(python.parent / "olmkit"), "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("olmkit ")
    assert (python.parents[1] / "share/man/man1/olmkit.1").is_file()


@pytest.mark.e2e
def test_every_help_is_printed(python: Path, tmp_path: Path) -> None:
    answers = _olmkit(python, tmp_path, *(f"{path} --help" for path in COMMANDS))
    failed = [path for path, (code, _, _) in zip(COMMANDS, answers, strict=True) if code]
    assert failed == []


# Imports every module of the runtime, and prints the installed packages.
MODULES = """
import importlib, importlib.metadata, pkgutil, olmkit
for found in pkgutil.walk_packages(olmkit.__path__, "olmkit."):
    if not found.name.endswith(".__main__"):
        importlib.import_module(found.name)
print(*(one.name for one in importlib.metadata.distributions()))
"""
TOOLS = {"click", "deflate", "jsonschema", "jsonschema-rs", "olmkit", "rich", "semver", "yamlrocks"}


@pytest.mark.e2e
@pytest.mark.parametrize("end", ENDS)
def test_the_runtime_is_installed_without_the_tools(
    end: str, wheels: tuple[Path, Path], tmp_path: Path
) -> None:
    python = _environment(tmp_path, end, f"{wheels[1]}[certificates,otel,testing]")
    done = subprocess.run(
        [str(python), "-I", "-c", MODULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    installed = set(done.stdout.split())
    assert {"aiohttp", "cryptography", "olmkit-runtime", "pydantic"} <= installed
    assert not TOOLS & {name.lower() for name in installed}
