"""Batches for TensorFlow."""

from __future__ import annotations

from typing import Any, Iterator

import tensorflow as tf

from ._array import Array
from ._columns import Ragged
from ._pipe import Field, Pipe, RaggedField

_DTYPES = {
    "bool": tf.bool, "u8": tf.uint8, "u16": tf.uint16, "u32": tf.uint32, "u64": tf.uint64, "i8": tf.int8,
    "i16": tf.int16, "i32": tf.int32, "i64": tf.int64, "f16": tf.float16, "bf16": tf.bfloat16, "f32": tf.float32,
    "f64": tf.float64, "str": tf.string, "bytes": tf.string,
}


def dataset(pipe: Pipe) -> tf.data.Dataset:
    """Returns a dataset; each iteration over it yields the batches of the pipeline's next epoch. TensorFlow copies
    each batch once."""
    blocks = not pipe.batched
    signature = {name: _spec(field, blocks) for name, field in pipe.schema.items()}

    def batches() -> Iterator[dict[str, Any]]:
        for batch in pipe:
            yield {name: _value(it) for name, it in batch.items()}

    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def _spec(field: Field, blocks: bool) -> Any:
    dtype = _DTYPES[field.dtype]
    if isinstance(field, RaggedField):
        return tf.RaggedTensorSpec(field.shape, dtype, ragged_rank=1, row_splits_dtype=tf.int64)
    if blocks and dtype == tf.string and field.shape:
        raise TypeError("string columns of unbatched batches are not supported in tf.data: drop them with `map`")
    if blocks and None in field.shape:
        if len(field.shape) != 1:
            raise TypeError("a field with several axes of unknown length is not supported in tf.data: pad or resize it in the pipeline")
        return tf.RaggedTensorSpec((None, None), dtype, ragged_rank=1, row_splits_dtype=tf.int64)
    return tf.TensorSpec(((None,) if blocks else ()) + field.shape, dtype)


def _value(value: Any) -> Any:
    if isinstance(value, Ragged):
        return tf.RaggedTensor.from_row_splits(value.values.__array__(), value.offsets.__array__(), validate=False)
    if isinstance(value, Array):
        return value.__array__()
    return value if isinstance(value, (str, bytes)) else value.tolist()
