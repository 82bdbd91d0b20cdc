# +groupName=named.example.com
from olmkit.runtime import CustomResource


# +kubebuilder:resource:path=b
class Thing(CustomResource):
    x: int
