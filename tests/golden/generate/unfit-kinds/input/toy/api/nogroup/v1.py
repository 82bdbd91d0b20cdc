from olmkit.runtime import CustomResource


class Alone(CustomResource):
    x: int
