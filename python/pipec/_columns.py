"""Fields whose rows have different extents."""

from __future__ import annotations

from typing import Any, Callable, Iterator

from . import _pipec
from ._array import Array


class Ragged:
    """Rows of different extents, end to end.

    For a field that is `ragged` in `batch`, row `i` is `values[offsets[i]:offsets[i + 1]]`: rows differ in their first
    axis, and `shapes` is `None`. For a block of records, `values` has one axis, and row `i` is the same slice, reshaped
    to the extents `shapes[i]`. `ragged[i]` returns row `i` in both cases.
    """

    __slots__ = ("values", "offsets", "shapes")

    def __init__(self, values: Any, offsets: Any, shapes: Any = None) -> None:
        self.values = values
        """The rows end to end; for a block, their elements."""
        self.offsets = offsets
        """Where each row begins in `values`, and the last one ends: i64, one more than the number of rows."""
        self.shapes = shapes
        """For a block, the extents of each record: u32, `[records, axes]`; otherwise `None`."""

    def map(self, made: Callable[[Any], Any]) -> Ragged:
        """The same rows with other arrays, such as those of a framework."""
        shapes = None if self.shapes is None else made(self.shapes)
        return Ragged(made(self.values), made(self.offsets), shapes)

    @property
    def lengths(self) -> Any:
        """The length of each row along its first axis."""
        if self.shapes is not None:
            return self.shapes[:, 0]
        return self.offsets[1:] - self.offsets[:-1]

    def torch(self) -> Any:
        """A nested PyTorch tensor with the jagged layout, on the same memory."""
        import torch

        if self.shapes is not None and self.shapes.shape[1] != 1:
            raise TypeError("records with several axes are not a jagged tensor: give them the same extents after the first axis, "
                            "and let `batch` keep their lengths (`ragged: [field]`)")

        def tensor(it: Any) -> Any:
            return it.torch() if isinstance(it, Array) else torch.as_tensor(it)

        return torch.nested.nested_tensor_from_jagged(tensor(self.values), tensor(self.offsets))

    def __arrow_c_schema__(self) -> Any:
        return _pipec.arrow_schema(self)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return _pipec.arrow_array(self)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, at: int) -> Any:
        """Row `at`, without a copy: an array of NumPy, or of the framework of the arrays."""
        if not -len(self) <= at < len(self):
            raise IndexError(f"row {at} is out of range for {len(self)} rows")
        at %= len(self)
        if self.shapes is None:
            return self.values[int(self.offsets[at]) : int(self.offsets[at + 1])]
        import numpy

        values, offsets = numpy.asarray(self.values), numpy.asarray(self.offsets)
        return values[offsets[at] : offsets[at + 1]].reshape(numpy.asarray(self.shapes)[at])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> list[Any]:
        """The rows as Python lists."""
        return [it.tolist() for it in self]

    def __repr__(self) -> str:
        return f"Ragged(values={self.values!r}, len={len(self)})"
