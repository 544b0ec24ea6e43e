"""Makes `rows.h5` and `latest.h5` beside it: `python make_hdf5.py`, with h5py 3.16.0 (HDF5 2.0.0) and hdf5plugin 7.1.0. What they
hold is written in the tests."""

import h5py
import hdf5plugin
import numpy as np

N = 23
n = np.arange(N)
with h5py.File("rows.h5", "w") as file:
    deflate = {"compression": "gzip", "shuffle": True, "fletcher32": True}
    file.create_dataset("n", data=n * 3 - 5, chunks=(5,), **deflate)
    file["x"] = (n / 2).astype("<f4")
    file.create_dataset(
        "grid", data=np.arange(N * 6).reshape(N, 2, 3).astype("u1"), chunks=(4, 2, 2), compression="gzip"
    )
    file["name"] = [f"n{i}é" for i in n]
    file["code"] = np.array([b"c" * (i % 4) for i in n], "S4")
    file["ok"] = n % 2 == 0
    file["half"] = (n / 4).astype("f2")
    file["big"] = (n * 1000).astype(">i4")
    file["kind"] = np.array(n % 3, h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "u1"))
    pairs = file.create_dataset("pairs", (N,), np.dtype((">f4", (2,))))
    pairs[...] = [[i, -i] for i in n]
    blob = file.create_dataset("blob", (N,), h5py.vlen_dtype("u1"), chunks=(4,))
    xs = file.create_dataset("xs", (N,), h5py.vlen_dtype(">i2"))
    for i in n:
        blob[i] = np.full(i % 3, i, "u1")
        xs[i] = np.arange(i % 4, dtype=">i2") - 1
    file["void"] = np.array([bytes([i, 0, 7]) for i in n], "V3")
    file.create_dataset("packed", data=(n % 5).astype("u2"), chunks=(16,), **hdf5plugin.LZ4(nbytes=8))
    fill = file.create_dataset("fill", (N,), "i2", chunks=(4,), fillvalue=-1)
    fill[6:9] = [6, 7, 8]
    brain = h5py.h5t.IEEE_F16LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_ebias(127)
    brain = h5py.h5d.create(file.id, b"brain", brain, h5py.h5s.create_simple((N,)))
    bits = (n.astype("f4").view("u4") >> 16).astype("u2")
    brain.write(h5py.h5s.ALL, h5py.h5s.ALL, bits, brain.get_type())
    group = file.create_group("more")
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_layout(h5py.h5d.COMPACT)
    compact = h5py.h5d.create(group.id, b"y", h5py.h5t.IEEE_F64BE, h5py.h5s.create_simple((N,)), layout)
    compact.write(h5py.h5s.ALL, h5py.h5s.ALL, n / 8)
    group["again"] = h5py.SoftLink("/x")
    # What is left out: for its length, its axes, or its type.
    file["mean"] = [0.5, 0.25]
    file["scalar"] = 7
    file["both"] = np.array([(i, i / 2) for i in n], [("a", "i4"), ("b", "f8")])
    file["words"] = np.full((N, 2), b"w", "S2")
    file["seven"] = h5py.Empty("f4")
    zstd = file.create_dataset("zstd", (N,), "i4", chunks=(23,), **hdf5plugin.Zstd())
    zstd[...] = n

# Each index of chunks that there is since HDF5 1.10, and groups of then.
with h5py.File("latest.h5", "w", libver="latest") as file:
    file.create_dataset("single", data=n, chunks=(N,), compression="gzip")
    fixed = {"chunks": (2,), "dtype": "i4"}
    file.create_dataset("array", data=n, compression="gzip", **fixed)
    file.create_dataset("extensible", data=n, maxshape=(None,), **fixed)
    tree = np.stack([n, n * n], axis=1).astype("i4")
    file.create_dataset("tree", data=tree, maxshape=(None, None), chunks=(3, 1))
    implicit = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    implicit.set_chunk((2,))
    implicit.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    implicit = h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((N,)), implicit)
    implicit.write(h5py.h5s.ALL, h5py.h5s.ALL, n.astype("i4"))
    committed = h5py.h5t.STD_I16LE.copy()
    committed.commit(file.id, b"short")
    named = h5py.h5d.create(file.id, b"named", committed, h5py.h5s.create_simple((N,)))
    named.write(h5py.h5s.ALL, h5py.h5s.ALL, n.astype("i2"))
    for i in n:
        file[f"many/{i}/z"] = i
