"""The sources of a queue: kinds and channels, limited, ended, and not stopped by exceptions."""

from __future__ import annotations

import asyncio
from typing import cast

from olmkit.kube.objects import GVK
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.handler import EnqueueObject, Funcs, Queue
from olmkit.runtime.watch.predicate import GenericEvent, matching_labels
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.source import ChannelSource, Ending, KindSource, Troubled
from olmkit.runtime.work.workqueue import WorkQueue
from olmkit.testing import clock

MAP = GVK(group="", version="v1", kind="ConfigMap")


def _event(name: str, **labels: str) -> GenericEvent:
    return GenericEvent(Snapshot.of({"metadata": {"name": name, "labels": labels}}))


def test_a_channel_has_a_limit_and_then_blocks() -> None:
    async def scenario() -> None:
        queue: Queue = WorkQueue()
        channel = ChannelSource(EnqueueObject(), size=2)
        await channel.offer(_event("a"))
        await channel.offer(_event("b"))
        waiting = asyncio.ensure_future(channel.offer(_event("c")))
        await asyncio.sleep(1)
        assert not waiting.done()
        await channel.start(cast("Cache", None), queue)
        await channel.wait_for_sync()
        await waiting
        await asyncio.sleep(1)
        assert len(queue) == 3
        channel.end()
        await asyncio.sleep(0)
        await channel.offer(_event("d"))
        await asyncio.sleep(1)
        assert len(queue) == 3

    clock.run(scenario())


def test_a_channel_continues_after_a_handler_failed_and_uses_its_predicates() -> None:
    async def scenario() -> None:
        def handle(event: GenericEvent, queue: Queue) -> None:
            if event.object.key.name == "bad":
                raise ValueError("a mistake")
            queue.add(event.object.key)

        queue: Queue = WorkQueue()
        channel = ChannelSource(Funcs(generic=handle), matching_labels("x=y"))
        await channel.start(cast("Cache", None), queue)
        for event in (_event("bad", x="y"), _event("other"), _event("good", x="y")):
            await channel.offer(event)
        await asyncio.sleep(1)
        assert len(queue) == 1
        channel.end()

    clock.run(scenario())


def test_a_kind_that_did_not_start_has_no_error_yet() -> None:
    source = KindSource(MAP, EnqueueObject())
    assert isinstance(source, Troubled)
    assert source.trouble == ""
    assert str(source) == str(MAP)
    assert not isinstance(source, Ending)
    assert isinstance(ChannelSource(EnqueueObject()), Ending)


def test_a_kind_without_a_cache_is_not_waited_for() -> None:
    asyncio.run(KindSource(MAP, EnqueueObject()).wait_for_sync())
