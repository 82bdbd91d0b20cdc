"""Objects by kind and name: what is not there is empty."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.kube.api import NotFound


class OneAnswer:
    """A cluster that answers every request alike."""

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
def test_what_a_kubelet_says_of_a_log_that_it_lacks_is_no_log(
    answer: bytes | Exception, log: str
) -> None:
    reader = ClusterObjects(cast("HttpCluster", OneAnswer(answer)))

    assert asyncio.run(reader.log("apps", "p", "c", previous=True)) == log
