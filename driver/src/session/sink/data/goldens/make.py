"""Makes `tensors.safetensors`, with safetensors 0.8.0 and NumPy 2.4.6: `python make.py`.

Two records: a field of each dtype, named like it, whose bytes count on from element to element, rows of different
lengths, texts, and a name that JSON escapes.
"""

from pathlib import Path

import numpy as np
from safetensors import TensorSpec, serialize

SIZES = {
    "bool": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
}
tensors = {}
for dtype, size in SIZES.items():
    bytes_ = np.arange(2 * 6 * size, dtype=np.uint8)
    tensors[dtype] = (dtype, [2, 2, 3], bytes_ % 2 if dtype == "bool" else bytes_)
for name, array in {
    "boxes.values": np.arange(6, dtype=np.float32).reshape(3, 2),
    "boxes.offsets": np.array([0, 1, 3]),
    "name.values": np.frombuffer("žluť".encode(), np.uint8),
    "name.offsets": np.array([0, 6, 6]),
    "raw.values": np.array([255, 0, 7], np.uint8),
    "raw.offsets": np.array([0, 2, 3]),
    "a \"b\"\n/ž": np.array([5, 6], np.uint8),
}.items():
    tensors[name] = (array.dtype.name, list(array.shape), array)

specs = {
    name: TensorSpec(dtype=dtype, shape=shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
    for name, (dtype, shape, array) in tensors.items()
}
Path(__file__).with_name("tensors.safetensors").write_bytes(bytes(serialize(specs)))
