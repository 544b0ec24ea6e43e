"""PyTorch: tensors on the pipeline's memory, worker processes, ranks. Skipped where it is absent."""

import os
import socket

import numpy as np
import pytest
from conftest import IMAGES, NUMBERS, values

import pipec

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def test_tensors_lie_where_the_pipeline_has_written_them():
    # Pain 39, with a small batch in the middle of a buffer too.
    addresses = [it["x"].address for it in _held(pipec.load(NUMBERS, seed=7))]
    assert any(it % 64 for it in addresses)
    pipe = pipec.load(NUMBERS, seed=7)
    for batch in pipe:
        loader = pipe.torch()
        tensor = loader._tensor(batch["x"])
        assert tensor.data_ptr() == batch["x"].address and tensor.tolist() == batch["x"].tolist()
        other = torch.from_dlpack(batch["x"])
        assert other.data_ptr() == batch["x"].address
        tensor.add_(1.0)
        assert other[0] == batch["x"][0] == tensor[0]


def _held(pipe):
    return list(pipe)


@pytest.mark.parametrize("dtype", ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_every_dtype(dtype):
    value = "i > 1" if dtype == "bool" else f"{dtype}(f32(i))"
    batch = next(iter(pipec.load(f"pipeline p = range(4) |> map {{ x: {value} }} |> batch(4)").torch()))
    assert batch["x"].tolist() == ([False, False, True, True] if dtype == "bool" else [0, 1, 2, 3])
    names = {"bool": "bool", "u8": "uint8", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}
    assert str(batch["x"].dtype) == "torch." + names.get(dtype, dtype.replace("i", "int"))


def test_the_loader_is_shaped_like_a_dataloader():
    loader = pipec.load(NUMBERS, seed=7).torch(pin_memory=True, device="cpu")
    assert isinstance(loader, torch.utils.data.IterableDataset) and len(loader) == 100 and loader.dataset is loader
    epochs = []
    for epoch in range(2):
        loader.set_epoch(epoch)
        epochs.append(values(loader))
    assert epochs == [values(it) for it in [pipec.load(NUMBERS, seed=7, epoch=n) for n in range(2)]]
    batches = iter(loader)
    for _ in range(7):
        next(batches)
    state = loader.state_dict()
    rest = values(batches)
    other = pipec.load(NUMBERS, seed=7).torch()
    other.load_state_dict(state)
    assert values(other) == rest


def test_texts_and_ragged_fields():
    pipe = pipec.load('pipeline p = files("sample:images?count=10") |> map { path, image: decode_jpeg(bytes) }', rows=4)
    block = next(iter(pipe.torch()))
    assert isinstance(block["image"].values, torch.Tensor) and len(block["path"].tolist()) == 4
    offsets = block["image"].offsets
    assert block["image"].values.numel() == offsets[-1]


CAPTIONS = 'pipeline p = range(21) |> shuffle |> map { i, name: "žluť " + text_of(i), raw: encode_png(plasma(i, 3, 3)) } |> batch(4, tail: keep)'


def test_texts_of_a_batch_are_what_default_collate_gives():
    collate = torch.utils.data.default_collate
    for batch in pipec.load(CAPTIONS, seed=7).torch():
        records = [{"i": i, "name": f"žluť {i}"} for i in batch["i"].tolist()]
        expected = collate(records)
        assert type(batch["name"]) is list and batch["name"] == expected["name"] and batch["i"].equal(expected["i"])
        assert all(type(it) is bytes and it.startswith(b"\x89PNG") for it in batch["raw"])


RAGGED = "pipeline p = range(21) |> map { ids: arange(i % 4) * i, i } |> batch(4, tail: keep, ragged: [ids])"


def test_ragged_fields_are_jagged_tensors():
    for batch in pipec.load(RAGGED).torch():
        expected = [torch.arange(i % 4) * i for i in batch["i"].tolist()]
        ids = batch["ids"]
        assert ids.values.equal(torch.cat(expected)) and all(a.equal(b) for a, b in zip(ids, expected))
        assert ids.lengths.tolist() == [len(it) for it in expected]
        nested = ids.torch()
        assert nested.layout is torch.jagged and nested.values().data_ptr() == ids.values.data_ptr()
        assert all(a.equal(b) for a, b in zip(nested.unbind(), expected))
    assert next(iter(pipec.load(RAGGED)))["ids"].torch().offsets().tolist() == [0, 0, 1, 3, 6]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_texts_of_a_batch_come_from_worker_processes(context):
    loader = torch.utils.data.DataLoader(
        pipec.load(CAPTIONS, seed=7, workers=1).torch(), batch_size=None, num_workers=2, multiprocessing_context=context)
    alone = [(it["i"].tolist(), it["name"], it["raw"]) for it in pipec.load(CAPTIONS, seed=7).torch()]
    assert [(it["i"].tolist(), it["name"], it["raw"]) for it in loader] == alone


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_worker_processes_deal_the_batches_among_them(context):
    expected = [values(pipec.load(NUMBERS, seed=7, epoch=n)) for n in range(2)]
    loader = torch.utils.data.DataLoader(
        pipec.load(NUMBERS, seed=7, workers=1).torch(), batch_size=None, num_workers=2, multiprocessing_context=context)
    # Both processes die after an epoch; the next ones begin the next epoch all the same.
    assert [values(loader) for _ in range(2)] == expected


def test_worker_processes_go_on_from_a_state():
    pipe = pipec.load(NUMBERS, seed=7)
    batches = iter(pipe)
    for _ in range(13):
        next(batches)
    loader = pipec.load(NUMBERS, seed=7, workers=1).torch()
    loader.load_state_dict(pipe.state_dict())
    dealt = torch.utils.data.DataLoader(loader, batch_size=None, num_workers=2, multiprocessing_context="fork")
    rest = values(batches)
    # Of 87 batches two processes give 44 and 43.
    assert values(dealt) == rest and values(dealt) == values(pipec.load(NUMBERS, seed=7, epoch=1))


def test_worker_processes_that_persist():
    loader = torch.utils.data.DataLoader(
        pipec.load(NUMBERS, seed=7, workers=1).torch(), batch_size=None, num_workers=2, persistent_workers=True)
    assert [values(loader) for _ in range(2)] == [values(pipec.load(NUMBERS, seed=7, epoch=n)) for n in range(2)]


def test_worker_processes_of_a_pipeline_that_runs_are_refused():
    # Pain 10: an error that says what to do, and no hang.
    pipe = pipec.load(NUMBERS, seed=7)
    next(iter(pipe))
    loader = torch.utils.data.DataLoader(
        pipe.torch(), batch_size=None, num_workers=1, multiprocessing_context="fork", timeout=30)
    with pytest.raises(Exception, match="PC0701 used-after-fork"):
        list(loader)


def test_the_state_within_worker_processes():
    sdl = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    make = lambda: sdl.StatefulDataLoader(pipec.load(NUMBERS, seed=7, workers=1).torch(), batch_size=None, num_workers=2)
    loader = make()
    batches = iter(loader)
    seen = [next(batches)["i"].tolist() for _ in range(31)]
    state = loader.state_dict()
    rest = values(batches)
    assert seen + rest == values(pipec.load(NUMBERS, seed=7))
    other = make()
    other.load_state_dict(state)
    assert values(other) == rest


def _rank(rank, world, port, program, steps, state, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
    # Nobody says which rank it is.
    loader = pipec.load(program, seed=7, workers=1).torch()
    if state is not None:
        loader.load_state_dict(state)
    seen = []
    for batch in loader:
        seen.append(batch["i"].tolist())
        # As a training step does: all ranks meet, and one that has a step more would wait for ever.
        total = torch.tensor([len(seen)])
        torch.distributed.all_reduce(total)
        assert total == world * len(seen)
        if len(seen) == steps:
            break
    torch.save({"seen": seen, "state": loader.state_dict()}, f"{out}/{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def _ranks(world, program, steps, state, out):
    out.mkdir()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    torch.multiprocessing.spawn(_rank, (world, port, program, steps, state, str(out)), nprocs=world)
    return [torch.load(out / f"{rank}.pt") for rank in range(world)]


def test_ranks_of_torch_distributed_also_after_a_resume_with_four(tmp_path):
    # Pain 7, and issue 6: real processes that meet at each step.
    program = NUMBERS.replace("range(1000)", "range(1070)")
    whole = values(pipec.load(program, seed=7))
    two = _ranks(2, program, 20, None, tmp_path / "two")
    assert [len(it["seen"]) for it in two] == [20, 20]
    first = [it for pair in zip(*(it["seen"] for it in two)) for it in pair]
    assert first == whole[:40]
    assert two[0]["state"]["position"] == two[1]["state"]["position"]
    four = _ranks(4, program, -1, two[1]["state"], tmp_path / "four")
    assert [len(it["seen"]) for it in four] == [16] * 4
    rest = [it for all_ranks in zip(*(it["seen"] for it in four)) for it in all_ranks]
    # 67 batches were left: 16 rounds of four. No record twice, and none missing before the last round.
    assert first + rest == whole[:104]
    assert len({i for it in first + rest for i in it}) == 1040


def test_images(tmp_path):
    batch = next(iter(pipec.load(IMAGES, seed=1).torch()))
    assert batch["image"].shape == (4, 32, 32, 3) and batch["image"].dtype == torch.float32
    assert batch["label"].dtype == torch.int64 and np.isfinite(batch["image"].numpy()).all()


def test_losses_take_labels_as_they_stand():
    for batch in pipec.load(IMAGES, seed=1).torch():
        logits = torch.zeros(len(batch["label"]), 10, requires_grad=True)
        loss = torch.nn.functional.cross_entropy(logits, batch["label"])
        loss.backward()
        assert torch.isclose(loss, torch.tensor(10.0).log())
