"""What the double does not support, tested on the real server: validation rules in CEL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import World


async def test_only_the_real_server_evaluates_cel_rules(world: World) -> None:
    manifest = world.manifest("widgets", "w", spec={"colour": "red", "size": 9})
    answer = await world.ask("POST", world.path("widgets"), manifest)
    if world.is_double:
        assert answer.status == 201, "the double does not evaluate rules"
    else:
        assert answer.status == 422
        assert "red ones are small" in answer.body["message"]
