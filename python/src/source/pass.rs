//! An object that is iterated: passes over it, and where they stand.

use super::{Inner, Row, made};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
};
use runtime::{ChunkBuilder, Failure, Stream, mix};
use std::sync::Arc;

/// Bytes of what an object says of where it stands: it is part of a checkpoint, which is written every second.
const STATE_MAX: usize = 64 << 10;

/// What is known of the passes over an object.
#[derive(Default)]
pub(super) struct Passes {
    /// How many have begun.
    n: u64,
    /// The state that the object had before all, if it has states.
    first: Option<String>,
}

/// What an object or its iterator says of where it stands.
#[derive(Clone)]
struct State {
    /// JSON.
    text: String,
    of_iterator: bool,
}

/// An object that is iterated.
pub(super) struct Pass {
    of: Arc<Inner>,
    /// The object and the iterator, once it has begun.
    reading: Option<(Py<PyAny>, Py<PyAny>)>,
    /// Records that it has given.
    given: u64,
    /// Where it stands, as it says itself.
    state: Option<State>,
    has_ended: bool,
}

impl Pass {
    pub(super) fn new(of: Arc<Inner>) -> Self {
        Self { of, reading: None, given: 0, state: None, has_ended: false }
    }

    /// The next records, and what ends the pass before its end.
    fn some(&mut self, py: Python<'_>, rows: usize, epoch: u32) -> (Vec<Row>, PyResult<()>) {
        let mut found = Vec::new();
        if self.has_ended {
            return (found, Ok(()));
        }
        if self.reading.is_none() {
            match self.of.begin(py, (epoch, self.state.as_ref())) {
                Ok((object, iterator)) => {
                    self.reading = Some((object.unbind(), iterator.unbind()));
                }
                Err(error) => return (found, Err(error)),
            }
        }
        let Some((object, iterator)) = &self.reading else { return (found, Ok(())) };
        let (object, iterator) = (object.bind(py), iterator.bind(py));
        let mut all = match iterator.try_iter() {
            Ok(it) => it,
            Err(error) => return (found, Err(error)),
        };
        while found.len() < rows {
            match all.next() {
                None => {
                    self.has_ended = true;
                    return (found, Ok(()));
                }
                Some(Ok(record)) => found.push(self.of.row(&record)),
                Some(Err(error)) => return (found, Err(error)),
            }
            if found.last().is_some_and(Result::is_err) && !self.of.has_faults() {
                break;
            }
        }
        let state = state(object, iterator);
        let ended = state.map(|it| self.state = it);
        (found, ended)
    }
}

impl Stream for Pass {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let (epoch, of) = (out.epoch, self.of.clone());
        let alone = of.alone();
        let found = Python::try_attach(|py| {
            let (rows, ended) = self.some(py, rows, epoch);
            let ended = ended.map_err(|error| self.of.fault(py, error));
            (rows, ended)
        });
        let (rows, ended) = found.ok_or(Failure::Stopped)?;
        drop(alone);
        let first = self.given;
        self.given += rows.len() as u64;
        self.of.write(rows, &mut (first..), out)?;
        let number = self.given;
        ended.map_err(|fault| self.of.failed((mix(self.of.place, number), number), fault))
    }

    fn place(&self) -> Option<Vec<u64>> {
        let State { text, of_iterator } = self.state.as_ref()?;
        let head = [self.given, u64::from(*of_iterator), text.len() as u64];
        let words = text.as_bytes().chunks(8).map(|it| {
            let mut word = [0; 8];
            word[..it.len()].copy_from_slice(it);
            u64::from_le_bytes(word)
        });
        Some(head.into_iter().chain(words).collect())
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let damaged = || Failure::State("it does not say where a Python source stood".to_owned());
        let [given, of_iterator, len, words @ ..] = place else { return Err(damaged()) };
        let mut bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let len = usize::try_from(*len).ok().filter(|it| *it <= bytes.len()).ok_or_else(damaged)?;
        bytes.truncate(len);
        let text = String::from_utf8(bytes).map_err(|_| damaged())?;
        self.given = *given;
        self.state = Some(State { text, of_iterator: *of_iterator != 0 });
        Ok(())
    }
}

impl Inner {
    /// Begins a pass, where `state` says or at the begin: the object that is iterated, and its iterator.
    fn begin<'py>(
        &self,
        py: Python<'py>,
        (epoch, state): (u32, Option<&State>),
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let mut object = self.object.bind(py).clone();
        let (n, first) = {
            let mut passes = self.passes();
            passes.n += 1;
            (passes.n, passes.first.clone())
        };
        if n > 1 && object.hasattr("__next__")? {
            // An iterator is over after one pass: another is made.
            object = made(self.from.bind(py), &self.args)?;
            if object.is(self.object.bind(py)) {
                return Err(PyTypeError::new_err(
                    "it is an iterator, which can be passed only once: give a function that returns one",
                ));
            }
        }
        if object.hasattr("set_epoch")? {
            object.call_method1("set_epoch", (epoch,))?;
        }
        let is_stateful = has_states(&object)?;
        if is_stateful && first.is_none() {
            let first = written(&object)?;
            self.passes().first = Some(first);
        }
        match (state, first) {
            (Some(state), _) if !state.of_iterator => load(&object, &state.text)?,
            // Where an earlier pass has left it is not where this one begins.
            (None, Some(first)) if is_stateful && first != "null" => load(&object, &first)?,
            _ => {}
        }
        let iterator = object.try_iter()?.into_any();
        if let Some(state) = state.filter(|it| it.of_iterator) {
            load(&iterator, &state.text)?;
        }
        Ok((object, iterator))
    }
}

fn has_states(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("state_dict")? && object.hasattr("load_state_dict")?)
}

/// Where an iterator says that it stands, or the object; none where neither does.
fn state(object: &Bound<'_, PyAny>, iterator: &Bound<'_, PyAny>) -> PyResult<Option<State>> {
    for (of, of_iterator) in [(iterator, true), (object, false)] {
        if has_states(of)? {
            return Ok(Some(State { text: written(of)?, of_iterator }));
        }
    }
    Ok(None)
}

/// The state of an object as JSON.
fn written(of: &Bound<'_, PyAny>) -> PyResult<String> {
    let (py, state) = (of.py(), of.call_method0("state_dict")?);
    let text = py.import("json")?.call_method1("dumps", (state,));
    let text: String = text.and_then(|it| it.extract()).map_err(|it| {
        PyTypeError::new_err(format!(
            "its `state_dict()` is not JSON, as a checkpoint has to be: {}",
            it.value(py)
        ))
    })?;
    if text.len() > STATE_MAX {
        return Err(PyOverflowError::new_err(format!(
            "its `state_dict()` takes {} bytes as JSON, but a checkpoint has room for {STATE_MAX}",
            text.len()
        )));
    }
    Ok(text)
}

fn load(of: &Bound<'_, PyAny>, text: &str) -> PyResult<()> {
    let state = of.py().import("json")?.call_method1("loads", (text,))?;
    of.call_method1("load_state_dict", (state,)).map(drop)
}
