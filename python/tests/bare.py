"""The package in an environment that has nothing else, not even NumPy; it needs no test runner."""

import sys

import pipec

missing = [name for name in ("numpy", "torch", "jax", "tensorflow", "pyarrow", "polars", "pandas", "datasets") if name in sys.modules]
assert not missing, f"importing pipec has imported {missing}"

pipe = pipec.load("pipeline p = range(10) |> map { x: f32(i) * 0.5, i } |> batch(4)")
batches = list(pipe)
assert len(pipe) == len(batches) == 2
assert memoryview(batches[0]["x"]).tolist() == [0.0, 0.5, 1.0, 1.5]
assert batches[1]["i"].tolist() == [4, 5, 6, 7]

# A first look needs no NumPy; what is NumPy's says so.
assert repr(batches[0]["x"]) == "Array([0.0, 0.5, 1.0, 1.5], f32[4])"
assert not hasattr(batches[0]["x"], "mean")

try:
    list(pipe.numpy())
except ModuleNotFoundError as error:
    assert error.name == "numpy", error
except ImportError:
    pass
else:
    sys.exit("without NumPy there are no arrays of NumPy")

text = pipec.load('pipeline p = range(3) |> map { name: text_of(i) }')
assert next(iter(text))["name"].tolist() == ["0", "1", "2"]
# What Arrow reads needs no package either.
assert len(batches[0].__arrow_c_array__()) == 2 and pipe.__arrow_c_stream__() is not None
print("bare: 9 checks passed")
