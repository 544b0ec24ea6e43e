"""A loop of `docs/PYTHON.md` as one of the processes of a job; `test_loops.py` runs it.

    loops.py KIND STOP STATE OUT

KIND is `torch`, `jax`, or `DataLoader` with a number of worker processes; `+` behind it: one loader for all
epochs, `persistent`: its worker processes too. It ends after STOP batches, begins where the file STATE says,
and writes what it has seen into OUT.
"""

import json
import os
import sys
from pathlib import Path

from conftest import FIFTEEN

import pipec

EPOCHS = 3

kind, stop, state, out = sys.argv[1:]
name, *options = kind.split()
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))

pipe = pipec.load(FIFTEEN, seed=7, workers=1)
if state != "-":
    # Before anybody knows of ranks.
    pipe.load_state_dict(json.loads(Path(state).read_text()))

if name == "jax":
    import jax

    jax.process_index, jax.process_count = lambda: rank, lambda: world
else:
    import torch

    if world > 1:
        torch.distributed.init_process_group("gloo")


def loader():
    if name == "jax":
        return pipe.jax()
    if name == "torch":
        return pipe.torch()
    return torch.utils.data.DataLoader(
        pipe.torch(), batch_size=None, num_workers=int(options[0]), persistent_workers="persistent" in options)


def outcome():
    try:
        state = pipe.state_dict()
    except pipec.StateError as error:
        state = error.code
    # What is asked changes nothing.
    return {"state": state, "epoch": pipe.epoch, "batches": pipe.stats()["batches"], "len": len(pipe)}


whole, seen, ends = loader(), [], []
for epoch in range(pipe.epoch, EPOCHS):
    for batch in whole if "+" in options else loader():
        seen.append([epoch, batch["i"].tolist(), batch["x"].tolist()])
        if len(seen) == int(stop):
            break
    if len(seen) == int(stop):
        break
    ends.append(pipe.epoch)

Path(out, f"{rank}.json").write_text(json.dumps({"seen": seen, "ends": ends, **outcome()}))
