"""The webhooks that the API server calls for Memcacheds before it stores them.

Only v1alpha1 is registered: the API server converts objects of other versions
before it calls them. The schema refuses invalid objects, with better messages; valid but
unwise ones get a warning.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.runtime import AdmissionRequest

from memcached_operator.api.v1alpha1.memcached import Memcached

DEFAULT_SIZE = 1


# +kubebuilder:webhook:path=/mutate-cache-example-com-v1alpha1-memcached,mutating=true,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,matchPolicy=Equivalent,name=mmemcached-v1alpha1.kb.io,admissionReviewVersions=v1
class MemcachedDefaulter:
    """Sets the size, in case a schema without a default is installed."""

    async def default(self, memcached: Memcached, _: AdmissionRequest) -> None:
        if "size" not in memcached.spec.model_fields_set:
            memcached.spec.size = DEFAULT_SIZE


# +kubebuilder:webhook:path=/validate-cache-example-com-v1alpha1-memcached,mutating=false,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,matchPolicy=Equivalent,name=vmemcached-v1alpha1.kb.io,admissionReviewVersions=v1
class MemcachedValidator:
    """Warns about a cache without redundancy."""

    async def validate_create(self, new: Memcached, _: AdmissionRequest) -> Sequence[str]:
        return _warnings(new)

    async def validate_update(
        self, old: Memcached, new: Memcached, _: AdmissionRequest
    ) -> Sequence[str]:
        # Finalizers and labels change often; no warning is needed again.
        return _warnings(new) if old.spec.size != new.spec.size else ()

    async def validate_delete(self, _: Memcached, __: AdmissionRequest) -> Sequence[str]:
        return ()


def _warnings(memcached: Memcached) -> Sequence[str]:
    if memcached.spec.size == 1:
        return ("spec.size is 1: while its pod is replaced, nothing is cached",)
    return ()
