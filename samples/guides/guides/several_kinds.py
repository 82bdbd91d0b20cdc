"""Two kinds in one operator: a Shop has Shelves, and a Shelf has a ConfigMap."""

# +groupName=guides.example.com
# +versionName=v1

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from olmkit.runtime import (
    GVK,
    Child,
    Children,
    Client,
    ControllerBuilder,
    CustomResource,
    Manager,
    Manifest,
    Model,
    Request,
)

CONFIG_MAP = GVK(group="", version="v1", kind="ConfigMap")
SHOP = "guides.example.com/shop"


class ShopSpec(Model):
    shelves: list[str] = []


class ShopStatus(Model):
    filled: int = 0


# +kubebuilder:subresource:status
class Shop(CustomResource):
    """A shop, by the names of its shelves."""

    gvk: ClassVar[GVK] = GVK(group="guides.example.com", version="v1", kind="Shop")
    spec: ShopSpec
    status: ShopStatus | None = None


class ShelfSpec(Model):
    label: str


class ShelfStatus(Model):
    filled: bool = False


# +kubebuilder:subresource:status
class Shelf(CustomResource):
    """A shelf of a shop."""

    gvk: ClassVar[GVK] = GVK(group="guides.example.com", version="v1", kind="Shelf")
    spec: ShelfSpec
    status: ShelfStatus | None = None


def shelves_of(shop: Shop) -> list[Manifest]:
    """Return the shelves of a shop; children can be of a kind of this operator."""
    return [
        {
            "apiVersion": Shelf.gvk.api_version,
            "kind": Shelf.gvk.kind,
            "metadata": {
                "name": f"{shop.metadata.name}-{name}",
                "labels": {SHOP: shop.metadata.name},
            },
            "spec": {"label": name},
        }
        for name in shop.spec.shelves
    ]


class ShopReconciler:
    """Keeps the shelves of a shop, and counts the filled ones."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._children = Children(client, removes=[Shelf])

    async def reconcile(self, request: Request) -> None:
        shop = await self._client.get(Shop, request)
        if shop is None:
            return
        family = await self._children.apply(shop, shelves_of(shop))
        family.check()
        status = ShopStatus(filled=sum(_is_filled(one) for one in family.children))
        if status != shop.status:
            await self._client.update_status(shop.model_copy(update={"status": status}))


def _is_filled(child: Child) -> bool:
    return bool((child.manifest.get("status") or {}).get("filled"))


def contents_of(shelf: Shelf) -> Sequence[Manifest]:
    """What is on a shelf."""
    name = {"name": shelf.metadata.name}
    data = {"label": shelf.spec.label}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data}]


class ShelfReconciler:
    """Fills a shelf. It knows nothing of shops."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._children = Children(client)

    async def reconcile(self, request: Request) -> None:
        shelf = await self._client.get(Shelf, request)
        if shelf is None:
            return
        (await self._children.apply(shelf, contents_of(shelf))).check()
        status = ShelfStatus(filled=True)
        if status != shelf.status:
            await self._client.update_status(shelf.model_copy(update={"status": status}))


def add_controllers(manager: Manager) -> None:
    """One controller for each kind: each has its own queue and its own workers."""
    shops = ControllerBuilder().watches_for(Shop).owns(Shelf)
    manager.add_controller(shops.build(ShopReconciler(manager.client)))
    shelves = ControllerBuilder().watches_for(Shelf).owns(CONFIG_MAP)
    manager.add_controller(shelves.build(ShelfReconciler(manager.client)))
