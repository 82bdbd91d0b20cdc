"""Reconcile objects of one kind as releases: install, upgrade, correct drift, uninstall.

A reconcile reads the newest revision from its Secret and compares its input with the desired input.
So nothing is rendered while nothing has changed, and a chart with random values is not upgraded
repeatedly. A release of another program does not record its input: there, the rendered objects are
compared.
"""

from __future__ import annotations

import contextlib
import difflib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.go import durations
from olmkit.edges.programs.helm import ChartSource, Helm, HelmError, Inputs
from olmkit.hybrid import masks
from olmkit.hybrid.helm import drift, releases, status
from olmkit.hybrid.helm.failures import Failures
from olmkit.hybrid.helm.releases import Release
from olmkit.hybrid.helm.watches import HelmWatch
from olmkit.kube import finalizers, objects, owners
from olmkit.kube.api import ClusterError, NotFound
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.events import WARNING, EventRecorder
from olmkit.runtime.work.reconcile import Request, Result

_LOG = logging.getLogger(__name__)
FINALIZER = "helm.sdk.operatorframework.io/uninstall-release"
OLD_FINALIZER = "uninstall-helm-release"
_PREFIX = "helm.sdk.operatorframework.io/"
_SECRET = GVK(group="", version="v1", kind="Secret")
_IN_USE = "cannot re-use a name that is still in use"  # the output of helm
_MANAGER = "helm"  # Helm's own name, so that a repair changes no ownership of fields

WatchKinds = Callable[[frozenset[GVK]], Awaitable[None]]
"""Lets events of objects of these kinds enqueue their owners."""


