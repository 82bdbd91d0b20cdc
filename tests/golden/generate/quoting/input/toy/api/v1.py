# +groupName=toys.example.com
from olmkit.runtime import CustomResource, Model


class Spec(Model):
    # +kubebuilder:validation:Pattern="abc
    a: str
    # +kubebuilder:validation:Enum="a;b
    b: str
    # +kubebuilder:default={a: "x}
    c: str


# +kubebuilder:resource:path="toys,scope=Cluster
class Toy(CustomResource):
    spec: Spec
