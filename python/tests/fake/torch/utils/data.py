"""A `DataLoader` of an `IterableDataset`, with its worker processes: they are forked, asked for batches in
turn and ahead of the loop, and end with the epoch unless they persist."""

import multiprocessing
import random
from collections import deque
from types import SimpleNamespace

_info = None
_fork = multiprocessing.get_context("fork")
PREFETCH = 2


class IterableDataset:
    pass


def get_worker_info():
    return _info


class DataLoader:
    def __init__(self, dataset, batch_size=1, num_workers=0, persistent_workers=False):
        assert batch_size is None
        self.dataset, self.num_workers, self.persistent = dataset, num_workers, persistent_workers
        self.workers = []

    def __len__(self):
        return len(self.dataset)

    def __iter__(self):
        if not self.num_workers:
            return iter(self.dataset)
        if not self.workers:
            seed = random.getrandbits(62)
            self.workers = [_Worker(self.dataset, n, self.num_workers, seed) for n in range(self.num_workers)]
        for it in self.workers:
            it.ask("begin")
        return self._given()

    def _given(self):
        workers = self.workers
        active, asked, turn = set(range(len(workers))), deque(), 0
        try:
            while True:
                while active and len(asked) < PREFETCH * len(workers):
                    if turn % len(workers) in active:
                        workers[turn % len(workers)].ask("next")
                        asked.append(turn % len(workers))
                    turn += 1
                if not asked:
                    return
                n = asked.popleft()
                batch = workers[n].answer()
                if batch is None:
                    active.discard(n)
                else:
                    yield batch
        finally:
            if self.persistent:
                while asked:
                    workers[asked.popleft()].answer()
            else:
                self.workers = []
                for it in workers:
                    it.end()


class _Worker:
    def __init__(self, *of):
        self.pipe, theirs = _fork.Pipe()
        self.process = _fork.Process(target=_work, args=(theirs, *of), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, what):
        self.pipe.send(what)

    def answer(self):
        found = self.pipe.recv()
        if isinstance(found, Exception):
            raise found
        return found

    def end(self):
        self.ask("end")
        self.process.join()
        self.pipe.close()


def _work(pipe, dataset, number, workers, seed):
    global _info
    _info = SimpleNamespace(id=number, num_workers=workers, seed=seed + number)
    batches = iter(())
    while True:
        asked = pipe.recv()
        if asked == "end":
            return
        try:
            if asked == "begin":
                batches = iter(dataset)
            else:
                pipe.send(next(batches, None))
        except Exception as error:
            pipe.send(error)
