"""Batches lie where the pipeline has written them, whoever looks."""

import copy
import gc
import operator
import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from conftest import run, values

import pipec

ALL = ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "f32", "f64"]
NUMPY = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def one(text, **told):
    return next(iter(pipec.load(text, **told)))


@pytest.mark.parametrize("dtype,name", list(zip(ALL, NUMPY)))
def test_every_dtype_is_the_same_in_numpy(dtype, name):
    # Pain 39: the address is the same through the buffer, DLPack and NumPy: nothing was copied.
    value = "i > 1" if dtype == "bool" else f"{dtype}(i)"
    array = one(f"pipeline p = range(4) |> map {{ x: {value} }} |> batch(4)")["x"]
    seen = [np.asarray(array), np.from_dlpack(array), array.__array__(), np.asarray(memoryview(array))]
    for it in seen:
        assert it.dtype == name and it.ctypes.data == array.address
        assert it.tolist() == array.tolist()
    assert array.dtype == dtype and array.nbytes == seen[0].nbytes and array.strides == seen[0].strides


def test_bf16_goes_by_dlpack_alone():
    array = one("pipeline p = range(4) |> map { x: bf16(f32(i)) } |> batch(4)")["x"]
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0] and array.itemsize == 2
    with pytest.raises(BufferError, match="bf16"):
        memoryview(array)
    pytest.importorskip("ml_dtypes", reason="bf16 in NumPy needs ml_dtypes")
    assert np.asarray(array.__array__(), dtype="f4").tolist() == [0.0, 1.0, 2.0, 3.0]


def test_the_memory_is_the_consumers_and_can_be_written():
    array = one("pipeline p = range(6) |> batch(6)")["i"]
    np.asarray(array)[2] = 70
    assert memoryview(array)[2] == 70 and array[2] == 70


def test_small_batches_share_a_chunk_and_each_is_aligned_for_dlpack():
    # Small batches lie behind each other in one buffer: what goes beyond 256 bytes is an offset.
    batches = list(pipec.load("pipeline p = range(1000) |> map { x: f32(i) } |> batch(10)"))
    addresses = [it["x"].address for it in batches]
    assert any(it % 256 for it in addresses)
    for n, it in enumerate(batches):
        taken = np.from_dlpack(it["x"])
        assert taken.ctypes.data == it["x"].address
        assert taken.tolist() == [float(i) for i in range(10 * n, 10 * n + 10)]


def test_axes_and_rows():
    array = one("pipeline p = range(6) |> map { x: full([2, 3], f32(i)) } |> batch(2)")["x"]
    assert array.shape == (2, 2, 3) and array.ndim == 3 and array.size == 12 and len(array) == 2
    assert array[1].tolist() == [[1.0] * 3] * 2 and array[-1][0].shape == (3,) and array[1][0][2] == 1.0
    assert np.asarray(array[1]).ctypes.data == array.address + 24
    assert [it.shape for it in array] == [(2, 3), (2, 3)]
    with pytest.raises(IndexError):
        array[2]
    assert [array[np.int64(1)].shape, array[1:].shape, array[:, 0, ::2].shape] == [(2, 3), (1, 2, 3), (2, 2)]


OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "xor",
    "lshift", "rshift",
]


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_numpys(name):
    # Issue 19, 19: with a number, an array of either kind and a list, on either side.
    batch = one("pipeline p = range(6) |> map { a: i + 1, b: 7 - i } |> batch(6)")
    (a, b), made = (batch["a"], batch["b"]), getattr(operator, name)
    mine, theirs = a.numpy(), b.numpy()
    for found, expected in [
        (made(a, b), made(mine, theirs)),
        (made(a, theirs), made(mine, theirs)),
        (made(mine, b), made(mine, theirs)),
        (made(a, 3), made(mine, 3)),
        (made(3, a), made(3, mine)),
        (made(a, [1, 2, 3, 4, 5, 6]), made(mine, [1, 2, 3, 4, 5, 6])),
    ]:
        assert type(found) is np.ndarray and found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_what_numpy_can_do_an_array_can_do():
    x = one("pipeline p = range(6) |> map { x: full([2, 3], f32(i)) } |> batch(2)")["x"]
    whole = x.numpy()
    assert type(whole) is np.ndarray and whole.ctypes.data == x.address and x.numpy().base is not None
    assert x.mean() == 0.5 and x.sum(axis=(1, 2)).tolist() == [0.0, 6.0] and x.max() == 1.0 and x.T.shape == (3, 2, 2)
    assert x.reshape(4, 3).ctypes.data == x.address and x.astype("i8").dtype == "int64"
    assert (-x).min() == -1.0 and abs(-x).max() == 1.0 and (x @ np.ones(3, "f4")).tolist() == [[0.0, 0.0], [3.0, 3.0]]
    assert np.add(x, x, out=x) is x and x[1, 0, 0] == 2.0 and np.maximum.reduce(x).tolist() == [[2.0] * 3] * 2
    assert np.concatenate([x, x]).shape == (4, 2, 3) and np.stack(list(x)).shape == (2, 2, 3)
    assert x[x > 1].tolist() == [2.0] * 6 and 2.0 in x and 5.0 not in x
    x[0] = 9
    x[1, x[1] > 1] = -1
    assert x.tolist() == [[[9.0] * 3] * 2, [[-1.0] * 3] * 2]
    x += 1
    assert type(x) is np.ndarray and x[0, 0, 0] == 10.0


def test_what_an_array_cannot_do_is_said():
    x = one("pipeline p = range(6) |> batch(6)")["i"]
    with pytest.raises(AttributeError, match="meen"):
        x.meen()
    assert not hasattr(x, "__cuda_array_interface__") and not hasattr(x, "_private")
    with pytest.raises(ValueError):
        bool(x)
    with pytest.raises(TypeError, match="unhashable"):
        {x}


def test_copies_are_numpys():
    # An array that was pickled held nothing once it was there.
    x = one("pipeline p = range(6) |> batch(6)")["i"]
    for made in [pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy({"x": x})["x"]]:
        assert type(made) is np.ndarray and made.tolist() == x.tolist() and made.ctypes.data != x.address


@pytest.mark.parametrize("value,shown", [
    ("i", "Array([0, 1, 2, …, 7, 8, 9], i64[10])"),
    ("f32(i) / 10.0", "Array([0.0, 0.1, 0.2, …, 0.7, 0.8, 0.9], f32[10])"),
    ("f64(i) / 10.0", "Array([0.0, 0.1, 0.2, …, 0.7, 0.8, 0.9], f64[10])"),
    ("bf16(f32(i) / 10.0)", "Array([0.0, 0.1, 0.2, …, 0.699, 0.801, 0.898], bf16[10])"),
    ("i > 4", "Array([False, False, False, …, True, True, True], bool[10])"),
    ("full([2], u8(i))", "Array([[0, 0], [1, 1], …, [8, 8], [9, 9]], u8[10, 2])"),
    ("full([2, 2, 1], u8(i))", "Array([[[[0], [0]], [[0], [0]]], …, [[[9], [9]], [[9], [9]]]], u8[10, 2, 2, 1])"),
])
def test_an_array_is_shown_with_elements_dtype_and_shape(value, shown):
    assert repr(one(f"pipeline p = range(10) |> map {{ x: {value} }} |> batch(10)")["x"]) == shown


def test_a_row_of_numbers_is_shown_whole_where_it_is_short():
    block = one("pipeline p = range(3) |> map { x: full([2, 4], f32(i)) } |> batch(1)")
    assert repr(block["x"]) == "Array([[[0.0, …, 0.0], [0.0, …, 0.0]]], f32[1, 2, 4])"
    assert repr(one("pipeline p = range(6) |> batch(6)")["i"]) == "Array([0, 1, 2, 3, 4, 5], i64[6])"


