"""Writes what h5py 3.16.0 (HDF5 2.0.0, hdf5plugin 7.1.0) reads of the folder: `python compat.py FOLDER > compat.tsv`. A line for each
dataset of numbers: file, name, extents, dtype, and FNV-1a of 64 bits of its elements in little endian."""

import pathlib
import sys

import h5py
import hdf5plugin  # noqa: F401, it brings LZ4
import numpy as np


def fnv(data):
    hash = 0xCBF29CE484222325
    for byte in data:
        hash = (hash ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return hash


def walk(group, prefix=""):
    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            continue
        try:
            found = group[name]
            if isinstance(found, h5py.Group):
                yield from walk(found, f"{prefix}{name}/")
            elif isinstance(found, h5py.Dataset) and found.shape is not None and found.dtype.kind in "iufb":
                yield f"{prefix}{name}", found[()]
        except (KeyError, OSError, RuntimeError, TypeError):
            continue


for path in sorted(pathlib.Path(sys.argv[1]).glob("*")):
    try:
        file = h5py.File(path, locking=False)
    except OSError:
        continue
    for name, value in walk(file):
        value = np.asarray(value)
        little = value.astype(value.dtype.newbyteorder("<"))
        shape = ",".join(map(str, value.shape))
        print(path.name, name, shape, little.dtype.name, f"{fnv(little.tobytes()):016x}", sep="\t")
