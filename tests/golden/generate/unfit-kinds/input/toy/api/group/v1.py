# +groupName=Not_A_Group
from olmkit.runtime import CustomResource


class Thing(CustomResource):
    x: int