def test_texts_are_a_list():
    block = one('pipeline p = range(6) |> map { name: text_of(i) }')
    names, expected = block["name"], ["0", "1", "2", "3", "4", "5"]
    assert isinstance(names, Sequence) and len(names) == 6 and list(names) == expected
    assert names == expected and expected == names and names == tuple(expected) and names == block["name"]
    assert not names != expected and names != expected[:5] and names != "012345" and names != 3
    assert names[1:3] == ["1", "2"] and names[::-2] == ["5", "3", "1"] and names[-1] == "5" and names[np.int64(2)] == "2"
    assert "3" in names and "7" not in names and names.index("4") == 4 and names.count("4") == 1
    assert list(reversed(names)) == expected[::-1] and sorted(names, reverse=True) == expected[::-1]
    assert repr(names) == "Strings(['0', '1', '2', '3', …], len=6)"
    assert np.asarray(names).tolist() == expected
    with pytest.raises(IndexError):
        names[6]
    with pytest.raises(TypeError):
        names["0"]


CAPTIONS = """
edition 2026
pipeline p =
    range(10)
    |> shuffle
    |> map { i, name: "žluť " + text_of(i), raw: encode_png(plasma(i, 2 + i % 3, 3)) }
    |> batch(4, tail: mask)
"""


def test_texts_of_a_batch_are_a_list():
    pipe = pipec.load(CAPTIONS, epochs=1)
    assert pipe.schema["name"] == ("str", (4,)) and pipe.schema["raw"] == ("bytes", (4,))
    batches = list(pipe)
    assert len(batches) == 3
    for batch in batches:
        expected = [f"žluť {i}" if valid else "" for i, valid in zip(batch["i"].tolist(), batch["valid"].tolist())]
        assert batch["name"] == expected and len(batch["name"]) == 4 and batch["name"][1:3] == expected[1:3]
        assert isinstance(batch["name"], Sequence) and all(type(it) is str for it in batch["name"])
        found = batch["raw"].tolist()
        assert [it[:4] for it in found] == [b"\x89PNG" if valid else b"" for valid in batch["valid"].tolist()]
    # As an array of NumPy each text is an element; the batch outlives the pipeline.
    del pipe
    gc.collect()
    assert np.asarray(batches[0]["name"]).shape == (4,)
    for made in [pickle.loads(pickle.dumps(batches[0]["name"])), copy.deepcopy(batches[0])["name"]]:
        assert type(made) is list and made == batches[0]["name"]


def test_texts_of_a_batch_are_a_list_for_numpy():
    for ours, theirs in zip(pipec.load(CAPTIONS, workers=1), pipec.load(CAPTIONS, workers=3).numpy()):
        assert type(theirs["i"]) is np.ndarray and type(theirs["name"]) is type(theirs["raw"]) is list
        assert ours["name"] == theirs["name"] and ours["raw"] == theirs["raw"]


def test_texts_of_a_batch_are_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    for batch in pipec.load(CAPTIONS, epochs=1):
        for name, type_ in [("name", pyarrow.large_string()), ("raw", pyarrow.large_binary())]:
            array = pyarrow.array(batch[name])
            array.validate(full=True)
            assert array.type == type_ and array.to_pylist() == batch[name].tolist()


def test_texts_of_batches_that_are_taken_apart_are_lists():
    block = one("pipeline p = range(6) |> map { name: text_of(i) } |> batch(3) |> flat_map [{ name, k: 0 }, { name, k: 1 }]")
    assert block["name"] == [["0", "1", "2"]] * 2 + [["3", "4", "5"]] * 2


def test_a_state_among_batches_of_texts():
    pipe = pipec.load(CAPTIONS, seed=3)
    whole = [it["name"].tolist() for it in pipe]
    begun = pipec.load(CAPTIONS, seed=3)
    first = next(iter(begun))["name"].tolist()
    rest = pipec.load(CAPTIONS, seed=3, workers=2)
    rest.load_state_dict(begun.state_dict())
    assert [first, *(it["name"].tolist() for it in rest)] == whole
    # Two ranks have the batches of one in turn; the one that has none left is given empty texts.
    ranks = [[it["name"].tolist() for it in pipec.load(CAPTIONS, seed=3, rank=rank, world=2)] for rank in range(2)]
    assert [ranks[0][0], ranks[1][0], ranks[0][1]] == whole and len(ranks[1]) == 2


