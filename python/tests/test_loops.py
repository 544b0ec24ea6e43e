"""The loops of the docs, epoch after epoch, with and without a `DataLoader`, alone and as one of two ranks.

Where PyTorch or JAX are not installed, what stands for them is in `fake/`.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import FIFTEEN, run

import pipec

EPOCHS = 3

HERE = pathlib.Path(__file__).parent
REAL = {it: importlib.util.find_spec(it) is not None for it in ("torch", "jax")}
LOOPS = ["torch", "torch +", "DataLoader 0", "DataLoader 0 +", "jax", "jax +"]
DEALT = ["DataLoader 2", "DataLoader 2 +", "DataLoader 2 + persistent", "DataLoader 4 +", "DataLoader 4 + persistent"]


def job(world, kind, out, stop=-1, state=None):
    """What each rank has seen."""
    out.mkdir()
    place = "-"
    if state is not None:
        place = out / "state"
        place.write_text(json.dumps(state))
    module = "jax" if kind.startswith("jax") else "torch"
    arguments = [str(HERE / "loops.py"), kind, str(stop), str(place), str(out)]
    paths = [] if REAL[module] else [str(HERE / "fake")]
    several = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
    if module == "torch" and REAL[module] and world > 1:
        ranks = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
        runs = [subprocess.Popen([sys.executable, *ranks, *arguments], env=several, stderr=subprocess.PIPE)]
    else:
        told = lambda rank: {**several, "RANK": str(rank), "WORLD_SIZE": str(world)} if world > 1 else several
        runs = [
            subprocess.Popen([sys.executable, *arguments], env=told(rank), stderr=subprocess.PIPE) for rank in range(world)]
    for it in runs:
        wrong = it.communicate(timeout=120)[1]
        assert it.returncode == 0, wrong.decode()
    return [json.loads((out / f"{rank}.json").read_text()) for rank in range(world)]


def stream(world):
    """What the ranks see together, of one process: epoch by epoch, each a batch in turn."""
    epochs = [pipec.load(FIFTEEN, seed=7, epoch=it) for it in range(EPOCHS)]
    whole = [[[n, it["i"].tolist(), it["x"].tolist()] for it in epoch] for n, epoch in enumerate(epochs)]
    return [it for epoch in whole for it in epoch[: len(epoch) // world * world]]


def dealt(jobs):
    return [it for turn in zip(*(job["seen"] for job in jobs), strict=True) for it in turn]


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_is_saved_in_the_middle_and_goes_on(tmp_path, kind, world):
    # Issue 19, 1: each epoch is another one, on the caller's pipeline, which says where it stands.
    whole, each = stream(world), 15 // world
    stop = each + 3
    first = job(world, kind, tmp_path / "first", stop=stop)
    assert dealt(first) == whole[: stop * world]
    for it in first:
        # Small batches come several at a time: some more are made.
        assert (it["epoch"], it["len"], it["ends"]) == (1, each, [1]) and it["batches"] >= stop
        assert it["state"]["position"] == first[0]["state"]["position"] and it["state"]["epoch"] == 1
    rest = job(world, kind, tmp_path / "rest", state=first[-1]["state"])
    assert dealt(rest) == whole[stop * world :]
    assert [it["ends"] for it in rest] == [[2, 3]] * world
    # With another number of ranks: what was seen is not seen again.
    other = job(3 - world, kind, tmp_path / "other", state=first[0]["state"])
    again = [it for it in dealt(other) if it[0] == 1]
    left = [it for it in stream(1) if it[0] == 1][3 * world :]
    assert again == left[: len(left) // (3 - world) * (3 - world)]


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("kind", DEALT)
def test_worker_processes_give_all_batches_in_order(tmp_path, kind, world):
    # Issue 19, 2: of 15 batches two processes gave 14, four gave 12. And a new `DataLoader` for each epoch
    # was one of epoch 0 again.
    found = job(world, kind, tmp_path / "whole")
    assert dealt(found) == stream(world)
    # Who makes no batch does not know which was taken last, and says so; the epoch it knows.
    assert [(it["state"], it["ends"], it["epoch"]) for it in found] == [("PC0705", [1, 2, 3], 3)] * world


@pytest.mark.parametrize("kind", DEALT)
def test_worker_processes_go_on_from_where_a_loop_without_them_stood(tmp_path, kind):
    first = job(1, "torch", tmp_path / "first", stop=19)
    assert dealt(job(1, kind, tmp_path / "rest", state=first[0]["state"])) == stream(1)[19:]


@pytest.mark.parametrize("kind", ["DataLoader 2 +", "DataLoader 2 + persistent", "DataLoader 4"])
def test_a_loop_over_worker_processes_that_is_left_half_way_is_over(tmp_path, kind):
    program = f"""
        import sys
        sys.argv = ["loops.py", {kind!r}, "5", "-", {str(tmp_path)!r}]
        from loops import *
        assert pipe.epoch == 0, pipe.epoch
        again = whole if "+" in options else loader()
        rest = [it["i"].tolist() for it in again]
        assert rest == [it["i"].tolist() for it in pipec.load(FIFTEEN, seed=7, epoch=1)]
        assert pipe.epoch == 2
        # The process itself goes on behind them, and they behind it, where nothing runs that cannot be copied.
        pipe.set_epoch(7)
        rest = [it["i"].tolist() for it in (whole if "+" in options else loader())]
        assert rest == [it["i"].tolist() for it in pipec.load(FIFTEEN, seed=7, epoch=7)]
        rest = [it["i"].tolist() for it in pipe.torch()]
        assert rest == [it["i"].tolist() for it in pipec.load(FIFTEEN, seed=7, epoch=8)]
        assert pipe.state_dict()["epoch"] == 9
    """
    paths = [str(HERE), *([] if REAL["torch"] else [str(HERE / "fake")])]
    run(program, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def test_a_state_follows_what_was_said_last():
    pipe = pipec.load(FIFTEEN, seed=7)
    assert len(list(pipe)) == 15
    pipe.set_epoch(5)
    going = pipec.load(FIFTEEN, seed=7)
    going.load_state_dict(pipe.state_dict())
    expected = [it["i"].tolist() for it in pipec.load(FIFTEEN, seed=7, epoch=5)]
    assert going.epoch == 5 and [it["i"].tolist() for it in going] == expected
    assert [it["i"].tolist() for it in pipe] == expected
