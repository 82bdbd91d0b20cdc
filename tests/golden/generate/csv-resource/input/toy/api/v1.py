# +groupName=toys.example.com

from olmkit.runtime import CustomResource, Model


class ToySpec(Model):
    x: int


# +operator-sdk:csv:customresourcedefinitions:displayName="Toy",resources={{Pod}}
class Toy(CustomResource):
    spec: ToySpec
