# +groupName=toys.example.com

class Toy(CustomResource:
    spec: int
