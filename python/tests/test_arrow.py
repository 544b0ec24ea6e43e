"""Batches in Arrow, Polars and pandas: the same values, and where it is said the same memory."""

import gc

import carrow
import numpy as np
import pytest
from conftest import resident

import pipec

BATCHES = """
edition 2026
pipeline p =
    range(10)
    |> map {
        i, x: f32(i) * 0.5, even: i % 2 == 0, half: bf16(f32(i)), name: "žluť " + text_of(i), raw: encode_png(plasma(i, 2, 2)),
        row: full([3], u16(i)), image: full([2, 2, 3], u8(i)), ids: arange(i % 4) * i, boxes: f32(stack([[i, k] for k in 0..(i % 3)])),
    }
    |> batch(4, tail: keep, ragged: [ids, boxes])
"""
BLOCKS = """
edition 2026
pipeline p = range(10) |> map { i, name: text_of(i), ids: arange(i % 4) * i, image: u8(stack([[[i, i, i], [i, i, i]] for k in 0..(i % 2)])) }
"""


def test_fields_of_a_batch_lie_where_the_pipeline_has_written_them():
    for batch in pipec.load(BATCHES, epochs=1):
        rows = batch["i"].tolist()
        n = len(rows)
        found = carrow.seen(batch)
        assert found.format == "+s" and [it.name for it in found.children] == list(batch) and found.length == n
        formats = {it.name: it.format for it in found.children}
        assert formats == {
            "i": "l", "x": "f", "even": "b", "half": "S", "name": "U", "raw": "Z", "row": "+w:3", "image": "+w:12", "ids": "+L", "boxes": "+L",
        }
        assert found["boxes"].children[0].format == "+w:2"
        # Not copied: the addresses are those of the batch.
        for name in ("i", "x", "half"):
            assert found[name].buffers[1] == batch[name].address
        for name in ("row", "image"):
            assert found[name].children[0].buffers[1] == batch[name].address
        assert found["ids"].buffers[1] == batch["ids"].offsets.address
        assert found["ids"].children[0].buffers[1] == batch["ids"].values.address
        assert found["boxes"].children[0].children[0].buffers[1] == batch["boxes"].values.address
        for name in ("name", "raw"):
            assert found[name].buffers == carrow.seen(batch[name]).buffers
        assert found["name"].tolist() == [f"žluť {i}" for i in rows] and found["raw"].tolist() == batch["raw"].tolist()
        assert found["even"].tolist() == [i % 2 == 0 for i in rows] and found["x"].tolist() == [i * 0.5 for i in rows]
        assert found["row"].tolist() == [[i] * 3 for i in rows] and found["image"].tolist() == [[i] * 12 for i in rows]
        assert found["ids"].tolist() == [[k * i for k in range(i % 4)] for i in rows]
        assert found["boxes"].tolist() == [[[i, k] for k in range(i % 3 + 1)] for i in rows]


DTYPES = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]


@pytest.mark.parametrize("dtype,letter", list(zip(DTYPES, "CSILcsilfg")))
def test_every_dtype(dtype, letter):
    x = next(iter(pipec.load(f"pipeline p = range(5) |> map {{ x: {dtype}(i) }} |> batch(5)")))["x"]
    found = carrow.seen(x)
    assert found.format == letter and found.buffers[1] == x.address and found.tolist() == [0, 1, 2, 3, 4]


def test_records_of_a_block():
    for block in pipec.load(BLOCKS, rows=4, epochs=1):
        rows, found = block["i"].tolist(), carrow.seen(block)
        assert found["ids"].format == "+L" and found["image"].format == "+s"
        assert found["ids"].buffers[1] == block["ids"].offsets.address
        data, shape = found["image"]["data"], found["image"]["shape"]
        assert data.children[0].buffers[1] == block["image"].values.address
        assert shape.children[0].buffers[1] == block["image"].shapes.address
        assert shape.tolist() == [[1 + i % 2, 2, 3] for i in rows]
        assert data.tolist() == [[i] * (6 + 6 * (i % 2)) for i in rows] and found["name"].tolist() == list(map(str, rows))


def test_what_was_taken_outlives_the_batch():
    pipe = pipec.load("pipeline p = range(200_000) |> map { x: f32(i), name: text_of(i) } |> batch(100_000)", epochs=1)
    kept = [carrow.taken(it) for it in pipe]
    expected = [it["x"].tolist() for it in kept]
    del pipe
    gc.collect()
    for _ in range(3):
        list(pipec.load("pipeline p = range(200_000) |> map { x: f32(-i) } |> batch(100_000)", epochs=1))
    assert [it["x"].tolist() for it in kept] == expected and kept[1]["name"].tolist()[-1] == "199999"
    for it in kept:
        it.close()


