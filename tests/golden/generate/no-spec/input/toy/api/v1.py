# +groupName=toys.example.com
from olmkit.runtime import CustomResource


class Toy(CustomResource):
    """A toy."""

    size: int = 1
