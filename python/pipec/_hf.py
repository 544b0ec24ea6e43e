"""Data sets of Hugging Face `datasets`: the Arrow files that they lie in, which the source `arrow` reads."""

from __future__ import annotations

import re
import sys
from typing import Any, Iterator

from ._pipe import _wrong as wrong

_HARMLESS = {"replace_schema_metadata", "combine_chunks", "cast", "slice"}
"""What `datasets` does to a file's table that changes no value; whether the last two did is seen from the result."""
_SAVE = '`ds.save_to_disk("folder")`, and pass `datasets.load_from_disk("folder")`'


def hf(dataset: Any) -> list[str]:
    """The Arrow files of a Hugging Face `datasets.Dataset`, as the value of a parameter:

        pipec.load("train.pipe", params={"data": pipec.hf(dataset)})    # param data: path
                                                                        # pipeline train = arrow(data) |> …

    The records of `arrow(data)` are then the rows of the data set, in its order; no Python is involved in reading them.
    Formats (`with_format`) do not matter. A data set whose rows are not those of its files raises `ArgumentError`, which
    says how to write them: one that is in memory, was shuffled, filtered or sliced, or had columns renamed or removed.
    """
    _expect_dataset(dataset)
    if dataset.format["type"] == "custom":
        raise wrong("the data set has a transform, which is a function in Python: pass it without (`ds.with_format(None)`), "
                    "and write the transform in the program, or declare it there with `extern fn`")
    blocks = list(_blocks(dataset.data))
    if getattr(dataset, "_indices", None) is not None:
        remedy = "pass `ds.flatten_indices()`, which writes them" if all(map(_path, blocks)) else f"write them with {_SAVE}"
        raise wrong(f"the rows of the data set are a selection or permutation of those in its files: {remedy}; "
                    "or `shuffle` and `where` in the program, which write nothing")
    found: list[str] = []
    for block in blocks:
        path = _path(block)
        if path is None:
            raise wrong(f"the data set, or a part of it, is in memory, not in Arrow files: write it with {_SAVE}")
        _expect_whole(path, block)
        if path in found:
            raise wrong(f"the data set has the rows of `{path}` twice: write it with {_SAVE}; or `repeat` in the program")
        found.append(path)
    if not found:
        raise wrong("the data set has no files")
    return [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in found]


def _expect_dataset(dataset: Any) -> None:
    datasets = sys.modules.get("datasets")
    if datasets is not None:
        if isinstance(dataset, datasets.Dataset):
            return
        if isinstance(dataset, dict):
            splits = ", ".join(f"`{it}`" for it in dataset)
            raise wrong(f"expected one data set, found several by split: pass one of them, such as `ds[\"train\"]`; there are {splits}")
        if isinstance(dataset, datasets.IterableDataset):
            raise wrong("an `IterableDataset` lies in no Arrow files: load it without `streaming=True`, "
                        "or read its original files with `parquet`, `jsonl` or `csv`")
    raise wrong(f"expected a `datasets.Dataset`, found {type(dataset).__name__!r}")


def _blocks(table: Any) -> Iterator[Any]:
    """The pieces that a table of `datasets` consists of, from top to bottom."""
    for row in getattr(table, "blocks", [[table]]):
        if len(row) != 1:
            raise wrong(f"columns were added to the data set, or joined, after its files were written: write it with {_SAVE}")
        yield from row


def _path(block: Any) -> str | None:
    path: str | None = getattr(block, "path", None)
    return path


def _expect_whole(path: str, block: Any) -> None:
    """Refuses a table that has other rows or columns than its file."""
    import pyarrow

    with pyarrow.memory_map(path) as file:
        try:
            written = pyarrow.ipc.open_stream(file)
        except pyarrow.ArrowInvalid:
            written = pyarrow.ipc.open_file(file)
        types = list(zip(written.schema.names, written.schema.types))
        is_sliced = any(name == "slice" for name, *_ in block.replays)
        rows = written.read_all().num_rows if is_sliced else block.num_rows
    if rows != block.num_rows:
        raise wrong(f"the data set is {block.num_rows:,} of the {rows:,} rows of `{path}`: pass `ds.flatten_indices()`, which "
                    f"writes them, or write them with {_SAVE}")
    names = [name for name, *_ in block.replays]
    # One cast that leaves the types as they are is none; there and back again may lose something.
    is_changed = not _HARMLESS.issuperset(names) or names.count("cast") > 1
    if is_changed or types != list(zip(block.schema.names, block.schema.types)):
        raise wrong(f"columns of the data set were removed, renamed or converted after `{path}` was written: pass it as it was "
                    "before, and do that in the program (`arrow(data, columns: […])`, `map { … }`); or write it with "
                    f"{_SAVE}")
