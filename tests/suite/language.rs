//! The programs in the documents: each is read, checked and formatted.

use crate::{
    cases::{line, suite},
    trial,
};
use compiler::{explain::Explanation, format::format};
use driver::{Loaded, Settings};
use libtest_mimic::{Failed, Trial};
use std::{collections::BTreeSet, env, fs, path::Path};

/// What a program in a document may be told: it names files that are not there, or leaves a `param`
/// to whoever runs it.
const ALLOWED: [&str; 3] = ["PC0136", "PC0161", "PC0201"];
/// It calls what a later version brings.
const LATER: &str = "PC0108";

/// A check for each document with programs.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("docs/every-page-is-listed", listed),
        trial("docs/language", language),
        trial("docs/plans", plans),
        trial("docs/readme", readme),
    ]
}

/// The recipes of the cookbook that need no files but the pictures that are made for them, each under its
/// heading. The tests of `pipec` run these and the others.
pub(crate) fn recipes() -> Result<Vec<(String, String)>, Failed> {
    let text = document("docs/COOKBOOK.md").ok_or("`docs/COOKBOOK.md` is there")?;
    let is_alone = |it: &Block| it.tag == "pipe" && it.text.contains("sample:images");
    let recipes = blocks(&text).into_iter().filter(is_alone);
    let recipes: Vec<_> = recipes.map(|it| (it.heading, it.text)).collect();
    if recipes.len() < 5 {
        return Err(format!("{} recipes", recipes.len()).into());
    }
    Ok(recipes)
}

/// The site has every page, and no page that is not there.
fn listed() -> Result<(), Failed> {
    let summary = document("docs/SUMMARY.md").ok_or("`docs/SUMMARY.md` is there")?;
    let named = |it: &str| it.split_once("](").map(|it| it.1.trim_end_matches(')').to_owned());
    let named: BTreeSet<String> = summary.lines().filter_map(named).collect();
    let pages = fs::read_dir(suite().join("../../docs"))?.flatten();
    let pages = pages.map(|it| it.file_name().to_string_lossy().into_owned());
    let pages = pages.filter(|it| it.ends_with(".md") && it != "SUMMARY.md");
    let pages: BTreeSet<String> = pages.collect();
    if pages == named { Ok(()) } else { Err(format!("{pages:?} and {named:?}").into()) }
}

/// Every form is read; every program is sound, and one that cannot run yet is marked, with what it lacks.
fn language() -> Result<(), Failed> {
    let text = document("docs/LANGUAGE.md").ok_or("`docs/LANGUAGE.md` is there")?;
    let blocks = blocks(&text);
    let under = |heading: &str| -> Vec<&Block> {
        blocks.iter().filter(|it| it.heading == heading).collect()
    };
    let (forms, programs) = (under("At a glance"), under("Programs that must work"));
    if forms.is_empty() || programs.len() < 8 {
        return Err(format!("{} forms and {} programs", forms.len(), programs.len()).into());
    }
    // The first program is the file that another one uses.
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("00_imagenet.pipe"), &programs[0].text)?;
    let forms = forms.into_iter().map(|it| sound(&it.text).map(drop));
    let wrong: String =
        forms.chain(programs.into_iter().map(marked)).filter_map(Result::err).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// A program is sound. If it calls what is not there yet, its fence says `later`, and the line above
/// names just that.
fn marked(program: &Block) -> Result<(), String> {
    let lacks = sound(&program.text)?;
    let named: BTreeSet<String> = match program.tag.as_str() {
        "pipe" => BTreeSet::new(),
        "pipe later" => program.above.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
        other => return Err(format!("a program is `pipe` or `pipe later`, not `{other}`\n")),
    };
    if lacks == named {
        Ok(())
    } else {
        Err(format!("it lacks {lacks:?}, and the page says {named:?}\n"))
    }
}

/// The plan that is read line by line is that of README's first program, in its long form.
fn plans() -> Result<(), Failed> {
    let program = |page: &str| first(page, "pipe");
    if program("docs/PLANS.md")? != program("README.md")? {
        return Err("its program is not the first one of README.md".into());
    }
    shows("docs/PLANS.md", &Explanation::text)
}

/// Its programs are right, and the plan that it shows is the short form of the first one's.
fn readme() -> Result<(), Failed> {
    let blocks = blocks(&document("README.md").unwrap_or_default());
    blocks.iter().filter(|it| it.tag == "pipe").try_for_each(marked)?;
    shows("README.md", &Explanation::short)
}

