"""What the API server asks the operator about Memcacheds before it stores them.

Only v1alpha1 is registered: the API server converts objects of other versions
before it asks. The schema refuses what is wrong, and says so best; what is only
unwise is warned of. Both look at plain data, so that an object from before the
schema can still be changed, and be let go.
"""

from __future__ import annotations

from collections.abc import Sequence

from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.conversion import conversions
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.runtime import webhook_admission
from olmkit.runtime.webhook import WebhookServer
from olmkit.runtime.webhook_admission import AdmissionRequest

MUTATE = webhook_admission.path_for("mutate", Memcached.gvk)
VALIDATE = webhook_admission.path_for("validate", Memcached.gvk)

DEFAULT_SIZE = 1


# +kubebuilder:webhook:path=/mutate-cache-example-com-v1alpha1-memcached,mutating=true,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,matchPolicy=Equivalent,name=mmemcached-v1alpha1.kb.io,admissionReviewVersions=v1
class MemcachedDefaulter:
    """Fills in the size, should a schema without a default be installed."""

    async def default(self, memcached: Manifest, _: AdmissionRequest) -> None:
        spec = memcached.get("spec")
        if isinstance(spec, dict) and spec.get("size") is None:
            spec["size"] = DEFAULT_SIZE


# +kubebuilder:webhook:path=/validate-cache-example-com-v1alpha1-memcached,mutating=false,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,matchPolicy=Equivalent,name=vmemcached-v1alpha1.kb.io,admissionReviewVersions=v1
class MemcachedValidator:
    """Warns of a cache without redundancy."""

    async def validate_create(self, new: Manifest, _: AdmissionRequest) -> Sequence[str]:
        return _warnings(new)

    async def validate_update(
        self, old: Manifest, new: Manifest, _: AdmissionRequest
    ) -> Sequence[str]:
        # Finalizers and labels change often; nobody needs to hear it again.
        return _warnings(new) if _size(old) != _size(new) else ()

    async def validate_delete(self, _: Manifest, __: AdmissionRequest) -> Sequence[str]:
        return ()


def add_to(server: WebhookServer) -> None:
    """Put all webhooks of the operator on a server."""
    server.add(MUTATE, webhook_admission.defaulting_plain(MemcachedDefaulter()))
    server.add(VALIDATE, webhook_admission.validating_plain(MemcachedValidator()))
    server.add_conversions(conversions())


def _size(memcached: Manifest) -> object:
    return objects.mapping(memcached.get("spec")).get("size")


def _warnings(memcached: Manifest) -> Sequence[str]:
    if _size(memcached) == 1:
        return ("spec.size is 1: while its pod is replaced, nothing is cached",)
    return ()
