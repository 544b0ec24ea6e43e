"""What of PyTorch `pipec.torch` uses, for tests where PyTorch is not installed: so little that it can be read."""

from . import distributed, utils

__all__ = ["device", "distributed", "utils"]


def device(name):
    return name
