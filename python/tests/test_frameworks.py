"""JAX and TensorFlow. Skipped where they are absent."""

import pytest
from conftest import NUMBERS, values

import pipec


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    whole = values(pipec.load(NUMBERS, seed=7))
    pipe = pipec.load(NUMBERS, seed=7)
    batches = list(pipe.jax())
    assert all(isinstance(it["x"], jax.Array) for it in batches) and values(batches) == whole
    large = pipec.load("pipeline p = range(100_000) |> map { x: f32(i) } |> batch(50_000)")
    for batch in large:
        assert jax.dlpack.from_dlpack(batch["x"]).unsafe_buffer_pointer() == batch["x"].address
    mesh = jax.sharding.Mesh(jax.devices(), ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    sharded = next(iter(pipec.load(NUMBERS, seed=7).jax(sharding=sharding)))
    assert sharded["i"].sharding == sharding and sharded["i"].tolist() == whole[0]


def test_tensorflow():
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    dataset = pipec.load(NUMBERS, seed=7).tf()
    assert dataset.element_spec["x"].shape == (10,)
    found = [it["i"].numpy().tolist() for it in dataset]
    assert found == values(pipec.load(NUMBERS, seed=7))
    assert [it["i"].numpy().tolist() for it in dataset] == values(pipec.load(NUMBERS, seed=7, epoch=1))
    texts = pipec.load('pipeline p = range(5) |> map { name: text_of(i), i }', rows=3).tf()
    assert [it["name"].numpy().tolist() for it in texts] == [[b"0", b"1", b"2"], [b"3", b"4"]]
    ragged = pipec.load('pipeline p = files("sample:images?count=10") |> map { row: reshape(decode_jpeg(bytes), [-1]) }', rows=4).tf()
    assert isinstance(next(iter(ragged))["row"], tf.RaggedTensor)
    batches = pipec.load("pipeline p = range(9) |> map { ids: arange(i % 4) } |> batch(3, ragged: [ids])").tf()
    assert [it["ids"].to_list() for it in batches][1] == [[0, 1, 2], [], [0]]


def test_resize_is_pillows():
    # Pain 14: what is trained on is what Pillow and torchvision would give, to the bit.
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    import numpy as np

    pipe = pipec.load(
        'pipeline p = files("sample:images?count=10") |> with { image: decode_jpeg(bytes) } |> map { image, small: resize(image, 64, 48) }')
    for block in pipe:
        for whole, small in zip(block["image"], np.asarray(block["small"])):
            expected = np.asarray(image.fromarray(whole).resize((48, 64), image.Resampling.BILINEAR))
            assert (small == expected).all()
