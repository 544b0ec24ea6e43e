"""Pipelines: loading, iterating, inspecting."""

from __future__ import annotations

import atexit
import html
import json
import os
import re
import warnings as _warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from . import _pipec
from ._array import Array
from ._batch import Capsules, make_known
from .errors import ArgumentError, PipecError, PipecWarning, StateError

if TYPE_CHECKING:
    from ._epochs import Epochs

_PROGRAM = re.compile(r"\n|\|>|\bpipeline\b[^/\\]*=")
"""Matches the text of a program, and no path."""
_CALLING: weakref.WeakSet[Pipe] = weakref.WeakSet()
"""Pipelines whose threads call Python functions or read Python sources."""
_WRONG = "PC0704"
_IN_WORKERS = "PC0705"


class Field(NamedTuple):
    """A field of the batches of a pipeline, or of its records."""

    dtype: str
    """`f32`, `u8`, `bf16`, `str`, …"""
    shape: tuple[int | None, ...]
    """The extents, that of the batch first; `None` if one differs between batches."""


class RaggedField(Field):
    """A field that is `ragged` in `batch`: the extent of the batch is followed by that of its rows, `None`."""

    __slots__ = ()


class Explanation(str):
    """The plan of a pipeline and its cost: a string; in a notebook, an HTML page."""

    html: str
    """A self-contained HTML page."""
    facts: dict[str, Any]
    """The same information as JSON data."""

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="640" style="border: 0"></iframe>'

    def __repr__(self) -> str:
        return str(self)


def load(
    source: str | os.PathLike[str],
    name: str | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    epoch: int = 0,
    epochs: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    world: int | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    rows: int = 1024,
    keep: bool = True,
    cache: str | os.PathLike[str] | None = None,
    objective: str = "time",
    quarantine: str | os.PathLike[str] | None = None,
    max_errors: int | None = None,
    functions: Mapping[str, Any] | None = None,
    processes: int = 0,
) -> Pipe:
    """Loads and compiles a pipeline; reads no data and starts no thread.

    `source` is a `.pipe` file, a file built by `pipec build`, or the text of a program: a
    string that contains a line break, `|>`, or `pipeline … =`. `name` selects the pipeline; it is
    optional if there is only one, or only one that no other uses.

    `params` are values of the program's `param`s; a `path` may be a list of paths, such as `pipec.hf(dataset)` gives.
    `seed` determines all random numbers; the first iteration is epoch `epoch`. `epochs` is the number of epochs, if it is
    known: then no data of a later one are prepared. `rank` (from 0) is the number of this process among the `world_size`
    processes that share the work (`world` is the former name).
    `workers` is the number of worker threads (default: all cores, or as the lock file says), and
    `memory` the memory limit (bytes, or `"2GiB"`; default: a quarter of the free memory). A pipeline
    that does not end with `batch` yields blocks of `rows` records. `keep` allows caching decoded images
    and other expensive values in memory across epochs; `cache` is a folder to cache them in for later
    runs. `objective` is what caching is to be the best for: `"time"` of all epochs, `"rate"` of later ones, `"bytes@4000"`
    (the fewest bytes that reach 4,000 records/s), or `"cost@3.06,0.08"` (the lowest cost, by the price of an hour of the
    machine and of a GB cached for a month), as for `pipec run --objective`. Each record that is skipped or replaced is written to the file `quarantine` as a line of JSON;
    a run with more than `max_errors` of them fails. `functions` are the Python functions that the
    program declares with `extern fn`, and what makes the sources that it declares with `extern pipeline`
    (a class, a function, or the object itself), by name; others are imported from the module in their
    declaration. They are called and read in this process, one at a time under the GIL, or in `processes`
    separate processes, with values passed through shared memory.

    Errors in the program raise `CompileError`.
    """
    told: dict[str, Any] = {
        "name": name,
        "params": {key: _text(value) for key, value in (params or {}).items()},
        "seed": _natural("seed", seed),
        "epoch": _natural("epoch", epoch),
        "epochs": None if epochs is None else _natural("epochs", epochs, least=1),
        **_ranks(rank, _world_size(world_size, world)),
        "workers": None if workers is None else _natural("workers", workers, least=1, most=1024),
        "memory": _bytes(memory),
        "rows": _natural("rows", rows, least=1),
        "processes": _natural("processes", processes, most=1024),
        "keep": bool(keep),
        "cache": None if cache is None else os.fspath(cache),
        "objective": _objective(objective),
        "quarantine": None if quarantine is None else os.fspath(quarantine),
        "max_errors": None if max_errors is None else _natural("max_errors", max_errors),
    }
    told["ranked"] = rank is not None
    if isinstance(source, str) and _PROGRAM.search(source):
        place: dict[str, Any] = {"path": "<program>", "text": source}
    else:
        place = {"path": os.fspath(source), "text": None}
    return Pipe(place, told, dict(functions or {}))


