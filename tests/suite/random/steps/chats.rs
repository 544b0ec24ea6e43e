//! Chats as tokens, and what counts of them: steps of the last programs.

use super::{Growing, Offer, Step};
use crate::random::program::Writer;
use plan::DType;

/// Kinds of steps that only these programs have.
pub(crate) const CHATS: &[Step] = &[chat];

/// The model of all; beside it lie a template and a configuration.
const MODEL: &str = "\"{data}/tokenizer.json\"";

/// `chat` of messages that are put together from texts, some of which make them no JSON, then `pack`.
fn chat(writer: &mut Writer<'_>, growing: &Growing) -> Option<Offer> {
    if growing.batches > 0 {
        return None;
    }
    let [turns, ids, loss] = ["v", "v", "v"].map(|it| writer.name(it));
    let [asked, said] = [(); 2].map(|()| writer.values(&growing.fields).atom((DType::Str, 0)));
    let role = *writer.dice.pick(&["assistant", "assistant", "tool", "system"]);
    let messages = format!(
        "'[{{\"role\": \"user\", \"content\": \"' + {asked} + '\"}}, {{\"role\": \"{role}\", \"content\": \"' + {said} + '\"}}]'"
    );
    let how = *writer.dice.pick(&[
        "",
        ", prompt: true",
        ", template: \"{data}/plain.jinja\"",
        ", template: \"{data}/plain.jinja\", roles: ['user', 'tool']",
    ]);
    let call = format!("chat(parse_json({messages}), model: {MODEL}{how})");
    let mut made = format!("map {{ {turns}: {call} else skip }}");
    made += &format!("\n    |> map {{ {ids}: {turns}[0], {loss}: {turns}[1] }}");
    if writer.dice.percent(50) {
        made += &format!("\n    |> where any({loss} == 1)");
    }
    if writer.dice.percent(60) {
        let length = 6 + writer.dice.below(20);
        made += &format!("\n    |> pack({ids}, length: {length}, along: {loss})");
    } else {
        made += &format!("\n    |> with {{ {turns}: sum({loss}), {loss}b: len({ids}) }}");
    }
    Some(Offer { text: made, records: (growing.records / 2).max(1), indexed: false, batches: 0 })
}
