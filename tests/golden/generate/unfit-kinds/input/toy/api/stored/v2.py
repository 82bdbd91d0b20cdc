# +groupName=stored.example.com
from olmkit.runtime import CustomResource


class Thing(CustomResource):
    x: int
