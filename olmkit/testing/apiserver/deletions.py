"""Deletions of objects and of whole collections, and evictions of pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from olmkit.testing.apiserver import admission, answers, namespaces, refusals, rules, subresources
from olmkit.testing.apiserver import requests as api_requests
from olmkit.testing.apiserver.admission import Webhook, Write
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds import definitions
from olmkit.testing.apiserver.kinds.collection import Collection, Key
from olmkit.testing.apiserver.selection import select
from olmkit.testing.apiserver.state import ApiState


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """Responds to requests of one user that delete objects."""

    state: ApiState
    webhooks: Sequence[Webhook]
    user: str

    async def delete(
        self, request: web.Request, collection: Collection, key: Key
    ) -> web.StreamResponse:
        options = await api_requests.body_of(request) if request.can_read_body else {}
        _, dry_run = api_requests.manner_of(request)
        dry_run = dry_run or options.get("dryRun") == ["All"]
        old = rules.present(collection, key)
        rules.check_preconditions(collection, old, options)
        if self.webhooks:
            write = Write(
                collection=collection,
                operation="DELETE",
                old=old,
                new=None,
                user=self.user,
                dry_run=dry_run,
            )
            await admission.check(self.webhooks, write, None, [])
        if namespaces.is_kind(collection):
            ended = self.state.store(
                collection, namespaces.ended(old, self.state.now()), old, dry_run=dry_run
            )
            if self.state.collects_garbage and not dry_run:
                self.state.empty_namespace(key[1])
            return answers.answer(request, collection, ended, self.state.now())
        if collection.resource.path() == definitions.PATH and not dry_run:
            for path in definitions.paths(old):
                self.state.collections.pop(path, None)
        policy = options.get("propagationPolicy") or request.query.get("propagationPolicy")
        grace = rules.grace_of(collection, old, options, request.query)
        gone = self.state.delete(collection, key, policy, grace, dry_run=dry_run)
        if gone is not None:
            return answers.answer(request, collection, gone, self.state.now())
        details = refusals.details_of(collection.resource, key[1])
        return web.json_response(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details | {"uid": old["metadata"]["uid"]},
            }
        )

    async def evict(
        self, request: web.Request, collection: Collection, key: Key
    ) -> web.StreamResponse:
        pod = rules.present(collection, key)
        body = await api_requests.body_of(request)
        _, dry_run = api_requests.manner_of(request)
        options = body.get("deleteOptions") or {}
        dry_run = dry_run or options.get("dryRun") == ["All"]
        budgets = self.state.collections.get("/apis/policy/v1/poddisruptionbudgets")
        if budgets is not None:
            budget = subresources.budget_of(pod, budgets.objects.values())
            if budget is not None:
                old = budgets.objects[api_collection.key_of(budget)]
                self.state.store(budgets, budget, old, dry_run=dry_run)
        rules.check_preconditions(collection, pod, options)  # after the budget was reduced
        grace = rules.grace_of(collection, pod, options, request.query)
        self.state.delete(collection, key, options.get("propagationPolicy"), grace, dry_run=dry_run)
        answer = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return web.json_response(answer | {"code": 201}, status=201)

    async def delete_all(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        selection = select(request, collection, namespace)
        options = await api_requests.body_of(request) if request.can_read_body else {}
        _, dry_run = api_requests.manner_of(request)
        found = [one for _, one in sorted(collection.objects.items()) if selection.takes(one)]
        for one in found:
            self.state.delete(
                collection,
                api_collection.key_of(one),
                options.get("propagationPolicy"),
                rules.grace_of(collection, one, options, request.query),
                dry_run=dry_run or options.get("dryRun") == ["All"],
            )
        metadata = {"resourceVersion": str(self.state.version)}
        shown = [collection.shown(one) for one in found]
        return web.json_response(answers.listed(request, collection, shown, metadata))
