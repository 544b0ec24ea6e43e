//! What goes wrong, as exceptions: the classes are in Python (`pipec/errors.py`).

use driver::{Drawing, SourceFile, Unreadable, built::Refusal, in_python};
use plan::{CodeInfo, Diagnostic, Span};
use pyo3::{prelude::*, sync::PyOnceLock, types::PyDict};
use runtime::Failure;

/// Columns of messages: what fits into a terminal of the usual size, and into a notebook.
const WIDTH: usize = 100;

/// The exception of `class` in `pipec.errors` with these facts.
fn raised<'py>(
    py: Python<'py>,
    class: &str,
    message: &str,
    facts: &[(&str, Bound<'py, PyAny>)],
) -> PyErr {
    let made = || {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let module = MODULE.get_or_try_init(py, || py.import("pipec.errors").map(Bound::unbind))?;
        let class = module.bind(py).getattr(class)?;
        let named = PyDict::new(py);
        for (name, fact) in facts {
            named.set_item(*name, fact)?;
        }
        class.call((in_python(message),), Some(&named))
    };
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A text as an object.
fn object<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyAny> {
    pyo3::types::PyString::new(py, text).into_any()
}

/// What one of our codes says, with the particulars.
pub(crate) fn coded(py: Python<'_>, class: &str, code: &CodeInfo, message: &str) -> PyErr {
    let told = format!("{} {}: {message}", code.id, code.name);
    raised(py, class, &told, &[("code", object(py, code.id))])
}

/// Why a run ended.
pub(crate) fn failure(py: Python<'_>, it: &Failure) -> PyErr {
    let (class, code) = match it {
        Failure::Record { fault, .. } => ("RecordError", fault.code),
        Failure::Budget { .. } => ("BudgetError", "too-many-lost"),
        Failure::Data { .. } => ("DataError", "data"),
        Failure::Memory { .. } => ("RunError", "memory"),
        Failure::Unreadable { .. } | Failure::Io { .. } => ("InputError", "input"),
        Failure::Program(_) => ("RunError", "program"),
        Failure::State(_) => ("StateError", "state"),
        Failure::Stopped => ("RunError", "stopped"),
    };
    let mut facts = vec![("code", object(py, code))];
    match it {
        Failure::Record { label, record, fault, .. } => {
            let record = record.trim_matches('`');
            facts.extend([("place", object(py, label)), ("record", object(py, record))]);
            facts.extend(fault.file.iter().map(|it| ("file", object(py, it))));
        }
        Failure::Budget { label, .. }
        | Failure::Data { label, .. }
        | Failure::Memory { label, .. } => {
            facts.push(("place", object(py, label)));
        }
        Failure::Unreadable { path, .. } | Failure::Io { path, .. } => {
            facts.push(("path", object(py, path)));
        }
        _ => {}
    }
    raised(py, class, &it.to_string(), &facts)
}

/// What is probably not meant, as a `PipecWarning`.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let class = py.import("pipec.errors")?.getattr("PipecWarning")?;
    py.import("warnings")?.call_method1("warn", (in_python(message), class, 2)).map(|_| ())
}

/// A program that cannot be read.
pub(crate) fn unreadable(py: Python<'_>, it: &Unreadable) -> PyErr {
    let help = it.help.as_ref().map(|it| format!("; {it}")).unwrap_or_default();
    let message = format!("cannot read `{}`: {}{help}", it.path, it.why);
    let facts = [("code", object(py, "unreadable")), ("path", object(py, &it.path))];
    raised(py, "InputError", &message, &facts)
}

/// A built file that is not run.
pub(crate) fn refused(py: Python<'_>, path: &str, it: &Refusal) -> PyErr {
    let help = it.help().map(|it| format!("; {it}")).unwrap_or_default();
    let message = format!("cannot run `{path}`: {it}{help}");
    let facts = [("code", object(py, "unreadable")), ("path", object(py, path))];
    raised(py, "InputError", &message, &facts)
}

/// What is wrong with a program.
pub(crate) fn compile(py: Python<'_>, files: &[SourceFile], all: &[Diagnostic]) -> PyErr {
    let text: String = all.iter().map(|it| drawn(files, it)).collect::<Vec<_>>().join("\n");
    match all.iter().map(|it| diagnostic(py, files, it)).collect::<PyResult<Vec<_>>>() {
        Ok(all) => {
            let all = pyo3::types::PyList::new(py, all).map(Bound::into_any);
            match all {
                Ok(all) => raised(py, "CompileError", text.trim_end(), &[("diagnostics", all)]),
                Err(error) => error,
            }
        }
        Err(error) => error,
    }
}

/// A message, drawn into its text.
pub(crate) fn drawn(files: &[SourceFile], it: &Diagnostic) -> String {
    let dim = |it: &str| it.to_owned();
    let drawing = Drawing { color: false, unicode: true, width: WIDTH, dim: &dim };
    let help = it.help.as_deref().map(|it| in_python(it).into_owned());
    driver::drawn(files, &Diagnostic { help, ..it.clone() }, &drawing)
}

/// The facts of a message.
fn diagnostic<'py>(
    py: Python<'py>,
    files: &[SourceFile],
    it: &Diagnostic,
) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("code", it.code.id)?;
    facts.set_item("name", it.code.name)?;
    facts.set_item("is_error", it.is_error())?;
    facts.set_item("message", &it.message)?;
    facts.set_item("help", it.help.as_deref().map(in_python))?;
    facts.set_item("rendered", drawn(files, it))?;
    let (begin, end) = (it.span, Span { start: it.span.end, ..it.span });
    if let Some((begin, end)) = driver::place(files, begin).zip(driver::place(files, end)) {
        let span = (begin.path, begin.line, begin.column, end.line, end.column);
        facts.set_item("span", span)?;
    }
    Ok(facts)
}
