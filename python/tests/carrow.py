"""Reads Arrow's C interface with `ctypes` alone, so that the tests see what is handed over: values and addresses."""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_void_p


class Schema(ctypes.Structure):
    """`ArrowSchema`."""


class Array(ctypes.Structure):
    """`ArrowArray`."""


class Stream(ctypes.Structure):
    """`ArrowArrayStream`."""


Schema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))), ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(Schema))), ("private", c_void_p),
]
Array._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(Array))), ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(Array))), ("private", c_void_p),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, POINTER(Stream))), ("private", c_void_p),
]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]

_NUMBERS = {
    "C": ctypes.c_uint8, "S": ctypes.c_uint16, "I": ctypes.c_uint32, "L": ctypes.c_uint64, "c": ctypes.c_int8,
    "s": ctypes.c_int16, "i": ctypes.c_int32, "l": ctypes.c_int64, "f": ctypes.c_float, "g": ctypes.c_double,
}


class Seen:
    """An array that was handed over: what it is, and where its buffers lie."""

    def __init__(self, schema, array, keep):
        self.schema, self.array, self._keep = schema, array, keep
        self.format, self.name = schema.format.decode(), schema.name.decode()
        self.length = array.length
        assert array.null_count == 0 and array.offset == 0 and schema.n_children == array.n_children
        self.children = [Seen(schema.children[i].contents, array.children[i].contents, keep) for i in range(array.n_children)]
        self.buffers = [array.buffers[i] for i in range(array.n_buffers)]
        assert not self.buffers[0]

    def __getitem__(self, name):
        return next(it for it in self.children if it.name == name)

    def _numbers(self, kind, buffer, n):
        return list((kind * n).from_address(self.buffers[buffer])) if n else []

    def tolist(self):
        """The values, as Python has them."""
        if self.format in _NUMBERS:
            return self._numbers(_NUMBERS[self.format], 1, self.length)
        if self.format == "b":
            bits = self._numbers(ctypes.c_uint8, 1, (self.length + 7) // 8)
            return [bool(bits[i // 8] >> i % 8 & 1) for i in range(self.length)]
        if self.format == "+s":
            columns = [it.tolist() for it in self.children]
            return [{it.name: column[i] for it, column in zip(self.children, columns)} for i in range(self.length)]
        if self.format.startswith("+w:"):
            each, values = int(self.format[3:]), self.children[0].tolist()
            return [values[i * each : (i + 1) * each] for i in range(self.length)]
        offsets = self._numbers(ctypes.c_int64, 1, self.length + 1)
        if self.format == "+L":
            values = self.children[0].tolist()
            return [values[a:b] for a, b in zip(offsets, offsets[1:])]
        values = bytes(self._numbers(ctypes.c_uint8, 2, offsets[-1]))
        texts = [values[a:b] for a, b in zip(offsets, offsets[1:])]
        return texts if self.format == "Z" else [it.decode() for it in texts]


def seen(exporter):
    """What an object with `__arrow_c_array__` hands over; its capsules are kept."""
    schema, array = capsules = exporter.__arrow_c_array__()
    of = lambda capsule, name, kind: kind.from_address(_pointer(capsule, name))
    return Seen(of(schema, b"arrow_schema", Schema), of(array, b"arrow_array", Array), capsules)


def taken(exporter):
    """The same, moved out of its capsules as a consumer does; releases it when `close` is called."""
    schema, array = exporter.__arrow_c_array__()
    theirs = [Schema.from_address(_pointer(schema, b"arrow_schema")), Array.from_address(_pointer(array, b"arrow_array"))]
    ours = [Schema(), Array()]
    for mine, other in zip(ours, theirs):
        ctypes.memmove(ctypes.byref(mine), ctypes.byref(other), ctypes.sizeof(other))
        # A null pointer of its type: released.
        ctypes.memset(ctypes.addressof(other) + type(other).release.offset, 0, ctypes.sizeof(c_void_p))
    made = Seen(*ours, ours)
    made.close = lambda: [it.release(ctypes.byref(it)) for it in ours]
    return made


def batches(exporter):
    """The batches of a stream, each as a list of records; an error of the stream is a `RuntimeError`."""
    capsule = exporter.__arrow_c_stream__()
    stream = Stream.from_address(_pointer(capsule, b"arrow_array_stream"))
    schema = Schema()
    assert stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0
    try:
        while True:
            array = Array()
            if stream.get_next(ctypes.byref(stream), ctypes.byref(array)):
                raise RuntimeError(stream.get_last_error(ctypes.byref(stream)).decode())
            if not array.release:
                return
            yield Seen(schema, array, None).tolist()
            array.release(ctypes.byref(array))
    finally:
        schema.release(ctypes.byref(schema))
        del capsule
