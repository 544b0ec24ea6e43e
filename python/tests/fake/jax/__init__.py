"""What of JAX `pipec.jax` uses, for tests where JAX is not installed."""

from types import SimpleNamespace

import numpy

Array = numpy.ndarray
dlpack = SimpleNamespace(from_dlpack=numpy.from_dlpack)


def process_index():
    return 0


def process_count():
    return 1


def default_backend():
    return "cpu"
