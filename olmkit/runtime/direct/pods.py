"""Logs, commands and ports of pods."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from olmkit.kube.api import Cluster, ClusterError, Pipe
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.work.reconcile import Request

_MAX_OUTPUT = 16 * 1024 * 1024
_MAX_LINE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Executed:
    """A finished command: its exit code and its output."""

    code: int
    output: bytes
    errors: bytes


class Pods:
    """Access to pods by namespace and name; every method may raise `ClusterError`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def logs(
        self,
        pod: Request,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: Duration | None = None,
        since_time: str = "",
        tail: int | None = None,
        timestamps: bool = False,
        limit: int | None = None,
    ) -> AsyncIterator[str]:
        """Yield the lines of a container's log; with `follow`, until the container terminates.

        `container` is optional for a pod with one container. `previous` reads the instance before
        the last restart. `since` is an age, `since_time` a timestamp (RFC 3339), `tail` a number of
        lines, `limit` a number of bytes. A line longer than 1 MiB is split.
        """
        params = {"container": container, "sinceTime": since_time}
        params |= {"previous": "true"} if previous else {}
        params |= {"timestamps": "true"} if timestamps else {}
        if since is not None:
            params["sinceSeconds"] = str(max(1, round(seconds(since, "since"))))
        if tail is not None:
            params["tailLines"] = str(tail)
        if limit is not None:
            params["limitBytes"] = str(limit)
        given = {name: value for name, value in params.items() if value}
        parts = self._cluster.log(pod.namespace, pod.name, params=given, follow=follow)
        rest = b""
        async with contextlib.aclosing(parts):
            async for part in parts:
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield _text(line)
                while len(rest) > _MAX_LINE:
                    yield _text(rest[:_MAX_LINE])
                    rest = rest[_MAX_LINE:]
        if rest:
            yield _text(rest)

    async def execute(
        self,
        pod: Request,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | None = None,
    ) -> Executed:
        """Run a command in a container and wait for it; `stdin` is its whole input.

        Use `asyncio.timeout` to limit the time. Raises `ClusterError` if the command cannot be
        started, or writes more than 16 MiB. Input needs Kubernetes 1.30.
        """
        written = {1: bytearray(), 2: bytearray()}
        code: int | None = None
        messages = self._cluster.execute(pod.namespace, pod.name, container, command, stdin=stdin)
        async with contextlib.aclosing(messages):
            async for channel, data in messages:
                if channel in written:
                    written[channel] += data
                elif channel == 3:
                    code = _exit_code(data, pod)
                if sum(map(len, written.values())) > _MAX_OUTPUT:
                    raise ClusterError(
                        f"the command in pod `{pod}` wrote more than {_MAX_OUTPUT >> 20} MiB"
                    )
        if code is None:
            raise ClusterError(
                f"the connection to the command in pod `{pod}` was lost", temporary=True
            )
        return Executed(code, bytes(written[1]), bytes(written[2]))

    def forward(self, pod: Request, port: int) -> AbstractAsyncContextManager[Pipe]:
        """Open a connection to a port of a pod: `async with pods.forward(pod, 80) as pipe`."""
        return self._cluster.forward(pod.namespace, pod.name, port)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _exit_code(data: bytes, pod: Request) -> int:
    """Return the exit code from a command's final Status; raise `ClusterError` without one."""
    try:
        status: Any = json.loads(data)
    except (ValueError, RecursionError):
        status = None
    status = status if isinstance(status, dict) else {}
    if status.get("status") == "Success":
        return 0
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            with contextlib.suppress(TypeError, ValueError):
                return int(cause["message"])
    reason = status.get("message") or "the API server gave no reason"
    raise ClusterError(f"the command in pod `{pod}` was not run: {reason}")
