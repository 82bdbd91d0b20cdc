"""`olmkit catalog serve` as a process: its output and its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmkit.edges.catalog.client import CatalogClient

WORDS = ["-m", "olmkit", "catalog", "serve"]
LOOPBACK = ["--host", "127.0.0.1", "--port", "0"]


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "note.yaml").write_text("schema: note\n")
    return folder


def run(*words: str | Path, code: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else WORDS
    return subprocess.run(
        [sys.executable, *start, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@contextlib.contextmanager
def start(*words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A running server, which ends with the test."""
    with subprocess.Popen(
        [sys.executable, *WORDS, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_prints_its_address_and_ends_on_a_signal(catalog: Path, sent: int, code: int) -> None:
    with start(catalog, *LOOPBACK) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("serving 0 packages, 0 bundles on 127.0.0.1:")
        with CatalogClient(said.split()[-1]) as client:
            assert client.health() == "SERVING"
            assert client.ask("ListPackages") == []
        process.send_signal(sent)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err


def test_it_prints_its_address_in_json_on_request(catalog: Path, tmp_path: Path) -> None:
    with start(catalog, *LOOPBACK, "--cache-dir", tmp_path / "cache", "-o", "json") as process:
        assert process.stdout is not None
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
        process.terminate()
        _, err = process.communicate(timeout=30)
    answer = json.loads("".join(lines))
    assert answer["command"] == "catalog serve"
    assert answer["result"].pop("address").startswith("127.0.0.1:")
    assert answer["result"] == {"packages": 0, "bundles": 0, "cached": False}
    assert (process.returncode, err) == (0, "")


def test_a_port_in_use_ends_it_with_exit_code_3(catalog: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run(catalog, "--host", "127.0.0.1", "--port", str(port))
    assert ended.returncode == 3
    assert ended.stderr == (
        f"error: cannot listen on `127.0.0.1:{port}`: the port is taken\n"
        "hint: name another one with `--port`, or `--port 0` for any that is free\n"
    )


def test_an_invalid_catalog_ends_it_with_findings(catalog: Path) -> None:
    (catalog / "note.yaml").write_text("schema: olm.package\nname: Bad\n")
    ended = run(catalog, *LOOPBACK)
    assert ended.returncode == 1
    assert "note.yaml:2" in ended.stderr
    assert "is not valid, so it is not served" in ended.stderr
    assert "Traceback" not in ended.stderr
    answer = json.loads(run(catalog, *LOOPBACK, "-o", "json").stdout)
    assert answer["result"] is None
    assert answer["diagnostics"]


@pytest.mark.parametrize("content", [b"{", b"\x7fELF\0\0", b"a: [b\n", b"\xff\xfe\xfd"], ids=repr)
def test_an_input_that_is_not_a_catalog_ends_it_with_an_error(
    catalog: Path, content: bytes
) -> None:
    (catalog / "note.yaml").write_bytes(content)
    ended = run(catalog, *LOOPBACK)
    assert ended.returncode == 1
    assert "note.yaml" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_missing_directory_is_invalid_usage(tmp_path: Path) -> None:
    ended = run(tmp_path / "none", *LOOPBACK)
    assert ended.returncode == 2
    assert "does not exist" in ended.stderr


def test_an_unreachable_registry_ends_it_with_exit_code_3() -> None:
    ended = run("127.0.0.1:1/example/catalog:v1", *LOOPBACK)
    assert ended.returncode == 3
    assert "127.0.0.1:1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_the_grpc_library_it_names_what_to_install(catalog: Path) -> None:
    code = (
        "import sys; sys.modules['grpc'] = None\n"
        "from olmkit.cli.main import main; main(['catalog', 'serve', *sys.argv[1:]])"
    )
    ended = run(catalog, *LOOPBACK, code=code)
    assert ended.returncode == 2
    assert ended.stderr == (
        "error: serving a catalog needs the gRPC library, which is not installed\n"
        'hint: install it with `pip install "olmkit[serve]"`\n'
    )


def test_the_cache_can_be_filled_without_serving(catalog: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = run(catalog, "--cache-dir", cache, "--cache-only", "-o", "json")
    assert (first.returncode, json.loads(first.stdout)["result"]) == (0, {"cached": False})
    second = run(catalog, "--cache-dir", cache, "--cache-only", "-o", "json")
    assert json.loads(second.stdout)["result"] == {"cached": True}


def test_filling_no_cache_is_invalid_usage(catalog: Path) -> None:
    ended = run(catalog, "--cache-only")
    assert ended.returncode == 2
    assert "`--cache-only` needs `--cache-dir`" in ended.stderr


def test_a_cache_that_cannot_be_written_is_a_warning(catalog: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with start(catalog, *LOOPBACK, "--cache-dir", tmp_path / "file" / "cache") as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("warning: the cache cannot be stored")
        assert process.stderr.readline().startswith("serving ")
        process.terminate()
        assert process.wait(30) == 0


def test_serving_loads_neither_the_yaml_nor_the_protobuf_library_from_a_cache(
    catalog: Path, tmp_path: Path
) -> None:
    run(catalog, "--cache-dir", tmp_path / "cache", "--cache-only")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "import olmkit.edges.catalog.server\n"
        "from olmkit.edges.folder import Folder\n"
        "from olmkit.jobs.catalog.serving import serve\n"
        "from olmkit.jobs.catalog.serving import prepared_catalogs\n"
        "tree = Folder(Path(sys.argv[1]))\n"
        "assert prepared_catalogs.prepare('here', tree, Path(sys.argv[2])).cached\n"
        "print(sorted({'yaml', 'yamlrocks', 'google.protobuf', 'aiohttp'} & set(sys.modules)))"
    )
    ended = run(catalog, tmp_path / "cache", code=code)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


def test_the_reason_of_its_end_is_written_for_kubernetes(catalog: Path, tmp_path: Path) -> None:
    (catalog / "bad.yaml").write_text("schema: olm.package\n" * 2 + "---\n{}\n")
    log = tmp_path / "termination-log"
    ended = run(catalog, *LOOPBACK, "--termination-log", log)
    assert ended.returncode == 1
    text = log.read_text()
    assert text.splitlines()[0] == f"the catalog `{catalog}` is not valid, so it is not served"
    assert "bad.yaml" in text
    assert len(text.encode()) <= 4096
    ended = run(catalog, *LOOPBACK, "--termination-log", tmp_path / "no/where")
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False)


def test_several_catalogs_are_announced_with_their_names(catalog: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    cache = ["--cache-dir", tmp_path / "cache"]
    with start(catalog, tmp_path / "other", *LOOPBACK, "--http-port", "0", *cache) as process:
        assert process.stderr is not None
        said = sorted(process.stderr.readline() for _ in range(2))
        process.terminate()
        process.communicate(timeout=30)
    assert [line.split(":")[0] for line in said] == ["serving catalog", "serving other"]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["catalog", "other"]
    filled = run(catalog, tmp_path / "other", *cache, "--cache-only", "-o", "json")
    assert [name in filled.stdout for name in ('"name": "catalog"', '"name": "other"')] == [
        True
    ] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--name", "a"], "`--name` needs `--http-port`"),
        (["--http-port", "0", "--name", "a", "--name", "b"], "1 catalog and 2 names"),
        (["--http-port", "0", "--name", "A"], "`A` cannot be the name of a catalog"),
        (["--tls-cert", "a", "--tls-key", "b"], "`--grpc-tls`"),
        (["--tls-cert", "a"], "need each other"),
        (["--grpc-tls"], "`--grpc-tls` needs `--tls-cert`"),
        (["--grpc-tls", "--tls-cert", "a", "--tls-key", "b"], "not a certificate and its key"),
    ],
)
def test_conflicting_options_are_invalid_usage(catalog: Path, words: list[str], said: str) -> None:
    ended = run(catalog, *LOOPBACK, *words)
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_two_directories_with_the_same_name_need_names(catalog: Path, tmp_path: Path) -> None:
    (tmp_path / "more/catalog").mkdir(parents=True)
    ended = run(catalog, tmp_path / "more/catalog", *LOOPBACK)
    assert (ended.returncode, "two catalogs are called `catalog`" in ended.stderr) == (2, True)
    assert "--http-port" not in ended.stderr


def test_without_the_prometheus_library_it_names_what_to_install(catalog: Path) -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = None; sys.argv[0] = 'olmkit'\n"
        "from olmkit.cli import main\n"
        "sys.exit(main.run(sys.argv[1:]))"
    )
    ended = run("catalog", "serve", catalog, *LOOPBACK, "--metrics-port", "0", code=code)
    assert 'pip install "olmkit[serve]"' in ended.stderr
