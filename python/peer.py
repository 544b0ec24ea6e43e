"""W1 through Python iteration, as a row of the comparison in `../shared/peers` (its README says how the others run):

    PYTHONPATH=../../shared/peers python peer.py --workload W1 --workers 2 --seconds 5

`FORM` is what batches become: `numpy` (the default), `own` or `torch`.
"""

import os
import pathlib
import sys

import common  # of ../shared/peers: the loop that measures all programs alike

# The sources beside this file lack the native part: what is installed is meant.
sys.path[:] = [it for it in sys.path if pathlib.Path(it or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import pipec  # noqa: E402

W1 = pathlib.Path(__file__).resolve().parent.parent / "benches" / "w1.pipe"
FORM = os.environ.get("FORM", "numpy")


def make(workload, data, workers):
    images = os.environ.get("IMAGES", str(W1.parents[2] / "shared" / "data" / "images" / "imagenet"))
    pipe = pipec.load(W1, params={"data": images}, workers=workers, keep=False)
    batches = {"own": lambda: pipe, "numpy": pipe.numpy, "torch": pipe.torch}[FORM]()
    return (it["image"] for it in batches), len, lambda it: it, 109586


if __name__ == "__main__":
    common.main("pipec-python", make, ["W1"])
