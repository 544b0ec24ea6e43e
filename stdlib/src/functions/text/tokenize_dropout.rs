//! `tokenize_dropout`: a text as the numbers of tokens, in one of many ways.

use super::tokenize::{failed, model_of, splitter};
use crate::prelude::*;
use crate::tokens::{self, Encoding, Ids, Splitter, Tokenizer};
use plan::File;
use std::cell::RefCell;

function! {
    /// Splits text into tokens at random, so that a model sees words in more than one way.
    ///
    /// BPE-dropout (Provilkov et al., ACL 2020): wherever two tokens could be merged, this is not done with probability
    /// `p`, drawn again in each step; with `p: 0.0`, the ids are those of `tokenize`, and with `p: 1.0`, there is a token for
    /// each byte. `detokenize` gives the same text for all of them. `model` and `pattern` are as for `tokenize`; text
    /// that looks like a special token is text. Each call is a new draw. Use it in training only; 0.1 is usual. Fails
    /// with `too-long` where `tokenize` does.
    ///
    /// ```pipe no_run
    /// lines("corpus.txt") |> map { ids: tokenize_dropout(text, model: "vocab.bpe", p: 0.1) }    # { ids: i32[?] }
    /// ```
    "tokenize_dropout(text: str, model: file, p: float = 0.1, pattern: text = none) random fails -> i32[n]",
    // Assumed: merges without what `tokenize` remembers of words.
    cost: Cost { ns_byte_in: 60.0, bytes_out_per_in: 1.2, ..Cost::call(200.0) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let Arg::File(file) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    if let Some(made) = tokens::of_file(file) {
        let model = made.map_err(|why| format!("`{}`: {why}", file.path()))?;
        way(file, &model, &applied.args[3])?;
    }
    Ok(Type::Tensor { dtype: DType::I32, shape: vec![Extent::Unknown] })
}

/// How texts are split, by a model whose merges can be dropped.
fn way(file: &File, model: &Tokenizer, pattern: &Arg) -> Result<Splitter, String> {
    if !model.splits() {
        let path = file.path();
        return Err(format!(
            "`tokenize_dropout` is for byte-level BPE, which `{path}` is not: use `tokenize`, or the file of another model"
        ));
    }
    splitter(file, model, super::tokenize::pattern(pattern)?)
}

thread_local! {
    /// Ids of a text that are not all there yet.
    static IDS: RefCell<Ids> = RefCell::default();
}

/// Ids that a thread keeps the room of, at the most.
const KEPT: usize = 1 << 20;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let file = call.file(1);
    let model = model_of(file, "tokenize_dropout")?;
    let splitter = way(file, &model, &call.args[3])
        .map_err(|why| Failure::Program(format!("`tokenize_dropout`: {why}")))?;
    // A model may take words that are tokens for these, whatever merges would make of them.
    let plainly = Encoding { splitter: splitter.clone(), specials: false, most: usize::MAX };
    Ok(Kernel::draw(move |random, args, out| {
        let (text, p) = (args.tensor(0).as_str(), args.float(2));
        IDS.with_borrow_mut(|ids| {
            ids.clear();
            if p > 0.0 {
                let mut drops = || random.unit() < p;
                model.encode_dropping(text, &splitter, &mut drops, ids).map_err(failed)?;
            } else {
                model.encode(text, &plainly, ids).map_err(failed)?;
            }
            let room = out.tensor::<i32>(&[ids.len()])?;
            room.iter_mut().zip(ids.as_slice()).for_each(|(to, id)| *to = *id as i32);
            if ids.capacity() > KEPT {
                *ids = Ids::default();
            }
            Ok(())
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{detokenize, tokenize};
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use crate::tokens::tests::small;
    use runtime::Philox;

    fn dropped(text: &str, p: f64, record: u64) -> Value {
        let trial = Trial::of(&ENTRY).text(text).arg(Arg::File(small())).arg(Arg::Float(p));
        trial.arg(Arg::None).draw(&mut Philox::new(7, record, 1)).unwrap()
    }

    fn whole(text: &str) -> Value {
        let trial = Trial::of(&tokenize::ENTRY).text(text).arg(Arg::File(small()));
        let trial = trial.arg(Arg::Bool(false)).arg(Arg::Bool(false));
        trial.arg(Arg::None).arg(Arg::None).run().unwrap()
    }

    fn back(ids: &Value) -> Value {
        let numbers = ids.to_vec::<i32>();
        let ids = Tensor::new(&[numbers.len()], &numbers);
        Trial::of(&detokenize::ENTRY).value(ids).arg(Arg::File(small())).run().unwrap()
    }

    #[test]
    fn nothing_is_dropped_or_everything() {
        for text in
            ["", "a", "abba abab  ab", "Gr\u{fc}\u{df}e \u{65e5}\u{672c}, abc", "ab<|end|>ab"]
        {
            assert_eq!(dropped(text, 0.0, 1), whole(text), "{text:?}");
            assert_eq!(dropped(text, 1.0, 1).shape, [text.len()], "{text:?}");
            for record in 0..50 {
                let ids = dropped(text, 0.3, record);
                assert_eq!(back(&ids), Value::text(text));
                assert_eq!(ids, dropped(text, 0.3, record));
            }
        }
    }

    /// `ab` has one merge, which is dropped as often as is asked for: within five standard errors.
    #[test]
    fn merges_are_dropped_as_often_as_asked_for() {
        let n = 4_000;
        let parts = (0..n).filter(|it| dropped("ab", 0.25, *it).shape == [2]).count();
        let error = 5.0 * (0.25_f64 * 0.75 * n as f64).sqrt();
        assert!((parts as f64 - 0.25 * n as f64).abs() < error, "{parts} of {n}");
    }
}
