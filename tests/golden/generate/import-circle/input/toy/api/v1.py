# +groupName=toys.example.com
from olmkit.runtime import CustomResource, Model
from toy.parts import Part


class Spec(Model):
    part: Part


class Toy(CustomResource):
    spec: Spec
