"""The other side of `pipec.load(…, processes=)`: a process that calls functions for the one that has
started it, one call after the other. `python/src/process.rs` asks."""

from __future__ import annotations

import importlib
import json
import math
import os
import pickle
import socket
import struct
import sys
import time
import traceback
from typing import Any, Callable

# How `struct` writes a number of each dtype, little end first as on every machine that there is a wheel for.
_FORMS = {
    "bool": "<?", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
    "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "f16": "<e", "f32": "<f", "f64": "<d",
}
# What NumPy calls them.
_NAMES = {
    "bool": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def serve() -> None:
    """Answers what is asked on the socket that is its standard input, until that is closed."""
    link = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        _, (memory, *_), _, _ = socket.recv_fds(link, 1, 1)
        functions: dict[int, Callable[..., Any]] = {}
        while (question := _heard(link)) is not None:
            try:
                answer = _answer(question, functions, memory)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                answer = {"error": f"{type(error).__name__}: {error}"[:4096], "trace": _trace(error)}
            sys.stdout.flush()
            text = json.dumps(answer).encode()
            link.sendall(struct.pack("<I", len(text)) + text)
    except (KeyboardInterrupt, ConnectionError, ValueError):
        # Whoever asked has gone, or stops: nobody is left to be told.
        pass


def _heard(link: socket.socket) -> dict[str, Any] | None:
    head = _exactly(link, 4)
    text = head and _exactly(link, struct.unpack("<I", head)[0])
    return json.loads(text) if text else None


def _exactly(link: socket.socket, n: int) -> bytes | None:
    data = bytearray()
    while len(data) < n:
        more = link.recv(n - len(data))
        if not more:
            return None
        data += more
    return bytes(data)


def _answer(question: dict[str, Any], functions: dict[int, Callable[..., Any]], memory: int) -> dict[str, Any]:
    number = question["function"]
    if number not in functions:
        functions[number] = _found(question, memory)
    if question["dtype"] is None:
        return {"cpu": 0}
    before = time.process_time_ns()
    args = [_value(it["dtype"], it["shape"], it["at"], memory) for it in question["args"]]
    named = {} if question["seed"] is None else {"seed": question["seed"]}
    value = functions[number](*args, **named)
    dtype, shape = _write(value, question["dtype"], memory)
    return {"given": {"dtype": dtype, "shape": shape}, "cpu": time.process_time_ns() - before}


def _found(question: dict[str, Any], memory: int) -> Callable[..., Any]:
    target = question.get("target")
    if target is None:
        found = pickle.loads(os.pread(memory, question["pickle"], 0))
    else:
        module, _, path = target.partition(":")
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"it is {type(found)}, which is not callable")
    return found  # type: ignore[no-any-return]


def _value(dtype: str, shape: list[int], at: int, memory: int) -> Any:
    """A value of a record: a number, a text, or an array that has it to itself."""
    if dtype == "str":
        return os.pread(memory, shape[0], at).decode()
    if dtype == "bytes":
        return os.pread(memory, shape[0], at)
    if not shape and dtype == "bf16":
        return struct.unpack("<f", b"\0\0" + os.pread(memory, 2, at))[0]
    if not shape:
        form = _FORMS[dtype]
        return struct.unpack(form, os.pread(memory, struct.calcsize(form), at))[0]
    import numpy

    array = numpy.empty(shape, _numpy(dtype))
    rest = memoryview(array.reshape(-1).view("u1"))
    while rest:
        read = os.preadv(memory, [rest], at)
        at, rest = at + read, rest[read:]
    return array


def _numpy(dtype: str) -> Any:
    if dtype == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return _NAMES[dtype]


def _write(value: Any, dtype: str, memory: int) -> tuple[str, list[int]]:
    """Writes what a function gave; its dtype and extents."""
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        _put(memoryview(data), memory)
        return ("str" if isinstance(value, str) else "bytes"), [len(data)]
    if dtype in ("str", "bytes"):
        raise TypeError(f"it returned {type(value)}, expected {dtype}")
    if isinstance(value, (bool, int, float)):
        _put(memoryview(_number(value, dtype)), memory)
        return dtype, []
    import numpy

    array = numpy.asarray(value, order="C")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"it returned elements of the dtype {array.dtype}")
    _put(memoryview(array.reshape(-1).view("u1")), memory)
    return _DTYPES[array.dtype.name], list(array.shape)


def _number(value: Any, dtype: str) -> bytes:
    fits = True
    if dtype == "bool":
        fits = isinstance(value, bool)
    elif dtype[0] in "ui":
        fits = isinstance(value, int)
    if not fits:
        raise TypeError(f"it returned {type(value)}, expected {dtype}")
    if dtype == "bf16":
        import numpy

        return numpy.asarray(value, _numpy(dtype)).tobytes()
    try:
        return struct.pack(_FORMS[dtype], value)
    except struct.error:
        raise OverflowError(f"it returned {value}, which does not fit into {dtype}") from None
    except OverflowError:
        return struct.pack(_FORMS[dtype], math.copysign(math.inf, value))


def _put(rest: memoryview, memory: int) -> None:
    at = 0
    while rest:
        written = os.pwrite(memory, rest, at)
        at, rest = at + written, rest[written:]


def _trace(error: BaseException) -> str:
    # Its own calls tell nobody anything.
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next
    return "".join(traceback.format_exception(type(error), error, own)) if own else ""
