//! What a built file could not use: functions and sources of Python.

use crate::session::{compiled::Compiled, errors, load::Loaded};
use compiler::ast::DeclarationKind;
use plan::{Code, Diagnostic, Expr, Foreign, ForeignSource};
use std::collections::BTreeSet;

/// A message for each function or source of Python that the pipeline uses, where it is declared: no built file can run it.
///
/// What is declared and not used does no harm.
pub fn needs_python(loaded: &Loaded, compiled: &Compiled) -> Vec<Diagnostic> {
    let used = used(compiled);
    let declarations = loaded.trees.iter().flat_map(|it| &it.declarations);
    let declared = declarations.filter_map(|it| match &it.kind {
        DeclarationKind::Extern(it) => Some(it),
        _ => None,
    });
    let told = declared.filter_map(|it| {
        // The target of a pure function ends with its version.
        let target = it.target.value.split('@').next().unwrap_or_default();
        used.contains(&(it.signature.name.text.clone(), target.to_owned()))
            .then(|| errors::build_needs_python(it, it.signature.name.span))
    });
    told.collect()
}

/// Whether the pipeline calls a function of Python, or reads a source there.
pub fn calls_python(compiled: &Compiled) -> bool {
    !used(compiled).is_empty()
}

/// The functions and sources of Python that the pipeline uses: their names, and what they stand for.
fn used(compiled: &Compiled) -> BTreeSet<(String, String)> {
    let mut used = BTreeSet::new();
    for stage in compiled.program.stages.rows() {
        match &stage.code {
            Code::Source { entry, args, .. } => {
                used.extend(ForeignSource::of(entry, args).map(|it| (it.name, it.target)));
            }
            Code::Transform(transform) => {
                for (_, expr, _) in transform.graph.iter() {
                    if let Expr::Call { function, args, .. } = expr {
                        used.extend(Foreign::of(function, args).map(|it| (it.name, it.target)));
                    }
                }
            }
            Code::Operator { .. } => {}
        }
    }
    used
}
