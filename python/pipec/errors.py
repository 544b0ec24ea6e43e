"""Exceptions. Every exception of this package is a `PipecError` and has a `code`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Span(NamedTuple):
    """A range in the text of a program. Lines and columns start at 1; columns count characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


class Diagnostic(NamedTuple):
    """A message of the compiler about one place in a program."""

    code: str
    """`PC` and four digits: `pipec explain PC0123` explains it."""
    name: str
    """The name of the code."""
    is_error: bool
    """False for a warning."""
    message: str
    help: str | None
    """How to fix it, if known."""
    span: Span | None
    """The place in the program; `None` if the message is about none, such as a parameter that is not set."""
    rendered: str
    """The complete message, with the annotated source text."""


class PipecWarning(UserWarning):
    """A warning about a program: something that is allowed, but probably not intended."""


class PipecError(Exception):
    """Base class of all exceptions of `pipec`."""

    code: str = ""
    """The error code, such as `PC0123`, `image-truncated` or `state`."""

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message)
        for name, fact in facts.items():
            setattr(self, name, fact)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[PipecError], args: tuple[Any, ...], facts: dict[str, Any]) -> PipecError:
    made = kind(*args)
    made.__dict__.update(facts)
    return made


class CompileError(PipecError):
    """A program has errors. The message shows all of them, with the annotated source text."""

    diagnostics: list[Diagnostic] = []
    """Errors and warnings, in the order of the text."""
    span: Span | None = None
    """The place of the first error."""

    def __init__(self, message: str = "", **facts: Any) -> None:
        told = [_diagnostic(it) for it in facts.pop("diagnostics", [])]
        super().__init__(message, **facts)
        if told:
            self.diagnostics = told
            first = next((it for it in told if it.is_error), told[0])
            self.code, self.span = first.code, first.span

    def __str__(self) -> str:
        return "\n" + super().__str__()


def _diagnostic(facts: Any) -> Diagnostic:
    if isinstance(facts, Diagnostic):
        return facts
    span = facts.pop("span", None)
    return Diagnostic(span=None if span is None else Span(*span), **facts)


class RunError(PipecError):
    """A pipeline ended early."""

    place: str = ""
    """Where the step is written, such as `train.pipe:6:8`; empty if the error is not about a step."""


class RecordError(RunError):
    """A record failed, and the program does not handle it; `code` is the kind of fault."""

    record: str = ""
    """The record: a file, or a line of a file."""
    file: str = ""
    """The file that could not be used, if it is another one, such as the mask of an image."""


class BudgetError(RunError):
    """More records failed than the program allows."""


class DataError(RunError):
    """The data do not fit the program as a whole."""


class InputError(RunError, OSError):
    """A file or folder cannot be read or written."""

    path: str = ""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class StateError(PipecError):
    """A checkpoint is damaged, or belongs to another program, seed or input."""


class ForkError(PipecError, RuntimeError):
    """A running pipeline is used in a forked child process."""


class IterationError(PipecError, RuntimeError):
    """An iterator is used after another iterator of the same pipeline has started."""


class LengthError(PipecError, TypeError):
    """The number of batches is only known by reading the data."""


class ArgumentError(PipecError, ValueError):
    """An argument has an invalid value."""


class FieldError(PipecError, KeyError):
    """A batch has no field of this name."""

    code = "PC0706"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
