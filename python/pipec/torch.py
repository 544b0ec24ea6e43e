"""Batches for PyTorch."""

from __future__ import annotations

import json
import os
from typing import Any, Iterator, Mapping

import torch
from torch.utils.data import IterableDataset, get_worker_info

from ._array import Array
from ._batch import Batch
from ._columns import Ragged
from ._epochs import Epochs
from ._pipe import Pipe
from ._pipec import Strings


class Loader(IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """Replaces a `DataLoader` in a training loop: yields dicts of tensors on the memory of the pipeline, without a
    copy; string fields are lists of `str` or `bytes`. It shares the iteration of the pipeline: checkpoint and epoch
    are those of the pipeline, and every loader of a pipeline continues where the previous one ended.

    It needs no worker processes, since the pipeline has its own threads. It is also an `IterableDataset`:
    in a `DataLoader(loader, batch_size=None, num_workers=n)`, each worker process yields its share of the
    batches, and together they are the same as without workers.

    Rank and world size are those of `torch.distributed`, if it is initialized when the first batch is
    requested and `load` was called without `rank`. The pipeline adopts them.
    """

    num_workers = 0
    batch_size = None
    sampler = None
    drop_last = False

    def __init__(
        self, pipe: Pipe, *, pin_memory: bool = False, device: Any = None, non_blocking: bool = True
    ) -> None:
        super().__init__()
        self.pin_memory = pin_memory
        """Whether batches are copied into pinned memory."""
        self.device = None if device is None else torch.device(device)
        """Device to copy batches to; `None` leaves them in the memory of the pipeline."""
        self.non_blocking = non_blocking
        """Whether copies to the device are asynchronous."""
        self._pipe = pipe
        if pipe._epochs is None:
            pipe._epochs = Epochs()
        self._epochs = pipe._epochs
        self._is_split = False
        self._is_resumed = False
        if get_worker_info() is None:
            pipe._take_rank(*self._ranks())

    @property
    def dataset(self) -> Loader:
        """This loader."""
        return self

    @property
    def pipe(self) -> Pipe:
        """The pipeline, with the share of the work of this process."""
        info = get_worker_info()
        if info is None:
            self._pipe._take_rank(*self._ranks())
        elif not self._is_split:
            threads = self._pipe._told["workers"] or max(1, (os.cpu_count() or 1) // info.num_workers)
            # A pipeline that was already running before the fork is rejected here. The settings
            # concern only the share of this worker, not the others.
            self._pipe._native.take_part(self._ranks(), (info.id, info.num_workers), threads)
            self._pipe._epochs, self._is_split = None, True
        return self._pipe

    def _ranks(self) -> tuple[int, int]:
        told, ranks = self._pipe._told, torch.distributed
        if not told["ranked"] and ranks.is_available() and ranks.is_initialized():
            return ranks.get_rank(), ranks.get_world_size()
        return told["rank"], told["world"]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        pipe, info = self.pipe, get_worker_info()
        if info is None:
            return self._given(pipe)
        # The workers of an iteration have consecutive seeds.
        epoch, state = self._epochs.begin(info.seed - info.id, (info.id, info.num_workers), pipe.epoch)
        if not self._is_resumed and state is not None:
            pipe._native.load_state(json.dumps(state))
        elif not self._is_resumed:
            pipe.set_epoch(epoch)
        self._is_resumed = False
        return self._given(pipe, epoch)

    def _given(self, pipe: Pipe, epoch: int | None = None) -> Iterator[dict[str, Any]]:
        for batch in pipe:
            yield Batch((name, self._tensor(value)) for name, value in batch.items())
        if epoch is not None:
            self._epochs.end(epoch)

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, Ragged):
            return value.map(self._tensor)
        if isinstance(value, Strings) and self._pipe.batched:
            return value.tolist()  # As `default_collate` does.
        if not isinstance(value, Array):
            return value
        tensor = value.torch()
        if self.pin_memory and torch.cuda.is_available():
            tensor = tensor.pin_memory()
        return tensor if self.device is None else tensor.to(self.device, non_blocking=self.non_blocking)

    def __len__(self) -> int:
        return len(self.pipe)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. Usually not needed: each iteration is the next epoch."""
        self._pipe.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """See `pipec.Pipe.state_dict`; in a worker process, for its share."""
        return self.pipe.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `pipec.Pipe.load_state_dict`; in a worker process, for its share."""
        self.pipe.load_state_dict(state)
        self._is_resumed = get_worker_info() is not None

    def __getstate__(self) -> dict[str, Any]:
        # A new process knows neither `torch.distributed` nor the position of an iteration
        # that has begun.
        native = self.pipe._native
        if self._epochs.next is None and native.next_epoch() != native.epoch():
            self._epochs.go_to(native.next_epoch())
        return self.__dict__.copy()
