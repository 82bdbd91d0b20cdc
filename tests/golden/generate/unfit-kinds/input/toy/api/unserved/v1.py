# +groupName=unserved.example.com
from olmkit.runtime import CustomResource


# +kubebuilder:unservedversion
class Thing(CustomResource):
    x: int
