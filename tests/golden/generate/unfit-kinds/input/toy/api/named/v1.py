# +groupName=named.example.com
from olmkit.runtime import CustomResource


# +kubebuilder:storageversion
# +kubebuilder:resource:path=a
class Thing(CustomResource):
    x: int
