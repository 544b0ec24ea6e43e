"""Batches for PyTorch."""

from __future__ import annotations

import mmap
from typing import Any, Iterator, Mapping

import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import _pipec
from ._array import Array
from ._columns import Ragged
from ._pipe import Pipe

_WORKERS_MAX = 1024


class Loader(IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """What a training loop takes its batches from, in place of a `DataLoader`: dicts of tensors on the
    memory that the pipeline has written them into.

    It needs no worker processes, since the pipeline has threads. It is an `IterableDataset` as well:
    within the worker processes of a `DataLoader(loader, batch_size=None, num_workers=n)` each has its
    part of the batches, and together they give what there is without them.

    Rank and world are those of `torch.distributed`, if that is initialised when the first batch is
    asked for, and `load` was not told others.
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
        """Whether batches are copied into memory that a GPU can fetch from by itself."""
        self.device = None if device is None else torch.device(device)
        """Where batches go; where the pipeline has written them, if none is said."""
        self.non_blocking = non_blocking
        """Whether the program goes on while they are on their way to the device."""
        self._pipe = pipe
        self._ranks: tuple[int, int] | None = None
        self._ranked = pipe._told["ranked"]
        self._split = False
        # The epoch that was set last, and the epochs that each worker process has begun since: those
        # processes live for one epoch, and this is all that they leave behind.
        # A process that is forked off shares this memory, which has no name.
        self._begun = torch.frombuffer(mmap.mmap(-1, 8 * (1 + _WORKERS_MAX)), dtype=torch.int64)
        self._begun[0] = pipe._told["epoch"]
        self._resumed = False
        self._state: dict[str, Any] | None = None

    @property
    def dataset(self) -> Loader:
        """Itself."""
        return self

    @property
    def pipe(self) -> Pipe:
        """The pipeline, with the part of the work that is this process's own."""
        info = get_worker_info()
        if info is None:
            return self._of_rank()
        if not self._split:
            # One that runs in the process which this one was copied from is refused here.
            self._pipe.epoch
            if info.num_workers > _WORKERS_MAX:
                raise ValueError(f"at most {_WORKERS_MAX} workers, not {info.num_workers}")
            rank, world = self._ranks_now()
            # The batches of a rank, dealt in turn as a `DataLoader` collects them.
            others = {"rank": rank + world * info.id, "world": world * info.num_workers}
            threads = self._pipe._told["workers"] or max(1, torch.multiprocessing.cpu_count() // info.num_workers)
            self._pipe, self._split = self._pipe.replace(**others, workers=threads), True
        return self._pipe

    def _ranks_now(self) -> tuple[int, int]:
        if self._ranks is None:
            told, ranks = self._pipe._told, torch.distributed
            self._ranks = (told["rank"], told["world"])
            if not self._ranked and ranks.is_available() and ranks.is_initialized():
                self._ranks = (ranks.get_rank(), ranks.get_world_size())
        return self._ranks

    def _of_rank(self) -> Pipe:
        rank, world = self._ranks_now()
        told = self._pipe._told
        if (told["rank"], told["world"]) != (rank, world):
            self._pipe = self._pipe.replace(rank=rank, world=world)
        return self._pipe

    def __iter__(self) -> Iterator[dict[str, Any]]:
        pipe, info = self.pipe, get_worker_info()
        if info is not None:
            begun = self._begun[1 + info.id]
            if self._state is not None and begun == 0 and not self._resumed:
                pipe.load_state_dict(self._state)
            elif not self._resumed:
                pipe.set_epoch(int(self._begun[0] + begun))
            begun.add_(1)
            self._resumed = False
        for batch in pipe:
            yield {name: self._tensor(value) for name, value in batch.items()}

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, Ragged):
            return value.map(self._tensor)
        if not isinstance(value, Array):
            return value
        # The versioned form says that the memory may be written; older ones say nothing.
        tensor = torch.utils.dlpack.from_dlpack(_pipec.dlpack(value, False))
        if self.pin_memory and torch.cuda.is_available():
            tensor = tensor.pin_memory()
        return tensor if self.device is None else tensor.to(self.device, non_blocking=self.non_blocking)

    def __len__(self) -> int:
        return len(self._of_rank() if get_worker_info() is None else self.pipe)

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch the next iteration is. Nobody needs to: each one is the next."""
        if self._state is not None and self._state["epoch"] != epoch:
            self._state = None
        self._begun.zero_()
        self._begun[0] = epoch
        self._pipe.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """See `pipec.Pipe.state_dict`; within a worker process, of its part."""
        return self.pipe.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `pipec.Pipe.load_state_dict`; within a worker process, of its part."""
        self.pipe.load_state_dict(state)
        info = get_worker_info()
        if info is None:
            # Worker processes that are started from here on begin there too.
            self._state = dict(state)
            self._begun.zero_()
            self._begun[0] = self.pipe.epoch
        else:
            self._begun[1 + info.id] = self.pipe.epoch - int(self._begun[0])
            self._resumed = True

    def __getstate__(self) -> dict[str, Any]:
        # A process that is started afresh knows nothing of `torch.distributed` here, and shares what
        # PyTorch hands over to it.
        self._ranks_now()
        self._begun.share_memory_()
        return self.__dict__.copy()
