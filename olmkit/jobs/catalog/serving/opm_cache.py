"""Build the cache of `opm serve` for a catalog image."""

from __future__ import annotations

from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc
from olmkit.catalog.serve import opm_cache
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.jobs.catalog.serving import stores


def build(reference: str, tree: Tree) -> Tree:
    """Return the files of the cache folder.

    Raises `InputError` for a catalog that opm rejects, and for names that it cannot cache.
    """
    store = stores.build(reference, tree, None).store
    try:
        registry = RegistryApi(store.index, store.read)
        return opm_cache.build(tree, store.index.packages, registry, fbc.load(tree))
    finally:
        store.close()