RAGGED = """
edition 2026
pipeline p =
    range(10)
    |> shuffle
    |> map { i, ids: arange(i * 7 % 4) * i, boxes: f32(stack([[i, k] for k in 1..(i * 7 % 4)])) }
    |> batch(4, tail: mask, ragged: [ids, boxes])
"""


def rows(batch):
    """What the records of a batch are made of."""
    return [(i, i * 7 % 4) if valid else (0, 0) for i, valid in zip(batch["i"].tolist(), batch["valid"].tolist())]


def test_ragged_fields_of_a_batch_keep_the_lengths_of_their_rows():
    pipe = pipec.load(RAGGED, epochs=1)
    assert pipe.schema["ids"] == ("i64", (4, None)) and pipe.schema["boxes"] == ("f32", (4, None, 2))
    assert "ids: ragged i64[4, ?]" in repr(pipe) and list(pipe.schema) == ["i", "ids", "boxes", "valid"]
    batches = list(pipe)
    assert len(batches) == 3 and list(batches[0]) == ["i", "ids", "boxes", "valid"]
    for batch in batches:
        ids, boxes = batch["ids"], batch["boxes"]
        assert isinstance(ids, pipec.Ragged) and len(ids) == len(boxes) == 4 and ids.offsets.shape == (5,)
        assert ids.tolist() == [[k * i for k in range(n)] for i, n in rows(batch)]
        assert ids.lengths.tolist() == boxes.lengths.tolist() == [n for _, n in rows(batch)]
        for row, length in zip(boxes, ids.lengths):
            assert row.shape == (length, 2)
        assert boxes.values.shape == (sum(ids.lengths), 2) and ids[-1].tolist() == ids[3].tolist()
        assert ids[0].ctypes.data == ids.values.address
        with pytest.raises(IndexError):
            ids[4]
    for ours, theirs in zip(pipec.load(RAGGED, workers=1), pipec.load(RAGGED, workers=3).numpy()):
        assert type(theirs["ids"].values) is np.ndarray and theirs["ids"].tolist() == ours["ids"].tolist()
    made = pickle.loads(pickle.dumps(batches[0]["boxes"]))
    assert made.tolist() == batches[0]["boxes"].tolist()


def test_a_state_among_batches_with_ragged_fields():
    pipe = pipec.load(RAGGED, seed=3)
    whole = [it["boxes"].tolist() for it in pipe]
    begun = pipec.load(RAGGED, seed=3)
    first = next(iter(begun))["boxes"].tolist()
    rest = pipec.load(RAGGED, seed=3, workers=2)
    rest.load_state_dict(begun.state_dict())
    assert [first, *(it["boxes"].tolist() for it in rest)] == whole
    ranks = [[it["boxes"].tolist() for it in pipec.load(RAGGED, seed=3, rank=rank, world=2)] for rank in range(2)]
    assert [ranks[0][0], ranks[1][0], ranks[0][1]] == whole and len(ranks[1]) == 2


def test_a_view_outlives_everything_else():
    pipe = pipec.load("pipeline p = range(100_000) |> batch(50_000)")
    first = np.asarray(next(iter(pipe))["i"])
    copy = first.copy()
    del pipe
    gc.collect()
    pipec.load("pipeline p = range(100_000) |> map { i: i * 2 } |> batch(50_000)").numpy()
    assert (first == copy).all()


def test_buffers_go_back_to_the_pool():
    # One batch held at a time: buffers are used again, and few of them are enough for 300 batches.
    pipe = pipec.load("pipeline p = range(3_000_000) |> map { x: f32(i) } |> batch(10_000)", workers=1)
    addresses = {it["x"].address for it in pipe}
    assert len(addresses) < 100
    # All held: none is used twice.
    held = list(pipe)
    assert len({it["x"].address for it in held}) == len(held) == 300


def test_a_label_does_not_hold_the_images():
    program = """
        import gc, os, pipec
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        text = "pipeline p = range(4096) |> map { big: full([64, 1024], f32(i)), i } |> batch(16)"
        labels = []
        pipe = pipec.load(text, workers=1, memory="256MiB", epochs=1)
        for n, batch in enumerate(pipe):
            labels.append(batch["i"])
            if n == 40: before = resident()
        assert len(labels) == 256
        print(resident() - before)
    """
    assert int(run(program)) < 100 << 20  # the 215 images after the 41st take 900 MB


