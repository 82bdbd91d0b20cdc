"""Runs the whole chain on the shipped operator, and describes each step.

Everything is written to `dist/demo`; nothing outside of it changes. The commands
are those of a user; only paths are longer.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olmkit.edges.catalog.client import CatalogClient

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("dist/demo")
OLMKIT = os.environ.get("OLMKIT", "olmkit")
VERSIONS = ("0.0.1", "0.0.2")
_LINES = 6


def say(words: str) -> None:
    print(f"\n\033[1m{words}\033[0m" if sys.stdout.isatty() else f"\n{words}", flush=True)


def olmkit(*words: str | Path, into: Path | None = None) -> None:
    """Run one command and show it; write its output into a file or to the terminal."""
    typed = shlex.join(["olmkit", *map(str, words)]) + (f" > {into}" if into else "")
    print(f"  $ {typed}", flush=True)
    done = subprocess.run([OLMKIT, *map(str, words)], stdout=subprocess.PIPE, check=False)
    if into:
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_bytes(done.stdout)
    else:
        lines = done.stdout.decode().splitlines()
        for line in lines[:_LINES]:
            print(f"    {line}", flush=True)
        if len(lines) > _LINES:
            print(f"    … and {len(lines) - _LINES} more", flush=True)
    if done.returncode:
        sys.exit(f"the demo stops: the command ended with code {done.returncode}")


@contextmanager
def served(catalog: Path) -> Iterator[str]:
    """Serve the catalog for the duration of the block; return the address."""
    words = ["catalog", "serve", str(catalog), "--host", "127.0.0.1", "--port", "0"]
    print(f"  $ {shlex.join(['olmkit', *words])} &", flush=True)
    server = subprocess.Popen([OLMKIT, *words, "--output", "json"], stdout=subprocess.PIPE)
    try:
        text = ""
        assert server.stdout is not None
        for line in server.stdout:
            text += line.decode()
            if line == b"}\n":
                break
        if not text:
            sys.exit("the demo stops: the server did not start")
        yield json.loads(text)["result"]["address"]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def ask(client: CatalogClient, rpc: str, **request: str) -> None:
    answer = client.ask(rpc, dict(request))
    names = (
        [one.get("csvName") or one.get("name") for one in answer]
        if isinstance(answer, list)
        else answer.get("csvName") or answer.get("name")
    )
    print(f"    {rpc}({', '.join(request.values())}) → {names}", flush=True)


def main() -> None:
    os.chdir(ROOT)
    shutil.rmtree(OUT, ignore_errors=True)

    say("1. Types and markers in operator/memcached_operator/api → operator/config")
    olmkit("generate", "--project", "operator", "--check")

    say("2. config → a bundle for each version")
    for version in VERSIONS:
        olmkit(
            *("bundle", "generate", "--project", "operator", "--version", version),
            *("--input", f"config/releases/{version}"),
            *("--output-dir", ROOT / OUT / "bundle" / version, "--quiet"),
        )

    say("3. The bundles are checked")
    olmkit("bundle", "validate", *(OUT / "bundle" / version for version in VERSIONS))

    say("4. Images of them in an OCI layout, without a daemon")
    for version in VERSIONS:
        tag = f"oci:{OUT / 'oci'}:memcached-operator-bundle-v{version}"
        olmkit("bundle", "build", OUT / "bundle" / version, "-t", tag, "--quiet")

    say("5. A catalog with both, and an upgrade edge between them")
    catalog = OUT / "catalog"
    olmkit(
        *("catalog", "init", "memcached-operator", "--default-channel", "alpha"),
        into=catalog / "catalog.yaml",
    )
    for version in VERSIONS:
        image = "quay.io/example/memcached-operator-bundle:v{version}"
        olmkit("catalog", "add", catalog, OUT / "bundle" / version, "--image", image, "--quiet")
    olmkit("catalog", "validate", catalog)
    olmkit("catalog", "graph", catalog)
    olmkit("catalog", "build", catalog, "-t", f"oci:{OUT / 'oci'}:catalog", "--quiet")

    say("6. Served as OLM asks for it, over gRPC")
    with served(catalog) as address, CatalogClient(address) as client:
        package, channel = "memcached-operator", "alpha"
        ask(client, "ListPackages")
        ask(client, "GetBundleForChannel", pkgName=package, channelName=channel)
        say("7. The predicted upgrade: what OLM installs where 0.0.1 runs")
        ask(
            *(client, "GetBundleThatReplaces"),
            csvName="memcached-operator.v0.0.1",
            pkgName=package,
            channelName=channel,
        )

    say(f"Done. All of it is in {OUT}: bundle/, catalog/ and the images in oci/.")


if __name__ == "__main__":
    main()
