"""The other side of `pipec.load(…, processes=)`: a process that calls functions and reads
sources for the one that has started it, one call after the other. `python/src/process.rs` asks."""

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
from typing import Any, Callable, Mapping

# How `struct` writes a number of each dtype, little end first as on every machine that there is a wheel for.
_FORMS = {
    "bool": "<?", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
    "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "f16": "<e", "f32": "<f", "f64": "<d",
}
# Values lie at multiples of so many bytes.
_ALIGNED = 64
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
        functions: dict[int, Any] = {}
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


def _answer(question: dict[str, Any], functions: dict[int, Any], memory: int) -> dict[str, Any]:
    number = question["function"]
    if number not in functions:
        found = _found(question, memory)
        made_with = question.get("made_with")
        functions[number] = _callable(found) if made_with is None else made(found, json.loads(made_with))
    before = time.process_time_ns()
    if "records" in question:
        at, size = _records(functions[number], question["records"], memory)
        return {"records": [at, size], "cpu": time.process_time_ns() - before}
    if question["dtype"] is None:
        return {"cpu": 0}
    args = [_value(it["dtype"], it["shape"], it["at"], memory) for it in question["args"]]
    named = {} if question["seed"] is None else {"seed": question["seed"]}
    value = functions[number](*args, **named)
    dtype, shape, _ = _write(value, question["dtype"], memory, 0)
    return {"given": {"dtype": dtype, "shape": shape}, "cpu": time.process_time_ns() - before}


def _found(question: dict[str, Any], memory: int) -> Any:
    target = question.get("target")
    if target is None:
        found = pickle.loads(os.pread(memory, question["pickle"], 0))
    else:
        module, _, path = target.partition(":")
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    return found


def _callable(found: Any) -> Callable[..., Any]:
    if not callable(found):
        raise TypeError(f"it is {type(found)}, which is not callable")
    return found  # type: ignore[no-any-return]


def made(found: Any, args: dict[str, Any]) -> Any:
    """The object that is read: what a class or function returns for the arguments, or what stands there itself."""
    holds = hasattr(found, "__getitem__") or hasattr(found, "__iter__")
    return found(**args) if isinstance(found, type) or (callable(found) and not holds) else found


def _records(source: Any, asked: dict[str, Any], memory: int) -> tuple[int, int]:
    """Reads records of a source by their numbers; where it tells of them, and in how many bytes."""
    told: list[Any] = []
    at = 0
    for number in asked["numbers"]:
        try:
            values, at = _row(source[number], asked, at, memory)
            told.append(values)
        except KeyboardInterrupt:
            raise
        except _Wrong as wrong:
            told.append({"wrong": str(wrong)})
        except BaseException as error:
            told.append({"error": f"{type(error).__name__}: {error}"[:4096], "trace": _trace(error)})
        if isinstance(told[-1], dict) and not asked["all"]:
            break
    text = json.dumps(told).encode()
    _put(memoryview(text), memory, at)
    return at, len(text)


class _Wrong(Exception):
    """What is wrong with a record that nobody has raised anything for; `python/src/source.rs` says the same."""


def _row(record: Any, asked: dict[str, Any], at: int, memory: int) -> tuple[list[Any], int]:
    named = isinstance(record, Mapping)
    if not named and not isinstance(record, (tuple, list)):
        kind = type(record).__name__
        raise _Wrong(f"the record is a `{kind}`, expected a dict with its fields, or a tuple of them")
    if not named and len(record) != asked["declared"]:
        raise _Wrong(f"the record has {len(record)} values, but {asked['declared']} fields are declared")
    values = []
    for name, dtype, position, declared in asked["fields"]:
        if named and name not in record:
            keys = ", ".join(f"`{it}`" for it in record)
            raise _Wrong(f"the record has no field `{name}`: it " + (f"has {keys}" if keys else "is empty"))
        given = record[name] if named else record[position]
        try:
            of, shape, end = _write(given, dtype, memory, at)
        except TypeError:
            raise _Wrong(f"field `{name}` is {_kind(given)}, but it is declared as {declared}") from None
        except Exception as error:
            raise _Wrong(f"field `{name}`: {type(error).__name__}: {error}") from None
        values.append({"dtype": of, "shape": shape, "at": at})
        at = -(-end // _ALIGNED) * _ALIGNED
    return values, at


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"a `{kind}` of `{value.dtype}`" if hasattr(value, "dtype") else f"a `{kind}`"


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


def _write(value: Any, dtype: str, memory: int, at: int) -> tuple[str, list[int], int]:
    """Writes a value that was given; its dtype and extents, and where it ends."""
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return ("str" if isinstance(value, str) else "bytes"), [len(data)], _put(memoryview(data), memory, at)
    if dtype in ("str", "bytes"):
        raise TypeError(f"it returned {type(value)}, expected {dtype}")
    if isinstance(value, (bool, int, float)):
        return dtype, [], _put(memoryview(_number(value, dtype)), memory, at)
    import numpy

    array = numpy.asarray(value, order="C")
    if isinstance(value, (list, tuple)):
        array = _listed(array, dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"it returned elements of the dtype {array.dtype}")
    end = _put(memoryview(array.reshape(-1).view("u1")), memory, at)
    return _DTYPES[array.dtype.name], list(array.shape), end


def _listed(array: Any, dtype: str) -> Any:
    """A list of numbers of Python as an array of `dtype`, where that says the same; else as NumPy reads it."""
    is_float, is_int = dtype in ("f16", "bf16", "f32", "f64"), dtype[0] in "ui"
    kind = array.dtype.kind
    if not (kind in "iu" and (is_int or is_float) or kind == "f" and (is_float or array.size == 0)):
        return array
    made = array.astype(_numpy(dtype))
    if is_int and not (made == array).all():
        raise OverflowError(f"a number of the list does not fit into {dtype}")
    return made


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


def _put(rest: memoryview, memory: int, at: int) -> int:
    while rest:
        written = os.pwrite(memory, rest, at)
        at, rest = at + written, rest[written:]
    return at


def _trace(error: BaseException) -> str:
    # Its own calls tell nobody anything.
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next
    return "".join(traceback.format_exception(type(error), error, own)) if own else ""