def test_memory_goes_back_when_it_is_released():
    pipe = pipec.load("pipeline p = range(3_000_000) |> map { x: f32(i), name: text_of(i) } |> batch(10_000)", workers=1, memory="128MiB")
    addresses = set()
    for batch in pipe:
        taken = carrow.taken(batch)
        addresses.add(batch["x"].address)
        del batch
        taken.close()
    assert len(addresses) < 100
    before = resident()
    for _ in pipe:
        carrow.seen(_)  # capsules that nobody takes
    assert resident() - before < 50 << 20


def test_a_pipe_is_a_stream_of_one_epoch():
    pipe = pipec.load("pipeline p = range(10) |> shuffle |> map { i, name: text_of(i) } |> batch(4, tail: keep)", seed=3)
    expected = [[{"i": i, "name": name} for i, name in zip(it["i"].tolist(), it["name"])] for epoch in range(2) for it in pipe]
    pipe.set_epoch(0)
    found = list(carrow.batches(pipe))
    # Each stream is the next epoch, as each iteration is.
    assert found == expected[:3] and pipe.epoch == 1 and list(carrow.batches(pipe)) == expected[3:]


def test_extents_that_differ_from_batch_to_batch_have_one_type():
    pipe = pipec.load("pipeline p = range(9) |> map { ids: arange(i) } |> batch(3, pad: { ids: -1 })", epochs=1)
    assert pipe.schema["ids"].shape == (3, None)
    assert [[len(it["ids"]) for it in batch] for batch in carrow.batches(pipe)] == [[2] * 3, [5] * 3, [8] * 3]
    program = "pipeline p = range(4) |> map { x: stack([[i, k] for k in 0..(i // 2)]) } |> batch(2, pad: { x: 0 })"
    rows = [[it["x"] for it in batch] for batch in carrow.batches(pipec.load(program, epochs=1))]
    assert [[it["shape"] for it in batch] for batch in rows] == [[[1, 2]] * 2, [[2, 2]] * 2]
    assert [[it["data"] for it in batch] for batch in rows] == [[[0, 0], [1, 0]], [[2, 0, 2, 1], [3, 0, 3, 1]]]


def test_an_error_of_the_pipeline_ends_the_stream():
    pipe = pipec.load('pipeline p = files("sample:images?count=3") |> map { x: decode_png(bytes) |> resize(2, 2) } |> batch(1)')
    with pytest.raises(RuntimeError, match="PNG"):
        list(carrow.batches(pipe))


def test_what_is_no_table_is_said():
    batch = next(iter(pipec.load("pipeline p = range(6) |> map { i, x: f32(i) } |> batch(3)")))
    batch["mean"] = np.zeros(3)
    with pytest.raises(TypeError, match="field `mean` cannot be an Arrow array: it is .*ndarray"):
        batch.__arrow_c_array__()
    del batch["mean"]
    batch["x"] = next(iter(pipec.load("pipeline p = range(6) |> batch(2)")))["i"]
    with pytest.raises(ValueError, match="`x` has 2, and `i` 3"):
        batch.__arrow_c_array__()
    batch["x"] = batch["i"][0]
    with pytest.raises(TypeError, match="field `x`"):
        batch.__arrow_c_array__()
    ragged = next(iter(pipec.load(BATCHES)))["ids"]
    for offsets in ([0, 2, 1, 1, 1], [0, 1, 2, 3, 1 << 40], [-1, 0, 0, 0, 0]):
        np.asarray(ragged.offsets)[:] = offsets
        with pytest.raises(ValueError, match="offsets do not increase"):
            carrow.seen(ragged)


def test_texts_of_python_are_copied():
    batch = next(iter(pipec.load("pipeline p = range(3) |> map { i, name: text_of(i) } |> batch(3)")))
    batch["name"], batch["raw"], batch["tags"] = ["ž", "", "c"], [b"1", b"", b"\xff"], [["a"], [], ["b", "č"]]
    found = carrow.seen(batch)
    assert [found[it].tolist() for it in ("name", "raw", "tags")] == [batch[it] for it in ("name", "raw", "tags")]
    block = next(iter(pipec.load("pipeline p = range(6) |> map { name: text_of(i) } |> batch(3) |> flat_map [{ name }]", epochs=1)))
    assert carrow.seen(block)["name"].tolist() == [["0", "1", "2"], ["3", "4", "5"]]


