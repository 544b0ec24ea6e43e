//! What a program declares, and which number each call has among the calls of its name.

use crate::{ast, errors::check as errors, registry::LIBRARY_FILES};
use plan::{Diagnostic, FileId, Span};
use std::collections::{BTreeMap, HashMap};

/// The declarations of a program and of the library that is written in the language.
pub(crate) struct Names<'a> {
    /// Names that are called: `fn`, `extern fn`, `pipeline` with parameters; by file.
    pub(crate) called: BTreeMap<(FileId, &'a str), &'a ast::Declaration>,
    /// Names that are not: `param`, `const`, `pipeline` without parameters; by file.
    pub(crate) named: BTreeMap<(FileId, &'a str), &'a ast::Declaration>,
    /// The same of the library, whatever its file.
    pub(crate) library: BTreeMap<&'a str, &'a ast::Declaration>,
    /// The number of a call among those of its name in the same definition, from 1.
    ordinals: HashMap<Span, u32>,
}

impl<'a> Names<'a> {
    /// Collects what `files` declare; `imports` gives the file that a `use` names.
    pub(crate) fn new(
        files: &[&'a ast::File],
        imports: &BTreeMap<Span, FileId>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut names = Self {
            called: BTreeMap::new(),
            named: BTreeMap::new(),
            library: BTreeMap::new(),
            ordinals: HashMap::new(),
        };
        for file in files {
            for declaration in &file.declarations {
                names.declare(file.id, declaration, diagnostics);
                number_calls(declaration, &mut names.ordinals);
            }
        }
        for file in files {
            for declaration in &file.declarations {
                names.import(file.id, declaration, imports, diagnostics);
            }
        }
        names
    }

    /// The number of the call at `at`; the checker asks only for what was numbered.
    pub(crate) fn ordinal(&self, at: Span) -> u32 {
        self.ordinals.get(&at).copied().unwrap_or(0)
    }

    fn declare(
        &mut self,
        file: FileId,
        declaration: &'a ast::Declaration,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let Some(name) = declaration.name() else { return };
        if file.0 >= LIBRARY_FILES {
            self.library.insert(&name.text, declaration);
            return;
        }
        let table = if is_called(declaration) { &mut self.called } else { &mut self.named };
        match table.get(&(file, name.text.as_str())) {
            Some(first) => {
                let first = first.name().map_or(first.span, |it| it.span);
                diagnostics.push(errors::declared_twice(name, first));
            }
            None => {
                table.insert((file, &name.text), declaration);
            }
        }
    }

    fn import(
        &mut self,
        file: FileId,
        declaration: &'a ast::Declaration,
        imports: &BTreeMap<Span, FileId>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let ast::DeclarationKind::Use(it) = &declaration.kind else { return };
        let Some(&from) = imports.get(&it.from.span) else { return };
        for name in &it.names {
            let called = self.called.get(&(from, name.text.as_str())).copied();
            let named = self.named.get(&(from, name.text.as_str())).copied();
            if let Some(declaration) = called {
                self.called.insert((file, &name.text), declaration);
            }
            if let Some(declaration) = named {
                self.named.insert((file, &name.text), declaration);
            }
            if called.is_none() && named.is_none() {
                diagnostics.push(errors::not_declared_there(name, &it.from.value));
            }
        }
    }
}

/// Whether a declaration is called rather than named.
pub(crate) fn is_called(declaration: &ast::Declaration) -> bool {
    use ast::DeclarationKind::{Extern, Fn, Pipeline};
    match &declaration.kind {
        Fn(_) | Extern(_) => true,
        Pipeline(it) => it.formals.is_some(),
        _ => false,
    }
}

/// Numbers the calls of one definition in the order of its text.
fn number_calls(declaration: &ast::Declaration, ordinals: &mut HashMap<Span, u32>) {
    let body = match &declaration.kind {
        ast::DeclarationKind::Fn(it) => &it.body,
        ast::DeclarationKind::Pipeline(it) => &it.body,
        ast::DeclarationKind::Const(it) => &it.value,
        _ => return,
    };
    let mut calls = Vec::new();
    ast::walk(body, &mut |it| match &it.kind {
        ast::ExprKind::Call(call) => calls.push((call.name.text.as_str(), call.name.span)),
        ast::ExprKind::Pipe { stage: ast::Stage::Call(call), .. } => {
            calls.push((&call.name.text, call.name.span));
        }
        ast::ExprKind::Pipe { stage: ast::Stage::Each(each), .. } => {
            calls.push((each.kind.word(), each.at));
        }
        _ => {}
    });
    calls.sort_by_key(|(_, at)| at.start);
    let mut seen: HashMap<&str, u32> = HashMap::new();
    for (name, at) in calls {
        let n = seen.entry(name).or_default();
        *n += 1;
        ordinals.insert(at, *n);
    }
}
