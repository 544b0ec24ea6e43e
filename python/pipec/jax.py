"""Batches for JAX."""

from __future__ import annotations

from typing import Any, Iterator

import jax

from ._array import Array
from ._columns import Ragged
from ._pipe import Pipe, View
from ._pipec import Strings


class Batches(View):
    """Yields dicts of JAX arrays. On the CPU device, they share the memory of the pipeline, or are copied
    if it is not aligned as XLA requires. With a `sharding`, each process places its batch accordingly, as its
    part of the global batch. Rank and world size are those of the process, unless `load` was called with
    others. String fields are lists of `str` or `bytes`."""

    def __init__(self, pipe: Pipe, *, sharding: Any = None) -> None:
        super().__init__(pipe)
        # The pipeline itself adopts the rank, since its checkpoints are those of the caller.
        if not pipe._told["ranked"] and jax.process_count() > 1:
            pipe._take_rank(jax.process_index(), jax.process_count())
        self.sharding = sharding

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.pipe:
            yield {name: self._array(value) for name, value in batch.items()}

    def _array(self, value: Any) -> Any:
        if isinstance(value, Ragged):
            if self.sharding is not None:
                raise TypeError("rows of different lengths cannot be shared among devices: pad them in `batch` (`pad: { ids: 0 }`)")
            return value.map(self._array)
        if isinstance(value, Strings) and self.pipe.batched:
            return value.tolist()
        if not isinstance(value, Array):
            return value
        if self.sharding is not None:
            return jax.make_array_from_process_local_data(self.sharding, value.__array__())
        if jax.default_backend() == "cpu":
            return jax.dlpack.from_dlpack(value)
        return jax.device_put(value.__array__())
