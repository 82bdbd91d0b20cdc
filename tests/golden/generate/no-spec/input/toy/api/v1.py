# +groupName=toys.example.com
from olmkit.runtime.kinds import CustomResource


class Toy(CustomResource):
    """A toy."""

    size: int = 1
