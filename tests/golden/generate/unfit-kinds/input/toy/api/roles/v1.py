# +groupName=roles.example.com
# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=gte;list

from typing import ClassVar

from pydantic import Field

from olmkit.runtime import GVK, CustomResource, Model


class Spec(Model):
    size: int = Field(default=1, json_schema_extra={"minimum": 1})


# +operator-sdk:csv:customresourcedefinitions:displayName="Box",resources={{Pod,v1}}
class Box(CustomResource):
    gvk: ClassVar[GVK] = GVK("boxes.example.com", "v1", "Box")

    spec: Spec


# +operator-sdk:csv:customresourcedefinitions:displayName="Lid",resources={{Pod}}
class Lid(CustomResource):
    spec: Spec
