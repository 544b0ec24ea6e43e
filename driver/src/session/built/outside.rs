//! What a built file could not call: functions of Python.

use crate::session::{compiled::Compiled, errors, load::Loaded};
use compiler::ast::DeclarationKind;
use plan::{Code, Diagnostic, Expr, Foreign};
use std::collections::BTreeMap;

/// A message for each function of Python that the pipeline calls, where it is declared: no built file can run it.
///
/// What is declared and not called does no harm.
pub fn needs_python(loaded: &Loaded, compiled: &Compiled) -> Vec<Diagnostic> {
    let called = called(compiled);
    let declarations = loaded.trees.iter().flat_map(|it| &it.declarations);
    let declared = declarations.filter_map(|it| match &it.kind {
        DeclarationKind::Extern(it) => Some(it),
        _ => None,
    });
    let told = declared.filter_map(|it| {
        let name = called.get(&it.target.value)?;
        Some(errors::build_needs_python(name, &it.target.value, it.signature.name.span))
    });
    told.collect()
}

/// Whether the pipeline calls a function of Python.
pub fn calls_python(compiled: &Compiled) -> bool {
    !called(compiled).is_empty()
}

/// The functions of Python that the pipeline calls: their names by what they stand for.
fn called(compiled: &Compiled) -> BTreeMap<String, String> {
    let mut called = BTreeMap::new();
    for stage in compiled.program.stages.rows() {
        let Code::Transform(transform) = &stage.code else { continue };
        for (_, expr, _) in transform.graph.iter() {
            if let Expr::Call { function, args, .. } = expr
                && let Some(foreign) = Foreign::of(function, args)
            {
                called.insert(foreign.target, foreign.name);
            }
        }
    }
    called
}
