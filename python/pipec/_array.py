"""Arrays in the memory where the pipeline has written them."""

from __future__ import annotations

import math
from typing import Any, Iterator

from . import _pipec

_CPU = (1, 0)
"""The device of DLPack: the memory of the processor."""

_TYPESTR = {
    "bool": "|b1", "u8": "|u1", "i8": "|i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4",
    "u64": "<u8", "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8",
}


class Array(_pipec.ArrayBase):
    """A tensor of a batch, without a copy: `numpy.asarray(a)`, `torch.from_dlpack(a)`,
    `jax.dlpack.from_dlpack(a)`, `memoryview(a)` all look at the same memory.

    The memory is the consumer's: it may be written. It goes back to the pipeline when the last of
    its views is gone.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, outermost first."""
        return _pipec.layout(self)[2]

    @property
    def dtype(self) -> str:
        """The type of its elements, as the language writes it: `f32`, `u8`, `bf16`, …"""
        return _pipec.layout(self)[1]

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, for each axis."""
        return _pipec.layout(self)[3]

    @property
    def address(self) -> int:
        """Where its first element lies."""
        return _pipec.layout(self)[0]

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
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
            raise BufferError(f"it lies in the memory of the processor, not on device {dl_device}")
        if copy:
            raise BufferError("it is handed over without a copy: copy what comes of it")
        return _pipec.dlpack(self, max_version is not None and max_version[0] >= 1)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        address, dtype, shape, strides = _pipec.layout(self)
        if dtype not in _TYPESTR:
            raise AttributeError(f"NumPy has no {dtype}")
        # Who looks at the address holds the array itself.
        return {
            "version": 3, "shape": shape, "typestr": _TYPESTR[dtype], "data": (address, False), "strides": strides,
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        made = _pipec.ndarray(self)
        if dtype is not None and made.dtype != numpy.dtype(dtype):
            if copy is False:
                raise ValueError(f"as {dtype} it would be a copy")
            return made.astype(dtype)
        return made.copy() if copy else made

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("it has no axes, so no length")
        return self.shape[0]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and self.shape:
            part = _pipec.row(self, at)
            return part if part.shape else part.item()
        import numpy

        return numpy.asarray(self)[at]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def item(self) -> Any:
        """Its only element."""
        elements = _pipec.elements(self) if self.size == 1 else []
        if not elements:
            raise ValueError(f"it has {self.size} elements, not one")
        return elements[0]

    def tolist(self) -> Any:
        """Its elements in lists of lists, as Python has them."""
        return _nested(_pipec.elements(self), self.shape)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        shown = f": {self.tolist()}" if self.size <= 8 else ""
        return f"<pipec.Array {self.dtype}[{extents}]{shown}>"


def _nested(elements: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return elements[0]
    each = len(elements) // shape[0] if shape[0] else 0
    if len(shape) == 1:
        return elements
    return [_nested(elements[i * each : (i + 1) * each], shape[1:]) for i in range(shape[0])]


_pipec.array_class(Array)