class Pipe:
    """A pipeline, created by `load`.

    Each `iter(pipe)` is the next epoch: the first is the `epoch` given to `load`, or resumes from
    `load_state_dict`. An iterator may be abandoned: the next one begins the epoch after it. Only one
    iterator can be active at a time.
    """

    def __init__(
        self, source: dict[str, Any], told: dict[str, Any], functions: dict[str, Any]
    ) -> None:
        self._source, self._told, self._functions = source, told, functions
        self._native = _pipec.Native(source, told, functions)
        if self._native.calls_python():
            _CALLING.add(self)
        self._epochs: Epochs | None = None
        """State shared with the worker processes of a `DataLoader`, if there can be any."""
        for warning in self._native.warnings():
            _warnings.warn("\n" + warning, PipecWarning, stacklevel=3)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The batches of the next epoch: dicts of `Array`, of `Strings` for string fields, and of `Ragged` for fields
        that are `ragged` in `batch`. A pipeline without `batch` yields blocks of records, in which fields of varying
        extents are `Ragged` too."""
        return self._iterate(False)

    def _iterate(self, numpy: bool) -> _pipec.Batches:
        self._catch_up()
        make_known()
        return self._native.iterate(numpy)

    def _catch_up(self) -> None:
        """Continues after the epochs that worker processes have begun."""
        if self._epochs is not None and self._epochs.have_begun:
            epoch = self._epochs.next
            assert epoch is not None
            self._native.set_epoch(epoch)
            self._epochs.go_to(None)

    def _take_rank(self, rank: int, world: int) -> None:
        """Becomes this rank from now on, at any position."""
        if (self._told["rank"], self._told["world"]) != (rank, world):
            self._native.take_part((rank, world), (0, 1), None)
            self._told.update(rank=rank, world=world)

    def __len__(self) -> int:
        """The number of batches of an epoch; raises `LengthError` (a `TypeError`) if only reading the data can tell."""
        return self._native.len()

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self._native.name()

    @property
    def epoch(self) -> int:
        """The current epoch, or the next one between epochs."""
        epoch = None if self._epochs is None else self._epochs.present
        return self._native.epoch() if epoch is None else epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next `iter` begins. Usually not needed: each `iter` begins the next epoch."""
        epoch = _natural("epoch", epoch)
        self._native.set_epoch(epoch)
        if self._epochs is not None:
            self._epochs.go_to(epoch)

    @property
    def schema(self) -> dict[str, Field]:
        """The fields of a batch, or of a record if the pipeline has no `batch`."""
        kinds = {True: RaggedField, False: Field}
        return {name: kinds[ragged](dtype, tuple(shape)) for name, dtype, shape, ragged in self._native.schema()}

    @property
    def classes(self) -> list[str] | dict[str, list[str]] | None:
        """The names of the classes, in the order of their labels: `pipe.classes[label]`. They are those of
        `class_of`, whose files are listed now, and of `index_of`. `None` if the pipeline has no labels;
        a dict of lists by field if several fields have different classes."""
        found = self._native.classes()
        if all(names == found[0][1] for _, names in found):
            return list(found[0][1]) if found else None
        return {field: list(names) for field, names in found if field is not None}

    @property
    def batched(self) -> bool:
        """Whether it ends with `batch`; otherwise it yields blocks of records."""
        return self._native.batched()

    def state_dict(self) -> dict[str, Any]:
        """A checkpoint, exact to the batch: numbers and short strings, less than 2 KB."""
        if self._epochs is not None and self._epochs.have_begun:
            raise StateError(_IN_WORKERS_TOLD, code=_IN_WORKERS)
        found: dict[str, Any] = json.loads(self._native.state())
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Loads a checkpoint: the next `iter` resumes from it, also with another number of
        ranks or workers. Raises `StateError` if it belongs to another program, seed or input."""
        self._native.load_state(json.dumps(dict(state)))
        if self._epochs is not None:
            self._epochs.go_to(self._native.epoch(), state)

    def stats(self) -> dict[str, Any]:
        """Statistics so far: records, bytes, waiting time, failed records, the time of each stage. They cover
        this process only, not the worker processes of a `DataLoader`."""
        found: dict[str, Any] = json.loads(self._native.stats())
        return found

    def explain(
        self,
        *,
        epochs: int = 1,
        consumer: float | None = None,
        verbose: bool = False,
        objective: str | None = None,
    ) -> Explanation:
        """The plan and its predicted cost, for `epochs` epochs and a training step of `consumer` seconds
        per batch: on one screen, or in full detail with `verbose`. `objective` is what caching is to be the best for
        (default: as given to `load`)."""
        epochs, objective = _natural("epochs", epochs, least=1), _objective(objective)
        text, page, facts = self._native.explain(epochs, consumer, bool(verbose), objective)
        made = Explanation(text)
        made.html, made.facts = page, json.loads(facts)
        return made

    def profile(self, seconds: float = 10.0, *, to: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Measures the pipeline from its start, without a training step, until its rate is steady, for at most
        `seconds`. `to` is a file for `pipec explain --profile`."""
        path = None if to is None else os.fspath(to)
        found: dict[str, Any] = json.loads(self._native.profile(float(seconds), path))
        return found

    def tune(
        self,
        seconds: float = 60.0,
        *,
        epochs: int = 1,
        cache: str | os.PathLike[str] | None = None,
        strategies: bool = False,
        top: int = 3,
        write: bool = True,
        objective: str | None = None,
    ) -> dict[str, Any]:
        """Measures the pipeline, chooses the number of workers and caches, and measures again. The result is written
        to the lock file beside the program, which `load` then uses, unless `write` is false or the program is
        not in a file. `objective` is what caching is to be the best for (default: as given to `load`).

        With `strategies` or `cache`, it compares what could be cached for `epochs` epochs, also in the folder `cache`: the
        `top` best strategies by the model, and caching nothing, are run in turn on a part of the records. The result then
        has the `strategies`, the choice of the model first, with their bytes and predicted rates, and `measured` records/s of those
        that were run; `explanation` is the same as a table."""
        epochs, objective = _natural("epochs", epochs, least=1), _objective(objective)
        if strategies or cache is not None:
            return self._tune_strategies((float(seconds), epochs, _natural("top", top, least=1, most=100)),
                                         cache, write, objective)
        explanation, tried, workers, keep, lock = self._native.tune((float(seconds), epochs), write, objective)
        return {
            "workers": workers, "keep": keep, "explanation": explanation,
            "tried": [{"workers": n, "records_per_second": rate} for n, rate in tried],
            "lock": None if lock is None else os.fspath(lock),
        }

    def _tune_strategies(
        self,
        aim: tuple[float, int, int],
        cache: str | os.PathLike[str] | None,
        write: bool,
        objective: str | None,
    ) -> dict[str, Any]:
        if aim[1] < 2 and cache is None:
            raise _wrong("one epoch reads each record once, so nothing is worth caching: pass the number of epochs, "
                         "`epochs=90`, or a folder in which later runs find the values, `cache=\"dir\"`")
        folder = None if cache is None else os.fspath(cache)
        table, rows, keep, notes, lock = self._native.strategies(aim, folder, write, objective)
        return {
            "strategies": json.loads(rows)["rows"], "keep": keep, "explanation": table, "notes": notes,
            "lock": None if lock is None else os.fspath(lock),
        }

    def prepare(
        self,
        cache: str | os.PathLike[str] | None = None,
        *,
        epochs: int | None = None,
        keep: str | Sequence[str] = (),
        progress: Callable[[dict[str, Any]], object] | None = None,
    ) -> dict[str, Any]:
        """Fills the folder `cache` (default: as given to `load`) ahead of training: what a run of `epochs` epochs (default:
        as given to `load`, otherwise many) would cache on disk. Only the steps up to these values are run, once for each
        record and on all cores. Values that are cached already are not computed again: after Ctrl-C or a crash, call it again.

        `keep` names the values to cache, and none else: `"index"`, the positions of the parts of each JPEG; a function such as
        `"decode_jpeg"`; or `"train.map#1.decode_jpeg"`. `progress` is called up to ten times a second with a dict of
        `functions`, `values`, `of`, `written` and `seconds`; an exception of its own stops the filling.

        The result has the `values`, each a dict with `function`, `values`, `written`, `bytes` and `seconds`, and the `notes`
        that `pipec prepare` prints."""
        folder = self._told["cache"] if cache is None else os.fspath(cache)
        if folder is None:
            raise _wrong("pass the folder to cache in: `pipe.prepare(\"dir\")`, or `pipec.load(…, cache=\"dir\")`")
        epochs = None if epochs is None else _natural("epochs", epochs, least=1)
        values, notes = self._native.prepare(folder, epochs, [keep] if isinstance(keep, str) else list(keep), progress)
        return {"values": json.loads(values), "notes": notes}

    def close(self) -> None:
        """Stops its threads, as does dropping the last reference. The pipeline can be iterated again."""
        self._native.close()

    def numpy(self) -> View:
        """The batches as NumPy arrays, without a copy; string fields are lists of `str` or `bytes`."""
        import numpy  # noqa: F401  Fails here if it is not installed.

        return _Numpy(self)

    def arrow(self) -> Arrow:
        """The batches as `pyarrow.RecordBatch`es, on the same memory where Arrow has such a layout."""
        return Arrow(self)

    def __arrow_c_schema__(self) -> Any:
        return self._native.arrow().schema()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The batches of the next epoch, as `pyarrow.table(pipe)` and `polars.DataFrame(pipe)` ask for them."""
        return self._native.arrow().stream(self._iterate(False))

    def torch(self, *, pin_memory: bool = False, device: Any = None, non_blocking: bool = True) -> Any:
        """A loader for PyTorch, which is also an `IterableDataset`: `pipec.torch.Loader`."""
        from .torch import Loader

        return Loader(self, pin_memory=pin_memory, device=device, non_blocking=non_blocking)

    def jax(self, *, sharding: Any = None) -> View:
        """The batches as JAX arrays; see `pipec.jax.Batches`."""
        from .jax import Batches

        return Batches(self, sharding=sharding)

    def tf(self) -> Any:
        """A `tf.data.Dataset` of one epoch; see `pipec.tf.dataset`."""
        from .tf import dataset

        return dataset(self)

    def replace(self, **others: Any) -> Pipe:
        """The same pipeline with other arguments of `load`, from the start."""
        if "world_size" in others:
            others["world"] = _world_size(others.pop("world_size"), others.get("world"))
        told = {**self._told, **others}
        if "rank" in others or "world" in others:
            told.update(_ranks(told["rank"], told["world"]), ranked=True)
        return Pipe(self._source, told, self._functions)

    def __reduce__(self) -> tuple[Any, ...]:
        source = dict(self._source)
        if source["text"] is None:
            source["path"] = os.path.abspath(source["path"])
        state = json.loads(self._native.state()) if self._native.has_begun() else None
        epoch = self._epochs.next if self._epochs is not None and self._epochs.have_begun else None
        return _reloaded, (source, self._told, self._functions, state, epoch)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {_type(it)}" for name, it in self.schema.items())
        return f"<pipec.Pipe {self.name}: {{ {fields} }}>"


@atexit.register
def _end() -> None:
    """Stops the threads that call Python functions while the interpreter still exists: they prepare the
    next epoch, and a call after shutdown would abort the process, or block it forever."""
    for pipe in list(_CALLING):
        try:
            pipe.close()
        except PipecError:
            pass  # In a copy of the process there is no thread to be ended.


_IN_WORKERS_TOLD = (
    f"{_IN_WORKERS} state-in-workers: the worker processes of a `DataLoader` compute the batches ahead of the "
    "loop, so this process does not know which of them was taken last: use torchdata's `StatefulDataLoader` "
    "and its `state_dict`, or `num_workers=0`, or `pipe.torch()` without a `DataLoader`; at the end of an epoch, "
    "`pipe.epoch` is enough, and `pipe.set_epoch` restores it"
)


class View:
    """The batches of a pipeline in another form. It shares the iteration of the pipeline: `state_dict` and
    the epoch are those of the pipeline."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe

    def __iter__(self) -> Iterator[dict[str, Any]]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.pipe)

    def set_epoch(self, epoch: int) -> None:
        """See `Pipe.set_epoch`."""
        self.pipe.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """See `Pipe.state_dict`."""
        return self.pipe.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Pipe.load_state_dict`."""
        self.pipe.load_state_dict(state)


class _Numpy(View):
    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.pipe._iterate(True)


class Arrow(View):
    """The batches of a pipeline as `pyarrow.RecordBatch`es, all with the same schema."""

    def __iter__(self) -> Iterator[Any]:
        import pyarrow

        forms = self.pipe._native.arrow()
        return (pyarrow.record_batch(Capsules(*forms.batch(it))) for it in self.pipe._iterate(False))

    @property
    def schema(self) -> Any:
        """The `pyarrow.Schema` of the batches."""
        import pyarrow

        return pyarrow.schema(self.pipe)

    def __arrow_c_schema__(self) -> Any:
        return self.pipe.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.pipe.__arrow_c_stream__()


def _reloaded(
    source: dict[str, Any],
    told: dict[str, Any],
    functions: dict[str, Any],
    state: dict[str, Any] | None,
    epoch: int | None,
) -> Pipe:
    pipe = Pipe(source, told, functions)
    if state is not None:
        pipe.load_state_dict(state)
    if epoch is not None:
        pipe.set_epoch(epoch)
    return pipe


def _type(field: Field) -> str:
    extents = ", ".join("?" if it is None else str(it) for it in field.shape)
    ragged = "ragged " if isinstance(field, RaggedField) else ""
    return f"{ragged}{field.dtype}[{extents}]" if field.shape else field.dtype


def _wrong(message: str) -> ArgumentError:
    return ArgumentError(f"{_WRONG} wrong-argument: {message}", code=_WRONG)


def _natural(name: str, value: Any, *, least: int = 0, most: int = 2**63 - 1) -> int:
    try:
        number = int(value.__index__())
    except AttributeError:
        raise _wrong(f"`{name}` must be an integer, found {value!r}") from None
    if not least <= number <= most:
        raise _wrong(f"`{name}` must be from {least} to {most}, found {number}")
    return number


def _objective(objective: str | None) -> str | None:
    if objective is not None and not isinstance(objective, str):
        raise _wrong(f"`objective` must be text such as \"rate\" or \"bytes@4000\", found {objective!r}")
    return objective


def _world_size(world_size: int | None, world: int | None) -> int | None:
    if world_size is not None and world is not None and world_size != world:
        raise _wrong(f"`world_size` is {world_size!r}, but its former name `world` is {world!r}: use only `world_size`")
    return world if world_size is None else world_size


def _ranks(rank: int | None, world: int | None) -> dict[str, int]:
    if (rank is None) != (world is None):
        raise _wrong("`rank` and `world_size` must be set together: `rank=0, world_size=4`")
    rank, world = _natural("rank", rank or 0), _natural("world_size", 1 if world is None else world, least=1)
    if rank >= world:
        raise _wrong(f"rank {rank} is out of range for world size {world}: ranks start at 0")
    return {"rank": rank, "world": world}


def _bytes(memory: int | str | None) -> int | None:
    if memory is None or not isinstance(memory, str):
        return None if memory is None else _natural("memory", memory, least=1)
    found = _pipec.size(memory)
    if found is None:
        raise _wrong(f"`memory` must be a number of bytes or a size with a unit, such as \"2GiB\", found {memory!r}")
    return found


def _text(value: Any) -> str:
    """A value as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(it) for it in value) + "]"
    return repr(value)


def _quoted(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        return _text(value)
    text = os.fspath(value)
    if "'" not in text:
        return f"'{text}'"
    raise _wrong(f"a text in a list cannot contain `'`: {text!r}; write it in the program")
