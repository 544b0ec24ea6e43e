"""Arrays on the memory of a batch."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, Callable, Iterator

from . import _pipec

_CPU = (1, 0)
"""DLPack device: CPU memory."""

_TYPESTR = {
    "bool": "|b1", "u8": "|u1", "i8": "|i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4",
    "u64": "<u8", "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8",
}


class Array(_pipec.ArrayBase):
    """A tensor of a batch, without a copy: `a.numpy()`, `a.torch()`, `numpy.asarray(a)`,
    `torch.from_dlpack(a)`, `jax.dlpack.from_dlpack(a)`, `pyarrow.array(a)` and `memoryview(a)` all share the same
    memory.

    Arithmetic, comparisons, slices and all other operations of NumPy arrays are NumPy's, and return
    NumPy arrays: `a.mean()`, `a[:, 0] + 1`. NumPy is imported when they are first used.

    The memory belongs to the caller, who may write to it. It returns to the pipeline when the last
    view is gone.
    """

    __slots__ = ()

    def numpy(self) -> Any:
        """The same memory as a NumPy array."""
        return self.__array__()

    def torch(self) -> Any:
        """The same memory as a PyTorch tensor."""
        import torch

        # The versioned form says that the memory may be written; older ones say nothing.
        return torch.utils.dlpack.from_dlpack(_pipec.dlpack(self, False))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, outermost first."""
        return _pipec.layout(self)[2]

    @property
    def dtype(self) -> str:
        """The dtype, as in the language: `f32`, `u8`, `bf16`, …"""
        return _pipec.layout(self)[1]

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per axis."""
        return _pipec.layout(self)[3]

    @property
    def address(self) -> int:
        """Address of the first element."""
        return _pipec.layout(self)[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        dtype = self.dtype
        return 2 if dtype == "bf16" else int(_TYPESTR[dtype][2:])

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != _CPU:
            raise BufferError(f"the array is in CPU memory, not on device {dl_device}")
        if copy:
            raise BufferError("arrays are exported without a copy: copy the result instead")
        return _pipec.dlpack(self, max_version is not None and max_version[0] >= 1)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        address, dtype, shape, strides = _pipec.layout(self)
        if dtype not in _TYPESTR:
            raise AttributeError(f"NumPy does not support {dtype}")
        # Who looks at the address holds the array itself.
        return {
            "version": 3, "shape": shape, "typestr": _TYPESTR[dtype], "data": (address, False), "strides": strides,
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        made = _pipec.ndarray(self)
        if dtype is not None and made.dtype != numpy.dtype(dtype):
            if copy is False:
                raise ValueError(f"converting to {dtype} needs a copy")
            return made.astype(dtype)
        return made.copy() if copy else made

    def __arrow_c_schema__(self) -> Any:
        return _pipec.arrow_schema(self)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return _pipec.arrow_array(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, numbers.Integral) and not isinstance(at, bool) and self.shape:
            part = _pipec.row(self, int(at))
            return part if part.shape else part.item()
        return self.numpy()[_theirs(at)]

    def __setitem__(self, at: Any, value: Any) -> None:
        self.numpy()[_theirs(at)] = _theirs(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(value in self.numpy())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **others: Any) -> Any:
        given = others.get("out")
        if given is not None:
            others["out"] = tuple(map(_theirs, given))
        made = getattr(ufunc, method)(*map(_theirs, inputs), **others)
        return given[0] if given is not None and len(given) == 1 else made

    def __getattr__(self, name: str) -> Any:
        # What others ask an object for, to find out what it is, is none of NumPy's business.
        if name.startswith("_"):
            raise AttributeError(f"a pipec array has no attribute {name!r}")
        try:
            return getattr(self.numpy(), name)
        except ImportError as missing:
            raise AttributeError(f"`{name}` of an array is NumPy's: {missing}") from missing

    def __reduce__(self) -> Any:
        return self.numpy().__reduce__()

    def __copy__(self) -> Any:
        return self.numpy().copy()

    def __deepcopy__(self, _: Any) -> Any:
        return self.numpy().copy()

    def item(self) -> Any:
        """The only element, as a Python number."""
        elements = _pipec.elements(self) if self.size == 1 else []
        if not elements:
            raise ValueError(f"expected one element, found {self.size}")
        return elements[0]

    def tolist(self) -> Any:
        """The elements as nested Python lists."""
        return _nested(_pipec.elements(self), self.shape)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        edge = {0: 1, 1: 3, 2: 2}.get(self.ndim, 1)
        return f"Array({_shown(self, edge)}, {self.dtype}[{extents}])"


def _theirs(value: Any) -> Any:
    """Converts our arrays to those of NumPy."""
    if isinstance(value, tuple):
        return tuple(map(_theirs, value))
    return value.numpy() if isinstance(value, Array) else value


def _shown(part: Any, edge: int) -> str:
    """Formats elements; for a long axis, only the first and last few."""
    if not isinstance(part, Array):
        return str(part)
    if not part.shape:
        return _number(part.item(), part.dtype)
    rows = len(part)
    inner = part.ndim == 1
    values = part.tolist() if inner and rows <= 2 * edge else None

    def row(at: int) -> str:
        value = part[at] if values is None else values[at]
        return _number(value, part.dtype) if inner else _shown(value, edge)

    if rows <= 2 * edge:
        return "[" + ", ".join(map(row, range(rows))) + "]"
    first, last = map(row, range(edge)), map(row, range(rows - edge, rows))
    return "[" + ", ".join([*first, "…", *last]) + "]"


def _number(value: Any, dtype: str) -> str:
    digits = {"f32": 6, "f16": 4, "bf16": 3}.get(dtype)
    if digits is None:
        return str(value)
    text = f"{value:.{digits}g}"
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def _binary(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """A NumPy operator, and its reflected form."""

    def forward(self: Array, other: Any) -> Any:
        return operation(self.numpy(), _theirs(other))

    def backward(self: Array, other: Any) -> Any:
        return operation(_theirs(other), self.numpy())

    return forward, backward


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift",
):
    _forward, _backward = _binary(getattr(operator, _name))
    setattr(Array, f"__{_name.rstrip('_')}__", _forward)
    setattr(Array, f"__r{_name.rstrip('_')}__", _backward)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Array, f"__{_name}__", _binary(getattr(operator, _name))[0])
# As NumPy's: what is compared element by element is no key.
Array.__hash__ = None  # type: ignore[assignment]
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Array, f"__{_name}__", lambda self, _operation=getattr(operator, _name): _operation(self.numpy()))
del _name, _forward, _backward


def _nested(elements: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return elements[0]
    each = len(elements) // shape[0] if shape[0] else 0
    if len(shape) == 1:
        return elements
    return [_nested(elements[i * each : (i + 1) * each], shape[1:]) for i in range(shape[0])]


_pipec.array_class(Array)
