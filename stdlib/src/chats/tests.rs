//! What becomes of chats is what transformers makes of them, for templates of the forms that models are published with.

use super::*;
use crate::tokens::{self, Encoding, Ids, Part};
use serde_json::{Value, json, value::RawValue};
use std::{fs, path::Path};

const TOKENIZER: &[u8] = include_bytes!("../tokens/goldens/tokenizer.json");

/// Made by `goldens/make.py`, which says with which version of transformers.
const EXPECTED: &str = include_str!("goldens/expected.json");
const CHATS: &str = include_str!("goldens/chats.json");

/// The small tokenizer with these special tokens more.
pub(crate) fn tokenizer(specials: &Value) -> File {
    let mut file: Value = serde_json::from_slice(TOKENIZER).unwrap();
    let added = file["added_tokens"].as_array_mut().unwrap();
    let first = 1 + added.iter().filter_map(|it| it["id"].as_u64()).max().unwrap();
    for (text, id) in specials.as_array().unwrap().iter().zip(first..) {
        added.push(json!({ "id": id, "content": text }));
    }
    File::new("tokenizer.json", file.to_string().into_bytes())
}

fn named(template: &str) -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/chats/goldens");
    File::new(template, fs::read(path.join(format!("{template}.jinja"))).unwrap())
}

fn config() -> File {
    let config =
        json!({ "bos_token": "<s>", "eos_token": { "content": "</s>" }, "pad_token": null });
    File::new("tokenizer_config.json", config.to_string().into_bytes())
}

