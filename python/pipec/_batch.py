"""A batch: its fields by name."""

from __future__ import annotations

import sys
from typing import Any

from . import _pipec
from .errors import FieldError


class Batch(dict[str, Any]):
    """The fields of a batch by name: a dict whose `KeyError` lists the fields."""

    __slots__ = ()

    def to_arrow(self) -> Any:
        """The fields as a `pyarrow.RecordBatch`, on the same memory where Arrow has such a layout."""
        import pyarrow

        return pyarrow.record_batch(Capsules(*_pipec.arrow_batch(self)))

    def __arrow_c_schema__(self) -> Any:
        return self.__arrow_c_array__()[0]

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return _pipec.arrow_batch(self)

    def __missing__(self, name: object) -> Any:
        raise FieldError(f"the batch has no field {_shown(name)}: {_known(name, list(self))}")


class Capsules:
    """A schema and an array for a library that reads Arrow's C interface, which is handed nothing else."""

    def __init__(self, schema: Any, array: Any) -> None:
        self._schema, self._array = schema, array

    def __arrow_c_schema__(self) -> Any:
        return self._schema

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._schema, self._array


def _shown(name: object) -> str:
    return f"`{name}`" if isinstance(name, str) else repr(name)


def _known(name: object, fields: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), fields, 1) if isinstance(name, str) else []
    meant = f"did you mean `{near[0]}`? " if near else ""
    return f"{meant}The fields are " + ", ".join(f"`{it}`" for it in fields)


_KNOWN_TO: set[str] = set()
"""Frameworks in which `Batch` is registered as a dict."""


def make_known() -> None:
    """Registers `Batch` as a dict in the frameworks that are loaded: they compare the exact class."""
    if "jax" in sys.modules and "jax" not in _KNOWN_TO:
        tree_util = getattr(sys.modules["jax"], "tree_util", None)
        if tree_util is not None:
            tree_util.register_pytree_with_keys(Batch, lambda it: _parts(it, tree_util.DictKey), _again)
        _KNOWN_TO.add("jax")
    if "torch.utils._pytree" in sys.modules and "torch" not in _KNOWN_TO:
        register = getattr(sys.modules["torch.utils._pytree"], "register_pytree_node", None)
        if register is not None:
            register(Batch, lambda it: (list(it.values()), list(it)), lambda values, names: _again(names, values))
        _KNOWN_TO.add("torch")


def _parts(batch: Batch, key: Any) -> tuple[list[tuple[Any, Any]], tuple[str, ...]]:
    names = tuple(sorted(batch))
    return [(key(it), batch[it]) for it in names], names


def _again(names: Any, values: Any) -> Batch:
    return Batch(zip(names, values))
