//! A program as text, for `--emit program`.

use super::{
    graph_text::{arguments, nodes, policy, records},
    plan_text::record,
};
use plan::{Code, Commas, Field, Lanes, Program, Spans, Stage, Transform, Windows};
use std::fmt::Write;

/// The stages of `program`, with every expression.
#[must_use]
pub fn program_text(program: &Program) -> String {
    let batches = if program.batched { " in batches" } else { "" };
    let mut text = format!("program {}: {}{batches}\n", program.name, record(&program.output));
    for (id, stage) in program.stages.iter() {
        let _ = writeln!(text, "\n{id} = {}    # {}", head(stage), stage.steps.join(" "));
        if let Code::Transform(it) = &stage.code {
            let input = &program.stages[stage.inputs[0]].columns;
            transform(&mut text, it, (input, &stage.columns));
        }
        let _ = writeln!(text, "    -> {}, {} rows per chunk", record(&stage.columns), stage.rows);
        if program.once.contains(&id) {
            text.push_str("    once per run up to here\n");
        }
        if let Some(lanes) = program.lanes.iter().find(|it| it.stage == id) {
            let Lanes { count, rows, .. } = lanes;
            let _ = writeln!(text, "    {count} lanes up to here, {rows} records of each in turn");
        }
    }
    text
}

fn head(stage: &Stage) -> String {
    let inputs = Commas(&stage.inputs);
    match &stage.code {
        Code::Source { entry, args, shuffles, spans, skip, take, laps, windows, .. } => {
            let mut head = format!("source {entry}({})", arguments(args));
            if *skip > 0 {
                let _ = write!(head, " skip {skip}");
            }
            if let Some(take) = take {
                let _ = write!(head, " take {take}");
            }
            for key in shuffles {
                let _ = write!(head, " shuffle {key:016x}");
            }
            if let Some(Spans { place, open }) = spans {
                let _ = write!(head, " spans {place:016x}, {open} open");
            }
            if let Some(Windows { length, hop, shuffles, series }) = windows {
                let _ = write!(head, " windows {length} every {hop}");
                if series.is_some() {
                    head.push_str(" of each series");
                }
                for key in shuffles {
                    let _ = write!(head, " shuffle {key:016x}");
                }
            }
            match laps {
                Some(1) => {}
                Some(n) => {
                    let _ = write!(head, " laps {n}");
                }
                None => head.push_str(" laps forever"),
            }
            head
        }
        Code::Transform(it) => {
            let kind = match (it.reads, it.vector) {
                (true, _) => "read",
                _ if it.foreign => "transform outside",
                (_, true) => "transform at once",
                _ if it.clean_vector => "transform at once if clean",
                _ => "transform",
            };
            format!("{kind} {inputs}")
        }
        Code::Operator { entry, args, .. } => format!("{entry} {inputs} ({})", arguments(args)),
    }
}

fn transform(text: &mut String, transform: &Transform, (input, output): (&[Field], &[Field])) {
    nodes(text, &transform.graph, input);
    for keep in &transform.filters {
        let _ = writeln!(text, "    keep {keep}");
    }
    let rows = transform.into_batch.map(|it| format!(" into batches of {it}"));
    let values = records(&transform.outputs, output);
    let _ = writeln!(text, "    {values}{}", rows.unwrap_or_default());
    let another = match &transform.another[..] {
        [] => String::new(),
        path => format!(" through {}", Commas(path)),
    };
    let _ = writeln!(text, "    else {}{another}", policy(transform.on_fault));
}