def test_blocks_of_records(tmp_path):
    path = tmp_path / "lines.txt"
    lines = [f"zeile {i} {'é' * (i % 5)}" for i in range(10)]
    path.write_text("\n".join(lines) + "\n")
    pipe = pipec.load('param path: path\npipeline p = lines("{path}") |> with { n: len(text) }', params={"path": path}, rows=4)
    blocks = list(pipe)
    assert [len(it["text"]) for it in blocks] == [4, 4, 2]
    assert [text for it in blocks for text in it["text"]] == lines
    assert blocks[0]["text"][-1] == lines[3] and blocks[0]["n"].shape == (4,)
    assert not pipe.batched and pipe.schema["text"].dtype == "str"
    # The same blocks whatever the chunks and the workers.
    other = pipe.replace(workers=1)
    assert [it["text"].tolist() for it in other] == [it["text"].tolist() for it in blocks]


def test_ragged_records_are_values_and_offsets():
    pipe = pipec.load('pipeline p = files("sample:images?count=10") |> map { image: decode_jpeg(bytes), size: len(bytes) }', rows=4)
    for block in pipe:
        ragged, rows = block["image"], len(block["size"])
        assert len(ragged) == rows and ragged.shapes.shape == (rows, 3)
        offsets = np.asarray(ragged.offsets)
        assert offsets[0] == 0 and offsets[-1] == ragged.values.size and (np.diff(offsets) > 0).all()
        for i in range(rows):
            extents = np.asarray(ragged.shapes)[i]
            assert ragged[i].shape == tuple(extents) and extents.prod() == np.diff(offsets)[i]
            assert ragged[i].ctypes.data == ragged.values.address + offsets[i]


def test_text_is_arrow_without_a_copy():
    pyarrow = pytest.importorskip("pyarrow", reason="the Arrow interface is read by pyarrow here")
    block = next(iter(pipec.load('pipeline p = files("sample:images?count=10") |> map { path, bytes }', rows=7)))
    for name, kind in [("path", pyarrow.large_string()), ("bytes", pyarrow.large_binary())]:
        array = pyarrow.array(block[name])
        assert array.type == kind and array.to_pylist() == block[name].tolist()
        again = pyarrow.array(block[name])
        assert array.buffers()[2].address == again.buffers()[2].address
    del block
    gc.collect()
    array.validate(full=True)


def test_large_rows_that_were_shuffled_are_one_piece():
    pyarrow = pytest.importorskip("pyarrow", reason="the Arrow interface is read by pyarrow here")
    source = 'pipeline p = files("sample:images?count=20") |> where len(bytes) > 100'
    plain = {path: data for it in pipec.load(f"{source} |> map {{ path, bytes }}", rows=7) for path, data in zip(it["path"], it["bytes"])}
    assert min(map(len, plain.values())) > 4096
    blocks = list(pipec.load(f"{source} |> shuffle(window: 6) |> map {{ path, bytes }}", rows=7))
    for block in blocks:
        array = pyarrow.array(block["bytes"])
        array.validate(full=True)
        assert array.to_pylist() == block["bytes"].tolist() == [plain[it] for it in block["path"]]
    assert [it for block in blocks for it in block["path"]] != list(plain)
    assert sum(len(it["path"]) for it in blocks) == len(plain) == 20


def test_numpy_view_is_the_same_memory_and_numbers(numbers):
    own = list(numbers)
    numbers.set_epoch(0)
    for mine, theirs in zip(own, numbers.numpy()):
        assert type(theirs["x"]) is np.ndarray and theirs["x"].flags.writeable and theirs["x"].flags.c_contiguous
        assert theirs["x"].base is not None
        assert theirs["x"].tolist() == mine["x"].tolist()


def test_extents_that_differ_from_batch_to_batch():
    pipe = pipec.load("pipeline p = range(10) |> batch(4, tail: keep)")
    assert values(pipe) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert pipe.schema["i"].shape == (None,)