/// The first block of a page with a tag.
fn first(page: &str, tag: &str) -> Result<String, Failed> {
    let blocks = blocks(&document(page).unwrap_or_default());
    let found = blocks.into_iter().find(|it| it.tag == tag).map(|it| it.text);
    found.ok_or_else(|| format!("no `{tag}` in {page}").into())
}

/// A page shows the plan of its first program on two cores, before anything was measured and where the set
/// that it names has been made; what it says of it quotes the same rate.
fn shows(page: &str, form: &dyn Fn(&Explanation) -> String) -> Result<(), Failed> {
    let told = first(page, "text")?;
    let loaded = Loaded::from_text(Path::new("aug.pipe"), first(page, "pipe")?);
    if let Some(found) = driver::lint(&loaded, &Settings::default()).first() {
        return Err(line(&loaded.files, found).into());
    }
    let settings = Settings { workers: Some(2), ..Settings::default() };
    let compiled = driver::compile(&loaded, &settings).map_err(|it| format!("{it:?}"))?;
    let mut view = compiled.plain_view();
    view.pass_lens = vec![Some(1_000)];
    let explanation = compiled.explanation(view);
    let (found, text) = (form(&explanation), document(page).unwrap_or_default());
    let shown = |it: &str| format!("```text\n{it}```");
    if found != told && env::var_os("UPDATE").is_some() {
        let path = suite().join("../..").join(page);
        fs::write(path, text.replacen(&shown(&told), &shown(&found), 1))?;
        return Ok(());
    }
    if found != told {
        return Err(format!("it is now:\n{found}\nUPDATE=1 accepts it").into());
    }
    // Rates in the text are those of the plan.
    let prose = text.replacen(&shown(&told), "", 1);
    for quoted in prose.match_indices(" records in a second").map(|it| &prose[..it.0]) {
        let number = quoted.rsplit([' ', '\n']).next().unwrap_or_default();
        if !found.contains(number) && !LAWS.contains(&number) {
            return Err(
                format!("the text says {number} records in a second, the plan does not").into()
            );
        }
    }
    Ok(())
}

/// Rates that a page works out itself, for other machines than that of its plan.
const LAWS: [&str; 1] = ["4,545"];

fn document(name: &str) -> Option<String> {
    fs::read_to_string(suite().join("../..").join(name)).ok()
}

/// A fenced block of a document.
struct Block {
    /// The heading of the second rank that it stands under.
    heading: String,
    /// The last line of text above it.
    above: String,
    /// What is written behind the fence.
    tag: String,
    text: String,
}

/// The fenced blocks of a document, in order; within one, `##` is no heading.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut heading, mut above) = ("", "");
    let mut open: Option<Block> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(tag)) => {
                let (heading, above) = (heading.to_owned(), above.to_owned());
                open = Some(Block { heading, above, tag: tag.to_owned(), text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, None) => {
                heading = line.strip_prefix("## ").unwrap_or(heading);
                above = if line.is_empty() { above } else { line };
            }
        }
    }
    blocks
}

/// The program has no mistake of its own, and its form is settled by formatting it once. Gives the
/// names that it calls and that a later version brings.
fn sound(program: &str) -> Result<BTreeSet<String>, String> {
    let begins = program.lines().take(3).collect::<Vec<_>>().join("\n");
    let wrong = |what: String| format!("{begins}\n…\n{what}\n");
    let once = format(program).map_err(|it| wrong(format!("{it:?}")))?;
    if format(&once).ok().as_ref() != Some(&once) {
        return Err(wrong("formatting it again changes it".to_owned()));
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program.pipe");
    let loaded = Loaded::from_text(&path, program.to_owned());
    let messages = driver::check(&loaded, &Settings::default());
    let (later, messages): (Vec<_>, Vec<_>) = messages.iter().partition(|it| it.code.id == LATER);
    let not_allowed = messages.iter().filter(|it| !ALLOWED.contains(&it.code.id));
    let shown: String = not_allowed.map(|it| line(&loaded.files, it)).collect();
    let name = |it: &&plan::Diagnostic| it.span.text(program).to_owned();
    if shown.is_empty() { Ok(later.iter().map(name).collect()) } else { Err(wrong(shown)) }
}
