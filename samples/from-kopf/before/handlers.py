"""Buckets in a store outside of the cluster, with kopf: `kopf run handlers.py`."""

import os

import aiohttp
import kopf

STORE = os.environ["STORE_URL"]


@kopf.on.create("storage.example.com", "v1", "buckets")
@kopf.on.update("storage.example.com", "v1", "buckets", field="spec")
@kopf.on.resume("storage.example.com", "v1", "buckets")
async def ensure(namespace, name, spec, meta, patch, **_):
    body = {"size": spec.get("size", 1)}
    async with aiohttp.ClientSession() as http:
        async with http.put(f"{STORE}/{namespace}.{name}", json=body) as answer:
            if answer.status == 507:
                raise kopf.PermanentError("the store is full")
            if answer.status >= 400:
                raise kopf.TemporaryError(f"the store says {answer.status}", delay=1)
            stored = await answer.json()
    patch.status["address"] = stored["address"]
    patch.status["observedGeneration"] = meta["generation"]


@kopf.on.delete("storage.example.com", "v1", "buckets")
async def remove(namespace, name, **_):
    async with aiohttp.ClientSession() as http:
        async with http.delete(f"{STORE}/{namespace}.{name}") as answer:
            if answer.status not in (200, 404):
                raise kopf.TemporaryError(f"the store says {answer.status}", delay=1)
