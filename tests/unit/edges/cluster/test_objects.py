"""Objects by kind and name: a missing object is empty."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.kube.api import NotFound


class OneAnswer:
    """A cluster with the same answer to every request."""

    def __init__(self, answer: bytes | Exception) -> None:
        self.answer = answer

    async def request(self, *_: Any, **__: Any) -> bytes:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "log"),
    [
        (b"panic: no\n", "panic: no\n"),
        (b"unable to retrieve container logs for containerd://fa24aa4a10b8", ""),
        (NotFound("gone"), ""),
    ],
)
def test_the_kubelets_message_about_a_missing_log_is_not_a_log(
    answer: bytes | Exception, log: str
) -> None:
    reader = ClusterObjects(cast("HttpCluster", OneAnswer(answer)))

    assert asyncio.run(reader.log("apps", "p", "c", previous=True)) == log
