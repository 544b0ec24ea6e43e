"""What can go wrong. Every exception of this package is a `PipecError` and has a `code`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Span(NamedTuple):
    """A stretch of a program's text; lines and columns are counted from 1, columns in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


class Diagnostic(NamedTuple):
    """What the compiler says about one place of a program."""

    code: str
    """`PC` and four digits: `pipec explain PC0123` tells its long story."""
    name: str
    """The same in words."""
    is_error: bool
    """Else it is a warning."""
    message: str
    help: str | None
    """What to do, where something can be said."""
    span: Span | None
    """Where; none where it is about no text, such as a parameter that is not set."""
    rendered: str
    """All of it, drawn into the text."""


class PipecWarning(UserWarning):
    """What is allowed in a program, and probably not meant."""


class PipecError(Exception):
    """What goes wrong in `pipec`."""

    code: str = ""
    """Which kind of mistake it is, such as `PC0123`, `image-truncated`, `state`."""

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
    """A program has mistakes. The text of the exception is all of them, drawn into the program."""

    diagnostics: list[Diagnostic] = []
    """Mistakes and warnings, in the order of the text."""
    span: Span | None = None
    """Where the first mistake is."""

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
    """Where the step is written that it is about, such as `train.pipe:6:8`; empty where there is none."""


class RecordError(RunError):
    """A record failed, and the program has no other use for it; `code` says how."""

    record: str = ""
    """Which one: the file, or the line of it."""
    file: str = ""
    """The file that could not be used, where that is another one: a mask beside its picture."""


class BudgetError(RunError):
    """More records failed than the program allows."""


class DataError(RunError):
    """The data do not fit the program, beyond one record."""


class InputError(RunError, OSError):
    """A file or folder cannot be read or written."""

    path: str = ""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class StateError(PipecError):
    """A checkpoint is damaged, or of another program, seed or input."""


class ForkError(PipecError, RuntimeError):
    """A pipeline that runs is used in a process that is a copy of its own."""


class IterationError(PipecError, RuntimeError):
    """An iterator is used after another one of the same pipeline was begun."""


class LengthError(PipecError, TypeError):
    """Only reading tells how many batches there are."""


class ArgumentError(PipecError, ValueError):
    """An argument cannot have this value."""


class FieldError(PipecError, KeyError):
    """A batch has no field of this name."""

    code = "PC0706"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
