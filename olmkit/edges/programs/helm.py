"""Run the helm program, versions 3 and 4: one process for each action on a release.

Values are passed in a file that only this user can read. Whole numbers are also passed on the
command line, since helm reads each number of a file as a float. A process that takes too long, or
whose caller is cancelled, gets SIGTERM, so that Helm writes the state of the release, and SIGKILL
after some seconds. It has its own session, so its children end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges import disk, paths
from olmkit.edges.network import urls
from olmkit.edges.programs import number_flags
from olmkit.edges.programs.keeper import marks

_CHUNK = 64 * 1024
_OUTPUT = 64 << 20  # bytes; the output of a dry run is a whole release
_MESSAGE = 4000  # characters of helm's output in an error
_GRACE = 10.0  # seconds between the two signals
_PULL = 300.0  # seconds for fetching a chart
MAX_PACKED = 32 << 20  # bytes of a packed chart


@dataclass(eq=False)
class HelmError(RemoteError):
    """Helm failed; the message is its error output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """A chart folder or archive, its name, and the digest of its files."""

    path: Path
    name: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The input of a release; `overrides` are strings, as for `--set-string`.

    `label` is stored with the release as `label_name`.
    """

    chart: ChartSource
    values: Any
    overrides: Mapping[str, str] = field(default_factory=dict)
    label_name: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Helm:
    """The helm program, its cluster credentials, and the time limit of a call in seconds.

    `environment` is that of the process; `home` is a folder for values, and for helm's cache.
    """

    program: str
    version: str
    environment: Mapping[str, str]
    home: Path
    timeout: float = 900.0

    @property
    def is_3(self) -> bool:
        """Return whether the flags are those of Helm 3."""
        return self.version.removeprefix("v").startswith("3.")

    async def install(self, release: str, namespace: str, inputs: Inputs) -> None:
        """Install the release; raises `HelmError`."""
        async with self._value_flags(inputs) as flags:
            await self._run("install", release, str(inputs.chart.path), "-n", namespace, *flags)

    async def upgrade(
        self,
        release: str,
        namespace: str,
        inputs: Inputs,
        *,
        is_server_side: bool,
        force: bool = False,
    ) -> None:
        """Bring the release to these inputs; `force` replaces objects instead of changing them.

        `is_server_side`: helm has applied the release with server-side apply, and continues to.
        With `force`, Helm 4 changes to client-side apply, since it cannot combine the two.
        """
        more = self._update_flags(is_server_side=is_server_side and not force, force=force)
        async with self._value_flags(inputs) as flags:
            await self._run(
                "upgrade", release, str(inputs.chart.path), "-n", namespace, *flags, *more
            )

    async def render(
        self, release: str, namespace: str, inputs: Inputs, *, is_there: bool, on_server: bool
    ) -> str:
        """Return the manifest of an install, or of an upgrade if the release `is_there`.

        `on_server` lets the function `lookup` of templates read the cluster.
        """
        verb = "upgrade" if is_there else "install"
        where = "server" if on_server else "client"
        async with self._value_flags(inputs) as flags:
            output = await self._run(
                verb,
                release,
                str(inputs.chart.path),
                "-n",
                namespace,
                f"--dry-run={where}",
                "-o",
                "json",
                *flags,
            )
        try:
            found = json.loads(output)["manifest"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise HelmError(f"`helm {verb} --dry-run` did not print a release: {error}") from None
        return str(found)

    async def filled(self, templates: Mapping[str, str]) -> dict[str, str]:
        """Return the rendered templates by key, with Helm's functions and without data.

        Raises `HelmError` for an invalid template.
        """
        from olmkit.base import documents

        with paths.temporary_folder() as folder:
            place = folder / "templates"
            place.mkdir()
            (folder / "Chart.yaml").write_text("apiVersion: v2\nname: values\nversion: 0.0.0\n")
            listed = sorted(templates)
            lines = []
            for number, key in enumerate(listed):
                # One file for each: an error must not show the text of another one.
                file = place / f"_{number}.tpl"
                text = f'{{{{ define "{number}" }}}}{templates[key]}{{{{ end }}}}'
                file.write_text(text, encoding="utf-8")
                lines.append(f'"{number}": {{{{ include "{number}" dict | toJson }}}}\n')
            (place / "values.yaml").write_text("".join(lines), encoding="utf-8")
            output = await self._run("template", "values", str(folder))
        found = documents.load(output, "values.yaml")
        return {key: str(found.get(str(number))) for number, key in enumerate(listed)}

    async def rollback(
        self, release: str, namespace: str, revision: int, *, is_server_side: bool, force: bool
    ) -> None:
        """Restore an earlier revision; `force` replaces objects, if it was not `is_server_side`."""
        more = self._update_flags(is_server_side=is_server_side, force=force and not is_server_side)
        await self._run("rollback", release, str(revision), "-n", namespace, *more)

    async def uninstall(self, release: str, namespace: str, *, wait: bool = False) -> None:
        """Delete the objects and the history; with `wait`, return when the objects are deleted."""
        more = ["--wait"] if wait else []
        await self._run("uninstall", release, "-n", namespace, *more)

    def _update_flags(self, *, is_server_side: bool, force: bool) -> list[str]:
        """Return how objects are updated. Helm 4 rejects flags of the other method of applying."""
        if self.is_3:
            return ["--force"] if force else []
        if is_server_side:
            return ["--server-side=true", "--force-conflicts"]
        return ["--server-side=false", *(["--force-replace"] if force else [])]

    @contextlib.asynccontextmanager
    async def _value_flags(self, inputs: Inputs) -> AsyncIterator[list[str]]:
        """Yield the flags for values, overrides and label; the file of values exists meanwhile."""
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(paths.temporary_folder(self.home))
                file = folder / "values.json"
                file.touch(mode=0o600, exist_ok=False)
                file.write_text(json.dumps(inputs.values), encoding="utf-8")
            except OSError as error:  # such as a full disk
                words = (error.strerror or str(error)).lower()
                raise HelmError(f"cannot write the file of values: {words}") from error
            flags = ["-f", str(file)]
            flags += number_flags.number_flags(inputs.values)
            for key, value in inputs.overrides.items():
                flags += ["--set-string", f"{key}={value}"]
            if inputs.label:
                flags += ["--labels", f"{inputs.label_name}={inputs.label}"]
            yield flags

    async def _run(self, *arguments: str) -> bytes:
        code, output, stderr = await _call(
            [self.program, *arguments], self._environment(), self.timeout
        )
        if code:
            raise _error(arguments[0], code, stderr)
        return output

    def _environment(self) -> dict[str, str]:
        folders = {
            f"HELM_{name}_HOME": str(self.home / name.lower())
            for name in ("CACHE", "CONFIG", "DATA")
        }
        # Variables for another storage of releases, or another user, must not be inherited.
        kept = {key: value for key, value in self.environment.items() if key[:5] != "HELM_"}
        return kept | folders | {marks.VARIABLE: marks.new()}


async def helm(
    program: str, *, environment: Mapping[str, str], home: Path, kubeconfig: Path | None = None
) -> Helm:
    """Return the program with this name or path; raise `ConfigurationError` if there is none."""
    found = dict(environment)
    if kubeconfig is not None:
        found["KUBECONFIG"] = str(kubeconfig)
    code, output, stderr = await _call(
        [program, "version", "--template", "{{.Version}}"], found, _GRACE * 3
    )
    version = output.decode(errors="replace").strip()
    if code or not version.startswith(("v3.", "v4.")):
        words = (stderr or version or f"it ended with code {code}").strip()
        raise ConfigurationError(
            f"`{program}` is not a helm program of version 3 or 4: {words:.300}",
            hint="name one with `--helm`",
        )
    return Helm(program=program, version=version, environment=found, home=home)


def chart(path: Path) -> ChartSource:
    """Return a chart on disk; raise `ConfigurationError` if there is none."""
    from olmkit.base import documents

    digest = hashlib.sha256()
    if paths.is_file(path):
        data = path.read_bytes()
        digest.update(data)
        # A packed chart is named `NAME-VERSION.tgz`; its own file is authoritative.
        described = _packed_description(data)
    else:
        described = disk.read_if_there(path / "Chart.yaml")
        for file in sorted(one for one in path.rglob("*") if one.is_file()):
            digest.update(str(file.relative_to(path)).encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    if described is None:
        raise ConfigurationError(
            f"`{path}` is not a chart: `Chart.yaml` does not exist",
            hint="`chart` in `watches.yaml` names the folder of a chart, or a packed chart",
        )
    name = documents.load(described, str(path / "Chart.yaml")).get("name")
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"`{path / 'Chart.yaml'}` has no `name`")
    return ChartSource(path=path, name=name, digest=digest.hexdigest())


def _packed_description(data: bytes) -> bytes | None:
    import io
    import tarfile

    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if member.name.count("/") == 1 and member.name.endswith("/Chart.yaml"):
                    file = archive.extractfile(member)
                    return file.read(1 << 20) if file else None
    except (tarfile.TarError, EOFError, OSError):
        return None
    return None


async def _call(
    command: Sequence[str], environment: Mapping[str, str], seconds: float
) -> tuple[int, bytes, str]:
    """Return exit code, output and error output of a process with a time limit."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise ConfigurationError(
            f"cannot run `{command[0]}`: {words}", hint="install Helm, or name it with `--helm`"
        ) from error
    assert process.stdout is not None  # noqa: S101 - both are pipes
    assert process.stderr is not None  # noqa: S101
    try:
        async with asyncio.timeout(seconds):
            output, stderr, code = await asyncio.gather(
                _read(process.stdout, _OUTPUT), _read(process.stderr, _OUTPUT), process.wait()
            )
    except TimeoutError:
        raise HelmError(
            f"`helm {command[1]}` was ended after {seconds:g} s", temporary=True
        ) from None
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))
    return code, output, stderr.decode(errors="replace")


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    found = bytearray()
    while chunk := await stream.read(_CHUNK):
        found += chunk
        if len(found) > limit:
            raise HelmError(f"helm prints more than {limit >> 20} MiB")
    return bytes(found)


