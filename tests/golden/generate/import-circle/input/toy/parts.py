from olmkit.runtime import Model
from toy.api.v1 import Spec


class Part(Model):
    name: str
    other: Spec | None = None