#[test]
fn chats_are_what_transformers_makes_of_them() {
    let expected: Value = serde_json::from_str(EXPECTED).unwrap();
    // As they are written: fields have an order.
    let chats: Vec<&RawValue> = serde_json::from_str(CHATS).unwrap();
    let file = tokenizer(&expected["specials"]);
    let model = tokens::of_file(&file).unwrap().unwrap_or_else(|why| panic!("{why}"));
    let how = Encoding { splitter: model.splitter().unwrap(), specials: true, most: usize::MAX };
    let (mut refused, mut wrong) = (0, Vec::new());
    for row in expected["rows"].as_array().unwrap() {
        let name = row["template"].as_str().unwrap();
        let chat = Chat::of(&file, Some(&named(name)), Some(&config())).unwrap().unwrap();
        let roles = ["assistant".to_owned()];
        let wanted = Wanted { prompt: row["prompt"] == true, roles: &roles };
        let messages = chats[row["chat"].as_u64().unwrap() as usize].get();
        let rendered = Messages::read(messages.as_bytes()).and_then(|it| chat.render(&it, wanted));
        let at = format!("{name}, {}, {}", row["chat"], row["prompt"]);
        let Some(ids) = row["ids"].as_array() else {
            refused += 1;
            match rendered {
                Err(fault) => assert_eq!(fault.code, "chat-template", "{at}"),
                Ok(it) => wrong.push(format!("{at}: {:?}, not {}", it.text, row["error"])),
            }
            continue;
        };
        let Rendered { text, said } = match rendered {
            Ok(it) => it,
            Err(fault) => {
                wrong.push(format!("{at}: {fault}"));
                continue;
            }
        };
        let (mut found, mut parts) = (Ids::default(), Vec::<Part>::new());
        model.encode_parts(&text, &how, &mut found, |it| parts.push(it)).unwrap();
        let found = found.as_slice();
        let text_of = |ids: &[u32]| -> String {
            let bytes: Vec<u8> =
                ids.iter().flat_map(|it| model.bytes(*it).unwrap().to_vec()).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let ids: Vec<u32> = ids.iter().map(|it| it.as_u64().unwrap() as u32).collect();
        if found != ids {
            wrong.push(format!("{at}:\n{text:?}\n{:?}", text_of(&ids)));
            continue;
        }
        let counted = counted(&model, (&text, found, &parts), &said);
        let mut loss: Vec<[usize; 2]> = counted.into_iter().map(|it| [it.start, it.end]).collect();
        loss.dedup_by(|next, last| {
            let joins = next[0] <= last[1];
            last[1] = if joins { next[1] } else { last[1] };
            joins
        });
        if json!(loss) != row["loss"] {
            wrong.push(format!("{at}: {loss:?}, not {}", row["loss"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 10, "{refused}");
}

/// Where the files of a model lie beside each other, what is in them is found in its order.
#[test]
fn the_template_is_the_one_of_the_file_that_is_asked_for() {
    let file = |path: &str, json: Value| File::new(path, json.to_string().into_bytes());
    let model = tokenizer(&json!([]));
    let text = |template: Option<&File>, config: Option<&File>| {
        let chat = Chat::of(&model, template, config)?.expect("they are there");
        let messages = Messages::read(br#"[{"role": "user", "content": "x"}]"#).unwrap();
        let rendered = chat.render(&messages, Wanted { prompt: false, roles: &[] });
        rendered.map(|it| it.text).map_err(|it| it.to_string())
    };
    let jinja = File::new("chat_template.jinja", b"jinja {{ eos_token }}\n".to_vec());
    let config =
        file("a", json!({ "eos_token": "</s>", "chat_template": "config {{ eos_token }}" }));
    assert_eq!(text(Some(&jinja), Some(&config)), Ok("jinja </s>".to_owned()));
    assert_eq!(text(None, Some(&config)), Ok("config </s>".to_owned()));
    let bare = file("b", json!({ "eos_token": null }));
    assert_eq!(text(Some(&config), Some(&bare)), Ok("config </s>".to_owned()));
    assert_eq!(text(Some(&jinja), Some(&bare)), Ok("jinja ".to_owned()));
    assert!(text(None, Some(&bare)).unwrap_err().contains("`b` has no `chat_template`"));
    assert!(text(None, None).unwrap_err().contains("there is neither"));
    assert!(text(Some(&jinja), None).unwrap_err().contains("the template writes `eos_token`"));
    let several =
        json!([{ "name": "default", "template": "one" }, { "name": "tools", "template": "other" }]);
    let several = file("c", json!({ "chat_template": several }));
    assert_eq!(text(None, Some(&several)), Ok("one".to_owned()));
    let named = json!([{ "name": "rag", "template": "one" }]);
    let named = file("d", json!({ "chat_template": named }));
    assert!(text(None, Some(&named)).unwrap_err().contains("none called `default`"));
    let secret = File::new("e", b"{\"secret\": hunter2}".to_vec());
    assert_eq!(
        text(None, Some(&secret)),
        Err("`e`: it is not valid JSON (line 1, column 12)".to_owned())
    );
    assert_eq!(Chat::of(&model, None, Some(&File::unread("f"))).map(|it| it.is_none()), Ok(true));
}

/// No template takes forever, nor all memory.
#[test]
fn what_a_template_does_has_an_end() {
    let long = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}";
    let wide = "{% set x = 'x' * 1000000 %}{% for a in range(90000) %}{{ x }}{% endfor %}";
    let deep = "{% macro a(n) %}{{ a(n + 1) }}{% endmacro %}{{ a(0) }}";
    let messages = Messages::read(br#"[{"role": "user", "content": "x"}]"#).unwrap();
    let why = |text: &str| {
        let fault = messages.rendered(&Template::new(text).unwrap()).unwrap_err();
        assert_eq!(fault.code, "chat-template");
        fault.detail
    };
    assert!(why(long).contains("20,000,000 steps"), "{}", why(long));
    assert!(why(wide).contains("have more than"), "{}", why(wide));
    assert!(why(deep).contains("recursion"), "{}", why(deep));
    assert!(why("{{ strftime_now('%d') }}").contains("write a date into it"));
    assert!(why("{{ 'a' + 1 }}").contains("(line 1)"));
    assert!(why("{{ messages.append(1) }}").contains("append"));
}

#[test]
fn parts_that_overlap_count_once() {
    let file = tokenizer(&json!([]));
    let model = tokens::of_file(&file).unwrap().unwrap_or_else(|why| panic!("{why}"));
    let ids: Vec<u32> =
        b"0123456789".iter().map(|it| model.id(&char::from(*it).to_string()).unwrap()).collect();
    let parts = [Part { text: 0..10, ids: 0..10 }];
    let found = counted(&model, ("0123456789", &ids, &parts), &[6..7, 1..3, 2..4, 5..5, 3..4]);
    assert_eq!(found, [1..4, 6..7]);
}