async def _end(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
                return


def _error(verb: str, code: int, said: str) -> HelmError:
    """Return helm's message without warnings and log lines, and whether a retry may help."""
    noise = ("WARNING", "level=", "time=")
    lines = [line for line in said.splitlines() if line and not line.startswith(noise)]
    message = "\n".join(lines).removeprefix("Error: ").strip()[:_MESSAGE]
    away = ("cluster unreachable", "connection refused", "i/o timeout", "TLS handshake timeout")
    return HelmError(
        message or f"`helm {verb}` ended with code {code}",
        temporary=any(words in message for words in away),
    )


def find_program(environment: Mapping[str, str]) -> Path | None:
    """Return the program helm in `PATH`, if there is one."""
    found = shutil.which("helm", path=environment.get("PATH", os.defpath))
    return Path(found) if found else None


async def pull(
    chart: str, environment: Mapping[str, str], *, repository: str = "", version: str = ""
) -> bytes:
    """Return the packed chart with this name in a chart repository, or at a URL.

    The repositories that the user has added to Helm are used, with their passwords and proxies.
    Raises `HelmError`, or `ConfigurationError` if `helm` is not installed.
    """
    program = find_program(environment)
    if program is None:
        raise ConfigurationError(
            "charts of a repository are fetched by Helm, which is not on this machine",
            hint="install `helm`, or fetch the chart and name the file",
        )
    flags = [f"--repo={repository}"] if repository else []
    flags += [f"--version={version}"] if version else []
    with paths.temporary_folder() as folder:
        command = [str(program), "pull", f"--destination={folder}", *flags, "--", chart]
        code, _, stderr = await _call(command, environment, _PULL)
        if code:
            error = _error("pull", code, stderr)
            error.message = f"cannot fetch the chart `{urls.redact(chart)}`: {error.message}"
            raise error
        found = [one for one in sorted(folder.iterdir()) if one.suffix == ".tgz"]
        if len(found) != 1:
            raise HelmError(f"`helm pull` gave no packed chart for `{urls.redact(chart)}`")
        return disk.read_file(found[0], limit=MAX_PACKED)


async def render_defaults(chart: Path, environment: Mapping[str, str]) -> str:
    """Render a chart with its default values, without a cluster; empty if that fails."""
    program = find_program(environment)
    if program is None:
        return ""
    given = {name: environment[name] for name in ("PATH", "HOME", "TMPDIR") if name in environment}
    try:
        code, output, _ = await _call(
            [str(program), "template", "release", str(chart)], given, 60.0
        )
    except (ConfigurationError, HelmError):
        return ""
    return output.decode(errors="replace") if code == 0 else ""
