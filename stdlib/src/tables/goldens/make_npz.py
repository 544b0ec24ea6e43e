"""Makes `stored.npz` and `deflated.npz` beside it: `python make_npz.py`, with NumPy 2.4.6. What they hold is written in the
tests."""

import numpy as np

N = 23
n = np.arange(N)
arrays = {
    "n": n * 3 - 5,
    "grid": np.arange(N * 6).reshape(N, 2, 3).astype("u1"),
    "ok": n % 2 == 0,
    "half": (n / 4).astype("f2"),
    "big": (n * 1000).astype(">i4"),
    "zero": np.array(3.5),
    "object": np.array([None] * N),
    "other": np.arange(4.0),
}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)