def test_pyarrow_takes_it_as_it_lies():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is what reads it here")
    pipe = pipec.load(BATCHES, epochs=1)
    for batch, made in zip(pipe, pipe.replace().arrow()):
        whole = batch.to_arrow()
        for table in (whole, pyarrow.table(batch), made):
            table.validate(full=True)
            assert table.column("x").to_pylist() == batch["x"].tolist() and table.column("name").to_pylist() == batch["name"].tolist()
            assert table.column("ids").to_pylist() == batch["ids"].tolist() and table.column("even").to_pylist() == batch["even"].tolist()
        assert whole.schema == made.schema and made.schema == pipe.arrow().schema
        assert whole.column("x").buffers()[1].address == batch["x"].address
        assert pyarrow.table(batch).column("x").chunk(0).buffers()[1].address == batch["x"].address
        image = whole.column("image")
        assert image.type == pyarrow.fixed_shape_tensor(pyarrow.uint8(), [2, 2, 3])
        tensor = image.to_numpy_ndarray()
        assert tensor.tolist() == batch["image"].tolist() and tensor.ctypes.data == batch["image"].address
        assert whole.column("row").type == pyarrow.list_(pyarrow.field("item", pyarrow.uint16(), nullable=False), 3)
        assert whole.schema.field("half").metadata == {b"pipec:dtype": b"bf16"}
    reader = pyarrow.RecordBatchReader.from_stream(pipe)
    table = reader.read_all()
    assert table.num_rows == 10 and table.schema == pipe.arrow().schema and pyarrow.table(pipe).num_rows == 10
    blocks = pipec.load(BLOCKS, rows=4, epochs=1)
    assert pyarrow.table(blocks).column("ids").to_pylist() == [[k * i for k in range(i % 4)] for i in range(10)]


def test_an_exception_in_a_view_is_the_pipelines():
    pytest.importorskip("pyarrow", reason="pyarrow is what reads it here")
    pipe = pipec.load('pipeline p = files("sample:images?count=3") |> map { x: decode_png(bytes) |> resize(2, 2) } |> batch(1)')
    with pytest.raises(pipec.RecordError, match="PNG"):
        list(pipe.arrow())


def test_a_view_of_arrow_resumes():
    pytest.importorskip("pyarrow", reason="pyarrow is what reads it here")
    program = "pipeline p = range(100) |> shuffle |> batch(10)"
    whole = [it.column("i").to_pylist() for it in pipec.load(program, seed=2).arrow()]
    view = pipec.load(program, seed=2).arrow()
    begun = iter(view)
    first = [next(begun).column("i").to_pylist() for _ in range(3)]
    rest = pipec.load(program, seed=2).arrow()
    rest.load_state_dict(view.state_dict())
    assert len(rest) == 10 and first + [it.column("i").to_pylist() for it in rest] == whole


def test_polars_takes_batches_and_pipes():
    polars = pytest.importorskip("polars", reason="Polars is what reads it here")
    pipe = pipec.load(BATCHES, epochs=1)
    for batch in pipe:
        frame = polars.DataFrame(batch)
        assert frame.columns == list(batch) and frame["x"].to_list() == batch["x"].tolist()
        assert frame["name"].to_list() == batch["name"].tolist() and frame["ids"].to_list() == batch["ids"].tolist()
        assert frame["row"].to_list() == batch["row"].tolist()
        assert polars.Series(batch["x"]).to_numpy(allow_copy=False).ctypes.data == batch["x"].address
    frame = polars.DataFrame(pipe)
    assert frame.columns == list(pipe.schema) and frame.height == 10 and frame["i"].to_list() == list(range(10))
    assert frame["boxes"].to_list() == [[[i, k] for k in range(i % 3 + 1)] for i in range(10)]


def test_pandas_takes_them_through_arrow():
    pandas = pytest.importorskip("pandas", reason="pandas is what reads it here")
    pytest.importorskip("pyarrow", reason="pandas reads it with pyarrow")
    pipe = pipec.load("pipeline p = range(6) |> map { i, x: f32(i), name: text_of(i) } |> batch(3)", epochs=1)
    for batch in pipe:
        frame = batch.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        assert frame["x"].tolist() == batch["x"].tolist() and frame["name"].tolist() == batch["name"].tolist()
        assert frame["x"].array._pa_array.chunk(0).buffers()[1].address == batch["x"].address
        assert batch.to_arrow().to_pandas()["i"].tolist() == batch["i"].tolist()
