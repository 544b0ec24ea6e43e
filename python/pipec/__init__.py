"""Compiled input pipelines for machine learning.

    import pipec

    pipe = pipec.load("train.pipe", params={"data": "/data/imagenet"})
    for batch in pipe.torch():          # or `for batch in pipe`, `pipe.numpy()`, `pipe.jax()`
        step(batch["image"], batch["label"])

A pipeline runs on its own threads, without the GIL. Batches arrive without a copy, and
`pipe.state_dict()` is a checkpoint from which a run resumes at the exact batch.
"""

from collections.abc import Sequence as _Sequence

from ._array import Array
from ._batch import Batch
from ._columns import Ragged
from ._hf import hf
from ._pipe import Explanation, Field, Pipe, RaggedField, load
from ._pipec import Strings, __version__
from .errors import (
    ArgumentError,
    BudgetError,
    CompileError,
    DataError,
    Diagnostic,
    FieldError,
    ForkError,
    InputError,
    IterationError,
    LengthError,
    PipecError,
    PipecWarning,
    RecordError,
    RunError,
    Span,
    StateError,
)

_Sequence.register(Strings)

__all__ = [
    "ArgumentError",
    "Array",
    "Batch",
    "BudgetError",
    "CompileError",
    "DataError",
    "Diagnostic",
    "Explanation",
    "Field",
    "FieldError",
    "ForkError",
    "InputError",
    "IterationError",
    "LengthError",
    "Pipe",
    "PipecError",
    "PipecWarning",
    "Ragged",
    "RaggedField",
    "RecordError",
    "RunError",
    "Span",
    "StateError",
    "Strings",
    "__version__",
    "hf",
    "load",
]
