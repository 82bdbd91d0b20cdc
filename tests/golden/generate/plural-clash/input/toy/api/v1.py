# +groupName=toys.example.com
from olmkit.runtime import CustomResource, Model


class Spec(Model):
    a: str


class Toy(CustomResource):
    spec: Spec


# +kubebuilder:resource:path=toys
class Game(CustomResource):
    spec: Spec
