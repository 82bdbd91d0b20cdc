# +groupName=clash.example.com
from olmkit.runtime import CustomResource


class Thing(CustomResource):
    x: int


# +kubebuilder:resource:shortName=thing
class Other(CustomResource):
    x: int
