# +kubebuilder:skip
# +groupName=toys.example.com
"""A version to come."""

from __future__ import annotations

from olmkit.runtime import CustomResource, Model


class ToySpec(Model):
    """ToySpec is to come."""

    needed: str


# +kubebuilder:resource:shortName=ty
class Toy(CustomResource):
    """Toy is not read."""

    spec: ToySpec
