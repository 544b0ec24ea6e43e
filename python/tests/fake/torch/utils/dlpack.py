import numpy


class _Given:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def from_dlpack(capsule):
    return numpy.from_dlpack(_Given(capsule))
