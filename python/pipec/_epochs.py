"""Which epoch the worker processes of a `DataLoader` are in.

They are copies of the process that has loaded the pipeline, and most live for one epoch only. What they
must know of each other lies in a few bytes that they share: without it each of them would begin with the
epoch that its original stood at.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import multiprocessing
import os
from multiprocessing import reduction
from typing import Any, Iterator, Mapping

_ITERATIONS = 16
"""Iterations that are remembered. A worker that begins late still finds its own."""


class Epochs:
    """What the process that has loaded a pipeline and its worker processes know together.

    The memory has no name, so nothing is left behind. It holds JSON: `next`, the epoch that the next
    iteration begins; `state`, where it goes on within that; `iterations`, those begun since anybody
    has said where to go.
    """

    def __init__(self, file: int | None = None) -> None:
        self._file = os.memfd_create("pipec-epochs", os.MFD_CLOEXEC) if file is None else file

    @contextlib.contextmanager
    def _shared(self, *, change: bool) -> Iterator[dict[str, Any]]:
        # A lock of a process, not of the open file, which the processes have in common.
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            text = os.pread(self._file, os.fstat(self._file).st_size, 0)
            found = json.loads(text) if text else {"next": None, "state": None, "iterations": []}
            yield found
            if change:
                text = json.dumps(found).encode()
                os.pwrite(self._file, text, 0)
                os.ftruncate(self._file, len(text))
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def go_to(self, epoch: int | None, state: Mapping[str, Any] | None = None) -> None:
        """The next iteration is of this epoch, and goes on where `state` says, if there is one. Without
        an epoch it is the one that the process stands at which begins it."""
        with self._shared(change=True) as it:
            it.update(next=epoch, state=None if state is None else dict(state), iterations=[])

    def begin(self, seed: int, worker: tuple[int, int], own: int) -> tuple[int, dict[str, Any] | None]:
        """Worker `n` of so many begins an iteration: the epoch, and the state that it goes on from.
        Those of one iteration know each other by their seed. `own` is the epoch that this process
        would begin with by itself."""
        number, workers = worker
        with self._shared(change=True) as it:
            for found in reversed(it["iterations"]):
                # A worker begins each iteration once: the seeds of two may be the same.
                if found["seed"] == seed and found["workers"] == workers and number not in found["begun"]:
                    break
            else:
                epoch = own if it["next"] is None else it["next"]
                found = {"seed": seed, "workers": workers, "epoch": epoch, "state": it["state"], "begun": [], "over": 0}
                it["iterations"] = [*it["iterations"], found][-_ITERATIONS:]
                it.update(next=epoch + 1, state=None)
            found["begun"].append(number)
            return found["epoch"], found["state"]

    def end(self, epoch: int) -> None:
        """A worker has come to the end of an epoch."""
        with self._shared(change=True) as it:
            for found in it["iterations"]:
                found["over"] += found["epoch"] == epoch

    @property
    def have_begun(self) -> bool:
        """Whether workers have begun an iteration since anybody has said where to go."""
        with self._shared(change=False) as it:
            return bool(it["iterations"])

    @property
    def next(self) -> int | None:
        """The epoch that the next iteration begins, if workers have begun one or somebody has said."""
        with self._shared(change=False) as it:
            return it["next"]

    @property
    def present(self) -> int | None:
        """The epoch that is under way in the workers, or comes next."""
        with self._shared(change=False) as it:
            last = it["iterations"][-1:]
            return last[0]["epoch"] if last and last[0]["over"] < last[0]["workers"] else it["next"]

    def __reduce__(self) -> tuple[Any, ...]:
        if multiprocessing.context.get_spawning_popen() is None:
            return Epochs, ()
        return _received, (reduction.DupFd(self._file),)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError, TypeError):
            os.close(self._file)


def _received(file: Any) -> Epochs:
    return Epochs(file.detach())