@dataclass(slots=True, kw_only=True)
class HelmReconciler:
    """The settings; `period` is the seconds between reconciles without an event.

    `hides_overrides` masks override values in events. `now` returns the time in the format of
    conditions.
    """

    watch: HelmWatch
    chart: ChartSource
    helm: Helm
    client: Client
    failures: Failures
    now: Callable[[], str]
    period: float = 60.0
    recorder: EventRecorder | None = None
    hides_overrides: bool = False
    watch_kinds: WatchKinds | None = None
    _compared: dict[str, str] = field(default_factory=dict, init=False)

    async def reconcile(self, request: Request) -> Result:
        """Reconcile one object; raises errors of the cluster after they are in the status."""
        owner = await self.client.get(self.watch.gvk, request)
        if owner is None or not self._is_selected(owner):
            return Result()
        if finalizers.is_being_deleted(owner):
            return await self._delete(owner)
        wanted = self._inputs(owner)
        if pause := self.failures.pause(_uid(owner), wanted.label):
            return Result(requeue_after=pause)
        if not finalizers.contains(owner, FINALIZER):
            changed = _copy(owner)
            finalizers.add(changed, FINALIZER)
            owner = await self.client.patch(owner, changed, locked=True)
        found = status.of(owner)
        status.initialized(found, now=self.now())
        try:
            pause = await self._apply_release(owner, wanted, found)
        except OlmkitError as error:
            status.irreconcilable(found, message=str(error), now=self.now())
            await self._report(owner, found)
            raise
        await self._report(owner, found)
        return Result(requeue_after=pause or self._period(owner))

    async def differences(self, request: Request) -> list[str]:
        """Return the changes of a dry run as lines without secrets."""
        owner = await self.client.get(self.watch.gvk, request)
        if owner is None or not self._is_selected(owner):
            return []
        release = releases.current(await self._read_revisions(owner))
        if finalizers.is_being_deleted(owner):
            return ["uninstall the release"] if release else []
        wanted = self._inputs(owner)
        if _is_to_install(release):
            listed = (
                [f"the release of revision {release.revision}, which failed"]
                if release
                else [
                    _describe(one)
                    for one in releases.manifests(
                        await self._rendered(owner, wanted, is_there=False)
                    )
                ]
            )
            return ["install the release", *(f"  {one}" for one in listed)]
        assert release is not None  # noqa: S101 - it would have to be installed
        self._check_chart(release)
        if await self._is_outdated(owner, release, wanted):
            new = await self._rendered(owner, wanted, is_there=True)
            return ["upgrade the release", *_diff(release.manifest, new)]
        return await self._repair(owner, release, is_rehearsal=True)

    # One reconcile

    async def _apply_release(self, owner: Manifest, inputs: Inputs, found: dict[str, Any]) -> float:
        """Apply the release; return 0, or the seconds until it may be retried."""
        release = releases.current(await self._clean_up_revisions(owner))
        if release is not None:
            self._check_chart(release)
        is_new = False
        doing = status.INSTALL if _is_to_install(release) else status.UPGRADE
        try:
            if release is None or _is_to_install(release):
                self._report_overrides(owner)
                await self._install(owner, inputs, release)
                release, is_new = None, True
            elif await self._is_outdated(owner, release, inputs):
                self._report_overrides(owner)
                await self._upgrade(owner, inputs, release)
                release, is_new = None, True
        except HelmError as error:
            message = masks.hidden(error.message, await self._secrets(owner, inputs, release))
            return self._failed(owner, inputs, found, doing, message)
        if release is None:
            release = releases.current(await self._read_revisions(owner))
        if release is None:
            raise HelmError(f"helm has stored no release `{objects.name(owner)}`")
        # The watch starts first: later changes enqueue the object, earlier ones are read.
        if self.watch_kinds is not None and self.watch.watches_dependents:
            listed = releases.manifests(release.manifest)
            await self.watch_kinds(frozenset(objects.gvk(one) for one in listed))
        else:
            is_new = False
        await self._repair(owner, release, is_new=is_new)
        await self._set_owner(owner, release)
        self.failures.forget(_uid(owner))
        status.deployed(found, release, now=self.now(), room=status.room(owner))
        return 0.0

    async def _secrets(self, owner: Manifest, inputs: Inputs, release: Release | None) -> list[str]:
        """Return the values of the Secrets in the current and the desired release."""
        found = releases.manifests(release.manifest) if release is not None else []
        # Objects that cannot be rendered have no Secrets that an error could show.
        with contextlib.suppress(OlmkitError):
            new = await self._rendered(owner, inputs, is_there=release is not None)
            found += releases.manifests(new)
        return masks.secrets_of(found)

    def _failed(
        self,
        owner: Manifest,
        inputs: Inputs,
        found: dict[str, Any],
        doing: str,
        message: str,
    ) -> float:
        pause = self.failures.note(_uid(owner), inputs.label)
        status.failed(found, doing=doing, message=message, now=self.now())
        facts = {"object": f"{objects.namespace(owner)}/{objects.name(owner)}", "pause": pause}
        _LOG.error("helm failed", extra=facts | {"doing": doing, "error": message})
        return pause

    async def _install(self, owner: Manifest, inputs: Inputs, left: Release | None) -> None:
        """Install; remains of a failed attempt are uninstalled before and after."""
        name, namespace = objects.name(owner), objects.namespace(owner)
        if left is not None:
            await self.helm.uninstall(name, namespace)
        try:
            await self.helm.install(name, namespace, inputs)
        except HelmError as error:
            # If another operator has created a release with this name meanwhile, it stays.
            if _IN_USE not in error.message and await self._read_revisions(owner):
                await self.helm.uninstall(name, namespace)
            raise

    async def _upgrade(self, owner: Manifest, inputs: Inputs, last: Release) -> None:
        """Upgrade; after a failure, roll back to the last revision that was deployed."""
        name, namespace = objects.name(owner), objects.namespace(owner)
        try:
            await self.helm.upgrade(
                name,
                namespace,
                inputs,
                is_server_side=last.is_server_side,
                force=_is_set(owner, "upgrade-force", default=False),
            )
        except HelmError as error:
            newest = max((one.revision for one in await self._read_revisions(owner)), default=0)
            if newest > last.revision and last.status == releases.DEPLOYED:
                await self._roll_back(owner, last, error)
            raise

    async def _roll_back(self, owner: Manifest, last: Release, cause: HelmError) -> None:
        try:
            await self.helm.rollback(
                objects.name(owner),
                objects.namespace(owner),
                last.revision,
                is_server_side=last.is_server_side,
                force=_is_set(owner, "rollback-force", default=True),
            )
        except HelmError as error:
            # The failure of the upgrade is what the user must correct.
            raise HelmError(f"{cause.message}\nrollback: {error.message}") from error

    async def _delete(self, owner: Manifest) -> Result:
        ours = [one for one in (FINALIZER, OLD_FINALIZER) if finalizers.contains(owner, one)]
        if not ours:
            self._forget(owner)
            return Result()
        if pause := self.failures.pause(_uid(owner), status.UNINSTALL):
            return Result(requeue_after=pause)
        found = status.of(owner)
        try:
            if await self._read_revisions(owner):
                await self.helm.uninstall(
                    objects.name(owner),
                    objects.namespace(owner),
                    wait=_is_set(owner, "uninstall-wait", default=False),
                )
        except HelmError as error:
            status.failed(found, doing=status.UNINSTALL, message=error.message, now=self.now())
            await self._report(owner, found)
            pause = self.failures.note(_uid(owner), status.UNINSTALL)
            _LOG.error("helm failed", extra={"doing": "Uninstall", "error": error.message})
            return Result(requeue_after=pause)
        status.uninstalled(found, now=self.now())
        try:
            owner = await self._report(owner, found)
            changed = _copy(owner)
            for one in ours:
                finalizers.remove(changed, one)
            await self.client.patch(owner, changed, locked=True)
        except NotFound:
            pass  # the finalizer was removed meanwhile
        self._forget(owner)
        return Result()

    def _forget(self, owner: Manifest) -> None:
        self.failures.forget(_uid(owner))
        self._compared.pop(_uid(owner), None)

    # Current state

    async def _read_revisions(self, owner: Manifest) -> list[Release]:
        """Return the revisions that are not superseded, from the server: no Secret is cached."""
        name = objects.name(owner)
        secrets = await self.client.direct.list(
            _SECRET,
            namespace=objects.namespace(owner),
            labels=f"owner=helm,name={name},status!=superseded",
        )
        return [releases.decode(one) for one in secrets]

    async def _clean_up_revisions(self, owner: Manifest) -> list[Release]:
        """Delete unfinished revisions, which helm cannot change, and return the others."""
        found = await self._read_revisions(owner)
        for one in found:
            if one.is_pending:
                facts = {"release": one.name, "revision": one.revision, "was": one.status}
                _LOG.warning("revision was left in the middle", extra=facts)
                await self.client.delete(_SECRET, Request(one.secret, objects.namespace(owner)))
        return [one for one in found if not one.is_pending]

    def _check_chart(self, release: Release) -> None:
        if release.chart != self.chart.name:
            raise InputError(
                f"duplicate release name: the release `{release.name}` is of the chart "
                f"`{release.chart}`, not of `{self.chart.name}`",
                hint="give the object another name, or uninstall that release",
            )

    async def _is_outdated(self, owner: Manifest, release: Release, inputs: Inputs) -> bool:
        """Return whether an upgrade is needed."""
        if release.status != releases.DEPLOYED:
            return True
        known = release.input or self._compared.get(_uid(owner), "")
        if known and known != inputs.label:
            return True
        if known and not self.watch.renders_on_server:
            return False
        new = await self._rendered(owner, inputs, is_there=True)
        if releases.same(new, release.manifest):
            self._compared[_uid(owner)] = inputs.label
            return False
        if releases.same(new, await self._rendered(owner, inputs, is_there=True)):
            return True
        # An adopted release has no other information on whether it is up to date.
        _LOG.warning("the chart renders random values", extra={"release": release.name})
        return False

    async def _rendered(self, owner: Manifest, inputs: Inputs, *, is_there: bool) -> str:
        return await self.helm.render(
            objects.name(owner),
            objects.namespace(owner),
            inputs,
            is_there=is_there,
            on_server=self.watch.renders_on_server,
        )

    async def _repair(
        self,
        owner: Manifest,
        release: Release,
        *,
        is_rehearsal: bool = False,
        is_new: bool = False,
    ) -> list[str]:
        """Restore the objects of the release from its manifest; return the changes.

        A release that `is_new` is not compared: its objects get their owner here, and this or any
        other change causes the next reconcile, which compares them.
        """
        done: list[str] = []
        for one in releases.manifests(release.manifest):
            done += await self._repair_object(owner, one, is_rehearsal=is_rehearsal, is_new=is_new)
        if done and not is_rehearsal:
            _LOG.info("drift corrected", extra={"release": release.name, "changes": len(done)})
        return done

    async def _repair_object(
        self, owner: Manifest, desired: Manifest, *, is_rehearsal: bool, is_new: bool
    ) -> list[str]:
        namespace = objects.namespace(owner)
        gvk = objects.gvk(desired)
        resource = await self.client.cluster.resource(gvk.api_version, gvk.kind)
        applied = drift.as_helm_applies(desired, release=objects.name(owner), namespace=namespace)
        if resource.namespaced:
            applied["metadata"].setdefault("namespace", namespace)
        key = Request(objects.name(applied), objects.namespace(applied))
        helm = Client(self.client.cluster, None, field_manager=_MANAGER)
        live = await helm.get(gvk, key)
        if live is None:
            if is_rehearsal:
                return [f"create {_describe(applied)}"]
            live = await helm.apply(applied)
            done = [f"create {_describe(applied)}"]
        else:
            should = live if is_new else await helm.rehearsal.apply(applied)
            done = []
            if drift.is_changed(live, should):
                fields = drift.differences(live, should)
                done = [f"change {_describe(applied)}: {field}" for field in fields]
                if not is_rehearsal:
                    live = await helm.apply(applied)
        if is_rehearsal or drift.is_kept(desired):
            return done
        belongs = drift.ownership(owner, live, chart=self.chart.name)
        if belongs is not None:
            await self.client.apply(belongs)
        return done

    async def _set_owner(self, owner: Manifest, release: Release) -> None:
        """Make the object the owner of the release's Secret, as in helm-operator."""
        if _uid(owner) in release.owners:
            return
        # With the UID, so that applying it never creates a Secret.
        metadata = {
            "name": release.secret,
            "namespace": objects.namespace(owner),
            "uid": release.secret_uid,
        }
        manifest: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        owners.set_owner_reference(owner, manifest)
        await self.client.apply(manifest)

    # Desired state

    def _inputs(self, owner: Manifest) -> Inputs:
        values = objects.mapping(owner.get("spec"))
        overrides = self.watch.override_values
        label = releases.digest(
            chart=self.chart.digest, helm=self.helm.version, values=values, overrides=overrides
        )
        return Inputs(
            chart=self.chart,
            values=values,
            overrides=overrides,
            label_name=releases.INPUT_LABEL,
            label=label,
        )

    def _is_selected(self, owner: Manifest) -> bool:
        selector = self.watch.selector
        return selector is None or selector.matches(objects.labels_of(owner))

    def _period(self, owner: Manifest) -> float:
        value = objects.annotations_of(owner).get(f"{_PREFIX}reconcile-period")
        if value is not None:
            try:
                return max(0.0, durations.parse(value))
            except ValueError as error:
                _LOG.warning("annotation is not read", extra={"error": str(error)})
        return self.watch.reconcile_period or self.period

    def _report_overrides(self, owner: Manifest) -> None:
        if self.recorder is None:
            return
        for key, value in self.watch.override_values.items():
            shown = masks.MASK if self.hides_overrides else value
            self.recorder.event(
                owner,
                WARNING,
                "OverrideValuesInUse",
                "Release",
                f"Chart value {key!r} overridden to {shown!r} by operator's watches.yaml",
            )

    async def _report(self, owner: Manifest, found: Mapping[str, Any]) -> Manifest:
        """Write the status if it differs."""
        if found == owner.get("status"):
            return owner
        changed = {**owner, "status": dict(found)}
        try:
            return await self.client.patch(owner, changed, subresource="status")
        except NotFound:
            return owner  # it was deleted meanwhile
        except ClusterError as error:
            _LOG.error("status not written", extra={"error": str(error)})
            raise


def _is_to_install(release: Release | None) -> bool:
    """Return whether there is no release, or the first attempt failed; later ones are upgraded."""
    return release is None or (release.status != releases.DEPLOYED and release.revision == 1)


def _copy(manifest: Manifest) -> Manifest:
    metadata = dict(objects.metadata(manifest))
    if "finalizers" in metadata:
        metadata["finalizers"] = list(metadata["finalizers"])
    return {**manifest, "metadata": metadata}


def _uid(manifest: Manifest) -> str:
    return objects.text(objects.metadata(manifest).get("uid"))


def _describe(manifest: Manifest) -> str:
    return f"{objects.kind(manifest)} {objects.name(manifest)}"


def _is_set(owner: Manifest, name: str, *, default: bool) -> bool:
    """Return an annotation that Go's `strconv.ParseBool` reads; anything else is the default."""
    value = objects.annotations_of(owner).get(_PREFIX + name, "")
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    return default and value not in ("0", "f", "F", "false", "FALSE", "False")


def _diff(old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(
        releases.mask(old).splitlines(), releases.mask(new).splitlines(), lineterm="", n=2
    )
    return list(lines)[2:]  # without the names of files
