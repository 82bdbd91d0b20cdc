"""Numbers with a point, which the project allows."""

# +groupName=toys.example.com

from typing import Annotated

from annotated_types import Ge, Lt
from pydantic import Field, confloat, constr

from olmkit.runtime import CustomResource, Model


class ToySpec(Model):
    """What is wanted."""

    weight: float
    share: Annotated[float, Ge(0.5), Lt(1.5)] = 0.75
    whole: Annotated[float, Field(ge=1, multiple_of=0.25)] = 2
    small: confloat(gt=0.000001)
    weights: list[float]
    by_name: dict[str, float]
    maybe: float | None = None
    code: constr(min_length=2, pattern="^[a-z]+$") = "ab"


class Toy(CustomResource):
    """A toy."""

    spec: ToySpec
