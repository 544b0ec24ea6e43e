//! Chats of people with an assistant, in several languages, as JSON Lines; a tokenizer learned from them, and a template.
//!
//! A chat depends on the seed and on its number alone. Of the last file, what is not ASCII is written with escapes, as
//! Python does of its own choice. Some records are not as they should be: one in 251 is no chat, and some lack an answer.

mod phrases;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use crate::VERSION;
use crate::bpe::{quoted, tokenizer_json};
use crate::chance::Chance;
use crate::set::{Done, Error, Making, Summary, check_count, make, write_whole};
use phrases::{LANGUAGES, Language};

/// Files of chats.
const FILES: u64 = 4;
/// Chats that the tokenizer is learned from, at the most, and merges of it.
const LEARNED: u64 = 600;
const MERGES: usize = 1_500;
/// One of so many records is no chat: the last one of them, so that small sets have none.
const BROKEN: u64 = 251;

/// What begins and ends a message, and what fills up.
const SPECIALS: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// The template: that of ChatML, with what the assistant said marked.
const TEMPLATE: &str = "\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
            {{- message.content + '<|im_end|>' }}
        {%- endgeneration %}
        {{- '\\n' }}
    {%- else %}
        {{- message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
";

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Chats {
    /// Where the files go; made if it is not there.
    pub folder: PathBuf,
    /// How many chats, 1 to 1,000,000.
    pub count: u64,
    /// Which set: another seed gives other chats with the same statistics.
    pub seed: u64,
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of chats that are there, each time that it grows.
///
/// # Errors
/// The count is out of its range, the folder holds something else, or cannot be written to.
pub fn chats(chats: &Chats, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check_count(chats.count)?;
    make(Making {
        folder: &chats.folder,
        folders: &[],
        manifest: &manifest(chats),
        n_jobs: FILES,
        n_pictures: chats.count,
        job: &|file| chats.make_one(file),
        finish: &mut || chats.make_tokenizer(),
        progress,
    })
}

/// The text of the manifest: what the bytes depend on.
pub(crate) fn manifest(Chats { count, seed, .. }: &Chats) -> String {
    format!("sample chats\nversion {VERSION}\nseed {seed}\ncount {count}\n")
}

impl Chats {
    /// Makes a file of chats.
    fn make_one(&self, file: u64) -> Result<Done, Error> {
        let numbers = self.count * file / FILES..self.count * (file + 1) / FILES;
        let pictures = numbers.end - numbers.start;
        let path = self.folder.join(format!("{file:02}.jsonl"));
        if path.exists() {
            return Ok(Done { pictures, bytes: None });
        }
        let mut text = String::new();
        for number in numbers {
            let record = record(self.seed, number);
            text += &if file + 1 == FILES { escaped(&record) } else { record };
            text.push('\n');
        }
        write_whole(&path, text.as_bytes())?;
        let written = fs::metadata(&path).map_or(0, |it| it.len());
        Ok(Done { pictures, bytes: Some(written) })
    }

    /// Makes the tokenizer of all chats, and what says how a chat is written.
    fn make_tokenizer(&self) -> Result<(), Error> {
        let some = (0..self.count.min(LEARNED)).map(|it| chat(self.seed, it));
        let texts: Vec<String> = some.flatten().map(|it| it.content).collect();
        let model = tokenizer_json(&texts, MERGES, &SPECIALS);
        write_whole(&self.folder.join("tokenizer.json"), model.as_bytes())?;
        let [fill, _, end] = SPECIALS.map(quoted);
        let template = quoted(TEMPLATE);
        let config = format!(
            "{{\n  \"bos_token\": null,\n  \"eos_token\": {end},\n  \"pad_token\": {fill},\n  \"model_max_length\": 4096,\n  \
             \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  \"chat_template\": {template}\n}}\n"
        );
        write_whole(&self.folder.join("tokenizer_config.json"), config.as_bytes())
    }
}

/// What somebody says.
struct Message {
    role: &'static str,
    content: String,
}

/// A line of a file.
fn record(seed: u64, number: u64) -> String {
    let mut line = String::from("{\"messages\": ");
    if number % BROKEN == BROKEN - 1 {
        let mut chance = Chance::new(seed ^ 0x62_726f_6b65, number);
        line += chance.pick(&[
            "[]",
            "null",
            "\"Hello\"",
            "[{\"role\": \"user\"}]",
            "[{\"from\": \"human\", \"value\": \"Hello\"}, {\"from\": \"gpt\", \"value\": \"Hello!\"}]",
            "[{\"role\": \"user\", \"content\": 7}]",
        ]);
    } else {
        let messages = chat(seed, number).into_iter();
        let each = messages.map(|Message { role, content }| {
            format!("{{\"role\": \"{role}\", \"content\": {}}}", quoted(&content))
        });
        write!(line, "[{}]", each.collect::<Vec<_>>().join(", ")).expect("strings take all");
    }
    write!(line, ", \"id\": {number}}}").expect("strings take all");
    line
}

fn chat(seed: u64, number: u64) -> Vec<Message> {
    let mut chance = Chance::new(seed ^ 0x63_6861_7473, number);
    let chance = &mut chance;
    // English is half of all.
    let language = match chance.happens(0.5) {
        true => &LANGUAGES[0],
        false => &LANGUAGES[chance.whole(0, LANGUAGES.len() as u64 - 1) as usize],
    };
    let mut messages = Vec::new();
    if chance.happens(0.4) {
        let content = chance.pick(language.system).to_owned();
        messages.push(Message { role: "system", content });
    }
    let is_long = chance.happens(0.01);
    let turns =
        if is_long { chance.whole(8, 24) } else { chance.whole(1, 4).min(chance.whole(1, 6)) };
    for turn in 0..turns {
        let topic = chance.pick(language.topics);
        let content = said(language, language.questions, topic, 1, chance);
        messages.push(Message { role: "user", content });
        // Some chats end before they are answered.
        if turn + 1 == turns && chance.happens(0.02) {
            break;
        }
        let sentences = if is_long { chance.whole(10, 60) } else { sentences(chance) };
        let content = match chance.happens(0.003) {
            true => String::new(),
            false => answer(language, topic, sentences, chance),
        };
        messages.push(Message { role: "assistant", content });
    }
    messages
}

/// How many sentences an answer has: mostly few, at times many.
fn sentences(chance: &mut Chance) -> u64 {
    let far = chance.unit();
    1 + (14.0 * far * far * far * far) as u64 + chance.whole(0, 2)
}

fn answer(language: &Language, topic: &str, sentences: u64, chance: &mut Chance) -> String {
    let text = said(language, language.answers, topic, sentences, chance);
    match chance.whole(0, 11) {
        0 => format!(
            "{text}\n\n```python\nfor i in range({}):\n    print(i * {})\n```",
            chance.whole(2, 99),
            chance.whole(2, 9)
        ),
        1 => {
            let items = (1..=chance.whole(2, 5))
                .map(|it| format!("{it}. {}", chance.pick(language.topics)));
            format!("{text}\n\n{}", items.collect::<Vec<_>>().join("\n"))
        }
        2 => format!(
            "{text} {}",
            chance.pick(&["\u{1f600}", "\u{1f44d}\u{1f3fd}", "\u{2728}", "\u{1f1ea}\u{1f1fa}"])
        ),
        _ => text,
    }
}

/// Sentences about a topic, most of them, with numbers here and there.
fn said(
    language: &Language,
    of: &[&str],
    topic: &str,
    sentences: u64,
    chance: &mut Chance,
) -> String {
    let mut all = Vec::new();
    for _ in 0..sentences {
        let topic = if chance.happens(0.7) { topic } else { chance.pick(language.topics) };
        let number = chance.whole(2, 2_000).to_string();
        all.push(chance.pick(of).replace("{}", topic).replace('#', &number));
    }
    all.join(language.between)
}

/// The same JSON with everything that is not ASCII written as escapes.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(text, "\\u{unit:04x}").expect("strings take all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_depend_on_seed_and_number_alone() {
        assert_eq!(record(3, 77), record(3, 77));
        assert_ne!(record(3, 77), record(4, 77));
        let all: Vec<String> = (0..2_000).map(|it| record(0, it)).collect();
        let has = |what: &str| all.iter().filter(|it| it.contains(what)).count();
        let has_no_answer = 2_000 - has("\"role\": \"assistant\"");
        assert!((10..100).contains(&has_no_answer), "{has_no_answer}");
        assert!(has("\"role\": \"system\"") > 600);
        assert!(all.iter().filter(|it| !it.is_ascii()).count() > 500);
        assert!(all.iter().any(|it| it.len() > 10_000));
        let bytes: usize = all.iter().map(String::len).sum();
        assert!((400..2_000).contains(&(bytes / all.len())), "{}", bytes / all.len());
    }

    #[test]
    fn escapes_say_the_same() {
        assert_eq!(escaped("a\u{fc}\u{1f600}"), "a\\u00fc\\ud83d\\ude00");
    }
}
