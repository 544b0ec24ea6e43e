//! `chat`: messages as the ids of tokens, and which of them count for the loss.

use super::{reading, tokenize::model_of};
use crate::{
    chats::{Chat, Messages, Rendered, Wanted, counted},
    prelude::*,
    tokens::{Encoding, Ids, Part, Tokenizer},
};
use plan::File;
use std::cell::RefCell;

function! {
    /// Makes token ids of the messages of a chat, and says which of them count for the loss.
    ///
    /// `messages` is JSON: a list of objects with `role` and `content`, and whatever else the template of the model asks for.
    /// The result has two rows: the ids, and 1 where an id counts, 0 elsewhere: where it has a character of what counts. Both are those of `apply_chat_template(messages,
    /// return_assistant_tokens_mask=True)` of Hugging Face's transformers 5; a space that a token begins with is one of its
    /// characters.
    ///
    /// `model` is the file of a tokenizer, as for `tokenize`. `template` is a file with the template in Jinja, or a
    /// `tokenizer_config.json` that has one; `config` is the `tokenizer_config.json` that the texts of special tokens such as
    /// `bos_token` are from. Where they are not given, `chat_template.jinja` and `tokenizer_config.json` in the folder of `model`
    /// are used, as far as they are there; where both have a template, that of `chat_template.jinja`. All of them are read when
    /// the program is compiled. With `prompt`, the text ends with what stands before an answer.
    ///
    /// What counts is what the template has between `{% generation %}` and `{% endgeneration %}`. In a template without these,
    /// it is what a message of one of the `roles` adds to the text of the messages before it and to what stands before an
    /// answer, which takes two more renderings for each such message. A template that writes a chat otherwise once more messages
    /// follow, such as Qwen 3's, which drops the reasoning of earlier answers, needs the tags.
    ///
    /// Templates are rendered as transformers does, but `strftime_now` is not defined, so that each run gives the same: write a
    /// date into the template. What special tokens are written as becomes these tokens, wherever it stands, also in a
    /// message.
    ///
    /// Fails with `chat` if `messages` is no list of messages, with `chat-template` if the template refuses them (as those of
    /// some models refuse a system message), or does not say what counts, and with `json-syntax` for what is no JSON.
    ///
    /// ```pipe no_run
    /// jsonl("chats.jsonl")
    ///     |> map { turns: chat(row["messages"], model: "model/tokenizer.json") else skip }
    ///     |> map { ids: turns[0], loss: turns[1] }    # { ids: i32[?], loss: i32[?] }
    /// ```
    "chat(messages: untyped, model: file, template: file = \"chat_template.jinja\", config: file = \"tokenizer_config.json\", prompt: bool = false, roles: list = [\"assistant\"]) fails -> i32[2, n]",
    // Measured with the template of `sample:chats`: 5.5 µs for two messages of 82 bytes, 21 µs for five of 1.1 kB.
    cost: Cost { ns_byte_in: 14.0, bytes_out_per_in: 1.8, ..Cost::call(4_500.0) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    if !matches!(applied.ty(0), Some(Type::Untyped(Untyped::Json | Untyped::Bytes))) {
        return Err("expected the messages as JSON, such as `row[\"messages\"]`".to_owned());
    }
    roles(&applied.args[5])?;
    let Arg::File(model) = &applied.args[1] else { return Err("expected a file".to_owned()) };
    if let Some(made) = crate::tokens::of_file(model) {
        let tokenizer = made.map_err(|why| format!("`{}`: {why}", model.path()))?;
        splits(model, &tokenizer)?;
        template(model, applied.args)?;
    }
    Ok(Type::Tensor { dtype: DType::I32, shape: vec![Extent::Known(2), Extent::Unknown] })
}

/// The roles whose messages count.
fn roles(of: &Arg) -> Result<Vec<String>, String> {
    let Arg::List(all) = of else { return Err("`roles` must be a list of strings".to_owned()) };
    let role = |it: &Arg| match it {
        Arg::Text(it) => Ok(it.clone()),
        _ => Err("`roles` must be a list of strings, such as `[\"assistant\"]`".to_owned()),
    };
    all.iter().map(role).collect()
}

/// The template of a call; none where its files were not read.
fn template(model: &File, args: &[Arg]) -> Result<Option<Chat>, String> {
    let file = |at: usize| if let Arg::File(it) = &args[at] { Some(it) } else { None };
    Chat::of(model, file(2), file(3))
}

/// That it is known how a model splits texts.
fn splits(file: &File, model: &Tokenizer) -> Result<Encoding, String> {
    let unknown = || {
        format!(
            "`{}` does not say how texts are split; use the `tokenizer.json` of the model",
            file.path()
        )
    };
    // Of the others nobody says which part of a text a token is.
    if !model.splits() {
        return Err(format!(
            "`chat` is for byte-level BPE (GPT-2, Llama 3, Qwen, Tekken and others), which `{}` is not",
            file.path()
        ));
    }
    let splitter = model.splitter().ok_or_else(unknown)?;
    Ok(Encoding { splitter, specials: true, most: usize::MAX })
}

thread_local! {
    /// Ids of a chat that are not all there yet, and the parts of its text that they are of.
    static IDS: RefCell<(Ids, Vec<Part>)> = RefCell::default();
}

/// Ids that a thread keeps the room of, at the most.
const KEPT: usize = 1 << 20;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let model = model_of(call.file(1), "chat")?;
    let refused = |why: String| Failure::Program(format!("`chat`: {why}"));
    let how = splits(call.file(1), &model).map_err(refused)?;
    let roles = roles(&call.args[5]).map_err(refused)?;
    let chat = template(call.file(1), call.args).map_err(refused)?;
    let chat = chat.ok_or_else(|| refused("its files were not read".to_owned()))?;
    let prompt = call.bool(4);
    let is_json = call.types[0] == Some(Type::Untyped(Untyped::Json));
    Ok(Kernel::compute(move |args, out| {
        let json = reading::checked_unless(is_json, args.tensor(0).as_text())?;
        let messages = Messages::read(json)?;
        let wanted = Wanted { prompt, roles: &roles };
        let Rendered { text, said } = chat.render(&messages, wanted)?;
        IDS.with_borrow_mut(|(ids, parts)| {
            ids.clear();
            parts.clear();
            let encoded = model.encode_parts(&text, &how, ids, |it| parts.push(it));
            encoded.map_err(super::tokenize::failed)?;
            let n = ids.len();
            let (first, loss) = out.tensor::<i32>(&[2, n])?.split_at_mut(n);
            first.iter_mut().zip(ids.as_slice()).for_each(|(to, id)| *to = *id as i32);
            loss.fill(0);
            for tokens in counted(&model, (text.as_str(), ids.as_slice(), &parts[..]), &said) {
                loss[tokens].fill(1);
            }
            if ids.capacity() > KEPT {
                (*ids, *parts) = Default::default();
            }
            Ok(())
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use crate::tokens::tests::small;

    fn roles(all: &[&str]) -> Arg {
        Arg::List(all.iter().map(|it| Arg::Text((*it).to_owned())).collect())
    }

    fn trial<'a>(messages: &'a str, template: &str, prompt: bool) -> Trial<'a> {
        let template = File::new("chat_template.jinja", template.as_bytes().to_vec());
        let files = [Arg::File(small()), Arg::File(template), Arg::None];
        let all = files.into_iter().chain([Arg::Bool(prompt), roles(&["assistant"])]);
        all.fold(Trial::of(&ENTRY).untyped(messages), Trial::arg)
    }

    const MESSAGES: &str =
        r#"[{"role": "user", "content": "the"}, {"role": "assistant", "content": "row ab"}]"#;

    /// `ab` stands across the end of what counts: the token does so as a whole.
    #[test]
    fn what_a_model_said_counts() {
        let marked = "{% for it in messages %}{{ it.role[:1] }}:{% if it.role == 'assistant' %}{% generation %}\
                      {{ it.content[:-1] }}{% endgeneration %}{{ it.content[-1:] }}{% else %}{{ it.content }}{% endif %}<|end|>{% endfor %}";
        let ids = [117, 58, 259, 267, 97, 58, 265, 32, 257, 267];
        let loss = [0, 0, 0, 0, 0, 0, 1, 1, 1, 0];
        let run = trial(MESSAGES, marked, false).run();
        assert_eq!(run, Ok(Value::of(&[2, 10], &[ids, loss].concat())));
    }

    #[test]
    fn without_marks_what_a_message_adds_counts() {
        let plain = "{% for it in messages %}{{ it.role[:1] }}:{{ it.content }}<|end|>{% endfor %}\
                     {% if add_generation_prompt %}a:{% endif %}";
        let ids = [117, 58, 259, 267, 97, 58, 265, 32, 257, 267];
        let loss = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
        assert_eq!(
            trial(MESSAGES, plain, false).run(),
            Ok(Value::of(&[2, 10], &[ids, loss].concat()))
        );
        let ids: Vec<i32> = ids.into_iter().chain([97, 58]).collect();
        let loss: Vec<i32> = loss.into_iter().chain([0, 0]).collect();
        assert_eq!(
            trial(MESSAGES, plain, true).run(),
            Ok(Value::of(&[2, 12], &[ids, loss].concat()))
        );
        let changes = "{{ messages | length }}{{ messages }}";
        let fault = trial(MESSAGES, changes, false).run().unwrap_err();
        assert!(fault.code == "chat-template" && fault.detail.contains("number 2"), "{fault}");
    }

    #[test]
    fn what_cannot_be_is_said() {
        let refused = |template: &str| trial(MESSAGES, template, false).refused();
        assert_eq!(
            refused("{{ bos_token }}"),
            "the template writes `bos_token`, whose text stands in the `tokenizer_config.json` of the model: add `config:` with \
             its path"
        );
        assert!(refused("{% for it in messages %}").contains("not valid Jinja"));
        assert!(refused("{\"a\": 1}").contains("`chat_template.jinja` has no `chat_template`"));
        let raises = "{{ raise_exception('no ' + messages[0].role) }}";
        let fault = trial(MESSAGES, raises, false).run().unwrap_err();
        assert_eq!(fault.detail, "the template refuses the chat: no user");
        assert_eq!(trial("[]", "", false).run().unwrap_err().code, "chat");
        let none = [Arg::File(small()), Arg::None, Arg::None, Arg::Bool(false), roles(&[])];
        let none = none.into_iter().fold(Trial::of(&ENTRY).untyped(MESSAGES), Trial::arg);
        assert!(none.refused().contains("there is neither"));
    }
}
