"""The webhooks that the API server calls for each `Toy` before it stores it.

Only v1alpha1 is registered: the API server converts objects of other versions first.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.runtime import AdmissionRequest

from toy_operator.api.v1alpha1.toy import Toy


# +kubebuilder:webhook:path=/mutate-toys-example-com-v1alpha1-toy,mutating=true,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1alpha1,name=mtoy-v1alpha1.kb.io,admissionReviewVersions=v1
class ToyDefaulter:
    """Fills in what a Toy leaves open."""

    async def default(self, toy: Toy, request: AdmissionRequest) -> None:
        """Change the object in place; it may be called twice for the same one."""


# +kubebuilder:webhook:path=/validate-toys-example-com-v1alpha1-toy,mutating=false,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1alpha1,name=vtoy-v1alpha1.kb.io,admissionReviewVersions=v1
class ToyValidator:
    """Refuses a Toy by raising `Denied`, or lets it pass with warnings."""

    async def validate_create(self, new: Toy, request: AdmissionRequest) -> Sequence[str]:
        """Judge a new object."""
        return ()

    async def validate_update(self, old: Toy, new: Toy, request: AdmissionRequest) -> Sequence[str]:
        """Judge a change."""
        return ()

    async def validate_delete(self, old: Toy, request: AdmissionRequest) -> Sequence[str]:
        """Check a deletion; called only when the marker's verbs have `delete`."""
        return ()
