"""The webhooks that the API server calls for each `Toy` before it stores it.

Only v1alpha1 is registered: the API server converts objects of other versions first.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.runtime import AdmissionRequest

from toy_operator.api.v1alpha1.toy import Toy


# +kubebuilder:webhook:path=/mutate-toys-example-com-v1alpha1-toy,mutating=true,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1alpha1,name=mtoy-v1alpha1.kb.io,admissionReviewVersions=v1
class ToyDefaulter:
    """Sets the defaults of a Toy."""

    async def default(self, toy: Toy, request: AdmissionRequest) -> None:
        """Change the object in place; the API server can call this twice for one object."""


# +kubebuilder:webhook:path=/validate-toys-example-com-v1alpha1-toy,mutating=false,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1alpha1,name=vtoy-v1alpha1.kb.io,admissionReviewVersions=v1
class ToyValidator:
    """Rejects a Toy by raising `Denied`, or accepts it with warnings."""

    async def validate_create(self, new: Toy, request: AdmissionRequest) -> Sequence[str]:
        """Validate a new object."""
        return ()

    async def validate_update(self, old: Toy, new: Toy, request: AdmissionRequest) -> Sequence[str]:
        """Validate a change."""
        return ()

    async def validate_delete(self, old: Toy, request: AdmissionRequest) -> Sequence[str]:
        """Validate a deletion; called only if the marker's verbs contain `delete`."""
        return ()
