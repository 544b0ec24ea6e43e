"""Fields of a block of records whose extents differ from record to record."""

from __future__ import annotations

from typing import Any, Callable, Iterator


class Ragged:
    """Records of different extents, one behind the other: record `i` is
    `values[offsets[i]:offsets[i + 1]]` with the extents `shapes[i]`."""

    __slots__ = ("values", "offsets", "shapes")

    def __init__(self, values: Any, offsets: Any, shapes: Any) -> None:
        self.values = values
        """All elements, an array of one axis."""
        self.offsets = offsets
        """Where each record begins and the last one ends, in elements: i64, one more than records."""
        self.shapes = shapes
        """The extents of each record: u32, `[records, axes]`."""

    def map(self, made: Callable[[Any], Any]) -> Ragged:
        """The same with other arrays, such as those of a framework."""
        return Ragged(made(self.values), made(self.offsets), made(self.shapes))

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, at: int) -> Any:
        """Record `at`, an array of NumPy; without a copy."""
        import numpy

        if not -len(self) <= at < len(self):
            raise IndexError(f"record {at} of {len(self)}")
        at %= len(self)
        values, offsets = numpy.asarray(self.values), numpy.asarray(self.offsets)
        return values[offsets[at] : offsets[at + 1]].reshape(numpy.asarray(self.shapes)[at])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> list[Any]:
        """The records in lists, as Python has them."""
        return [it.tolist() for it in self]

    def __repr__(self) -> str:
        return f"Ragged(values={self.values!r}, len={len(self)})"
