//! Messages in the forms that other programs read.

use super::Checked;
use crate::{args::OutputFormat, messages};
use driver::{Place, SourceFile};
use plan::{Diagnostic, Severity, Span, escaped, escaped_json};
use serde_json::{Value, json};
use std::{collections::BTreeSet, io};

/// All messages in a form; lines end with `\n`.
pub(super) fn text(format: OutputFormat, all: &[Checked]) -> io::Result<String> {
    let each = |line: fn(&[SourceFile], &Diagnostic) -> String| -> String {
        all.iter().flat_map(|it| it.found.iter().map(|found| line(&it.files, found))).collect()
    };
    Ok(match format {
        OutputFormat::Full => String::new(),
        OutputFormat::Concise => escaped(&each(concise)).into_owned(),
        OutputFormat::Github => escaped(&each(github)).into_owned(),
        OutputFormat::Json => {
            let each = all.iter().flat_map(|it| messages::json(&it.files, &it.found));
            let each: Vec<Value> = each.map(serde_json::to_value).collect::<Result<_, _>>()?;
            escaped_json(&serde_json::to_string_pretty(&each)?).into_owned() + "\n"
        }
        OutputFormat::Sarif => {
            escaped_json(&serde_json::to_string_pretty(&sarif(all))?).into_owned() + "\n"
        }
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Where a span begins and ends; of what is in no file, the beginning of the program.
fn places(files: &[SourceFile], span: Span) -> (Place, Place) {
    let nowhere = || Place {
        path: files.first().map_or(String::new(), |it| it.path.clone()),
        line: 1,
        column: 1,
    };
    let end = Span { start: span.end, ..span };
    let at = |it| driver::place(files, it).unwrap_or_else(nowhere);
    (at(span), at(end))
}

/// `aug.pipe:12:8: error[PC0123]: what is wrong (help)`
fn concise(files: &[SourceFile], it: &Diagnostic) -> String {
    let (Place { path, line, column }, _) = places(files, it.span);
    let help = it.help.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
    format!("{path}:{line}:{column}: {}[{}]: {}{help}\n", word(it.severity), it.code.id, it.message)
}

/// A workflow command, which GitHub shows at the line.
fn github(files: &[SourceFile], it: &Diagnostic) -> String {
    let (begin, end) = places(files, it.span);
    let help = it.help.as_ref().map(|it| format!("\nhelp: {it}")).unwrap_or_default();
    // As the workflow commands have it.
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
    format!(
        "::{} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
        word(it.severity),
        property(&begin.path),
        begin.line,
        begin.column,
        end.line,
        end.column,
        property(&it.code.to_string()),
        escaped(&format!("{}{help}", it.message)),
    )
}

/// All messages as SARIF 2.1.0, for code scanning.
fn sarif(all: &[Checked]) -> Value {
    let each = || all.iter().flat_map(|it| it.found.iter().map(|found| (&it.files, found)));
    let used: BTreeSet<&str> = each().map(|it| it.1.code.id).collect();
    let rules: Vec<Value> = driver::codes()
        .into_iter()
        .filter(|it| used.contains(it.id))
        .map(|it| json!({ "id": it.id, "name": it.name, "fullDescription": { "text": it.long } }))
        .collect();
    let results: Vec<Value> = each().map(|(files, it)| result(files, it)).collect();
    let driver = json!({
        "name": "pipec", "version": env!("CARGO_PKG_VERSION"), "rules": rules,
    });
    json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results }],
    })
}

fn region(files: &[SourceFile], span: Span) -> Value {
    let (begin, end) = places(files, span);
    json!({
        "startLine": begin.line, "startColumn": begin.column,
        "endLine": end.line, "endColumn": end.column,
    })
}

fn result(files: &[SourceFile], it: &Diagnostic) -> Value {
    let path = places(files, it.span).0.path;
    let help = it.help.as_ref().map(|it| format!("\n{it}")).unwrap_or_default();
    let artifact = json!({ "uri": path });
    let physical = json!({ "artifactLocation": artifact, "region": region(files, it.span) });
    let mut result = json!({
        "ruleId": it.code.id,
        "level": word(it.severity),
        "message": { "text": format!("{}{help}", it.message) },
        "locations": [{ "physicalLocation": physical }],
    });
    if let Some(fix) = &it.fix {
        let replacement = json!({
            "deletedRegion": region(files, fix.span),
            "insertedContent": { "text": fix.replacement },
        });
        let change = json!({ "artifactLocation": artifact, "replacements": [replacement] });
        result["fixes"] = json!([{ "artifactChanges": [change] }]);
    }
    result
}
