//! What a program declares: all of it is checked, one pipeline is planned.

use super::{Checker, Env, Known, Val, scope::Scope};
use crate::{
    ast::{self, DeclarationKind, walk},
    errors::check as errors,
    registry::LIBRARY_FILES,
};
use plan::{IdVec, Plan, Span, mix};
use std::collections::BTreeSet;

impl<'a> Checker<'a> {
    /// Checks every declaration, and plans the pipeline that is asked for.
    pub(super) fn program(&mut self, files: &[&ast::File]) -> Option<Plan> {
        self.given_params(files);
        for file in files.iter().filter(|it| it.id.0 < LIBRARY_FILES) {
            for declaration in file.declarations.iter().filter(|it| !it.broken) {
                if self.request.only.is_some_and(|only| !only(declaration)) {
                    continue;
                }
                self.alone(declaration);
            }
        }
        let slips = files.iter().flat_map(|it| &it.declarations).any(|it| it.broken);
        let fine = !slips && !self.diagnostics.iter().any(plan::Diagnostic::is_error);
        let chosen = self.chosen(files, fine)?;
        let mut plan = None;
        let own = files.iter().filter(|it| it.id.0 < LIBRARY_FILES);
        for declaration in own.flat_map(|it| &it.declarations) {
            if self.request.only.is_some_and(|only| !only(declaration)) {
                continue;
            }
            let is_chosen = Some(declaration.span) == chosen;
            self.asked = is_chosen || !self.request.asked_only;
            self.used.clear();
            let found = self.planned(declaration);
            if is_chosen {
                plan = found;
                let used = std::mem::take(&mut self.used);
                self.mark_needed(&used);
            }
        }
        plan
    }

    /// Checks a definition that nobody need call, on arguments of which nothing is known.
    fn alone(&mut self, declaration: &ast::Declaration) {
        let place = mix(0, plan::hash(b"alone"));
        let mut env = Env::new(declaration.span.file, place, "alone");
        // What is found out about a constant is kept for whoever asks; a definition is looked into anew.
        let is_kept =
            matches!(declaration.kind, DeclarationKind::Param(_) | DeclarationKind::Const(_));
        self.asked = is_kept || !self.request.asked_only;
        match &declaration.kind {
            DeclarationKind::Fn(it) => {
                self.unknown_params(&it.signature.formals, &mut env);
                self.value(&it.body, &mut env);
            }
            DeclarationKind::Pipeline(it) => {
                let Some(formals) = &it.formals else { return };
                self.unknown_params(formals, &mut env);
                self.value(&it.body, &mut env);
            }
            // Whoever runs one pipeline looks into the streams that it needs alone.
            DeclarationKind::Const(it) if self.request.asked_only && has_steps(&it.value) => {}
            DeclarationKind::Param(_) | DeclarationKind::Const(_) => {
                self.declared(declaration, &env);
            }
            DeclarationKind::Extern(it) => {
                for formal in &it.signature.formals {
                    if let Some(type_) = &formal.type_ {
                        self.written_type(type_);
                    }
                }
                match &it.signature.result {
                    _ if it.is_pipeline => drop(self.fields_of(it)),
                    Some(result) => drop(self.written_type(result)),
                    None => {}
                }
                self.target(it);
            }
            DeclarationKind::Use(_) => {}
        }
        self.graph = plan::Graph::default();
    }

    fn unknown_params(&mut self, formals: &[ast::Formal], env: &mut Env<'_>) {
        let mut seen = BTreeSet::new();
        for formal in formals {
            if !seen.insert(&formal.name.text) {
                self.report(errors::field_twice(&formal.name));
            }
        }
        let params = formals.iter().map(|it| (it.name.text.clone(), Val::Broken)).collect();
        env.scopes.push(Scope::Params(params));
    }

    /// The plan of a pipeline without parameters.
    fn planned(&mut self, declaration: &ast::Declaration) -> Option<Plan> {
        let DeclarationKind::Pipeline(it) = &declaration.kind else { return None };
        if it.formals.is_some() || declaration.broken {
            return None;
        }
        self.ops = IdVec::new();
        self.writers.clear();
        if let Some(taking) = &mut self.taking {
            taking.begin();
        }
        let env = Env::new(declaration.span.file, 0, &it.name.text);
        match self.declared(declaration, &env) {
            Val::Stream(root) => {
                let ops = std::mem::take(&mut self.ops);
                let plan = Plan { name: it.name.text.clone(), ops, root };
                Some(super::rows::guarded(plan, self.registry))
            }
            _ => None,
        }
    }

    /// What a `param`, a `const` or a pipeline without parameters is.
    pub(super) fn declared(&mut self, declaration: &ast::Declaration, env: &Env<'_>) -> Val {
        if declaration.broken {
            return Val::Broken;
        }
        match &declaration.kind {
            DeclarationKind::Param(it) => self.param(it, declaration.span),
            DeclarationKind::Const(it) => self.constant_of(it, declaration.span),
            DeclarationKind::Pipeline(it) => self.pipeline(it, declaration, env),
            _ => Val::Broken,
        }
    }

    fn pipeline(
        &mut self,
        it: &ast::Pipeline,
        declaration: &ast::Declaration,
        env: &Env<'_>,
    ) -> Val {
        let place = mix(0, plan::hash(it.name.text.as_bytes()));
        let mut inner = Env::new(declaration.span.file, place, &it.name.text);
        let call = ast::Call { name: it.name.clone(), args: Vec::new(), span: it.name.span };
        let found = self.expand(declaration, &call, |checker| checker.value(&it.body, &mut inner));
        match found {
            Val::Stream(_) | Val::Broken => found,
            other => {
                let _ = env;
                let shown = self.shown(&other);
                self.report(errors::pipeline_of(&it.name.text, &shown, it.body.span))
            }
        }
    }

    fn constant_of(&mut self, it: &ast::Const, at: Span) -> Val {
        if let Some(known) = self.consts.get(&at).cloned() {
            self.uses_again(at);
            return known;
        }
        let found = self.apart(it, at, |checker| {
            let mut env = Env::new(at.file, 0, &it.name.text);
            checker.once(at, &it.name, |checker| checker.value(&it.value, &mut env))
        });
        // A stream that was not looked into may be wanted later.
        if self.asked || !found.is_broken() {
            self.consts.insert(at, found.clone());
        }
        found
    }

    fn param(&mut self, it: &ast::Param, at: Span) -> Val {
        if let Some(known) = self.consts.get(&at) {
            return known.clone();
        }
        let given = self.request.params.get(&it.name.text).filter(|_| at.file.0 == 0).cloned();
        let default = it.default.as_ref().map(|default| {
            let mut env = Env::new(at.file, 0, &it.name.text);
            let found = self.once(at, &it.name, |checker| checker.value(default, &mut env));
            (found, default.span)
        });
        let found = match (given, default) {
            (_, Some((Val::Broken, _))) => Val::Broken,
            (Some(text), default) => self.given_param(it, &text, default.map(|it| it.0)),
            (None, Some((val, at))) if super::args::known_arg(&val).is_none() => {
                let shown = self.shown(&val);
                self.report(errors::const_of(&it.name.text, &shown, at))
            }
            (None, Some((val, _))) => val,
            (None, None) if self.request.needs_params => self.report(errors::param_unset(&it.name)),
            (None, None) => Val::Broken,
        };
        self.consts.insert(at, found.clone());
        found
    }

    /// The value of `--set name=text`, of the kind that the parameter is.
    fn given_param(&mut self, it: &ast::Param, text: &str, default: Option<Val>) -> Val {
        let named = it.type_.as_ref().and_then(|it| match &it.kind {
            ast::TypeKind::Named { name, .. } => Some(name.text.as_str()),
            _ => None,
        });
        let textual = matches!(named, Some("path" | "str"))
            || (named.is_none() && matches!(default, None | Some(Val::Known(Known::Text(_)))));
        if named == Some("path") && text.is_empty() {
            return self.report(errors::empty_path(&it.name, "an empty text"));
        }
        if textual
            && named != Some("str")
            && let Some(paths) = self.given_paths(&it.name, text)
        {
            return paths;
        }
        if textual {
            return Val::text(text);
        }
        if let Some(ast::TypeExpr { kind: ast::TypeKind::Words(words), .. }) = &it.type_ {
            if words.iter().any(|it| it.text == text) {
                return Val::Known(Known::Word(text.to_owned()));
            }
            return self.report(errors::not_one_of(text, words, it.name.span));
        }
        let parsed = parsed_value(text, it.name.span);
        let mut env = Env::new(it.name.span.file, 0, "");
        match parsed.map(|it| self.value(&it, &mut env)) {
            Some(val) if super::args::known_arg(&val).is_some() => {
                if default.as_ref().is_some_and(|it| it.kind() != val.kind()) {
                    return self.report(errors::param_kind(&it.name, text, default.as_ref()));
                }
                val
            }
            _ => self.report(errors::param_kind(&it.name, text, default.as_ref())),
        }
    }

    /// Several paths, where `text` is a list of them: `['a.arrow', 'b.arrow']`. One path may begin with `[`, too.
    fn given_paths(&mut self, name: &ast::Name, text: &str) -> Option<Val> {
        if !text.starts_with('[') {
            return None;
        }
        let list = parsed_value(text, name.span)?;
        let ast::ExprKind::List(paths) = &list.kind else { return None };
        if !paths.iter().all(|it| matches!(it.kind, ast::ExprKind::Str { .. })) {
            return None;
        }
        let found = self.value(&list, &mut Env::new(name.span.file, 0, ""));
        let is_empty = |it: &Val| matches!(it, Val::Known(Known::Text(it)) if it.is_empty());
        match &found {
            Val::List(all) if all.is_empty() => {
                Some(self.report(errors::empty_path(name, "an empty list")))
            }
            Val::List(all) if all.iter().any(is_empty) => {
                Some(self.report(errors::empty_path(name, "a list with an empty text")))
            }
            _ => Some(found),
        }
    }

    /// Names given with `--set` that no `param` has.
    fn given_params(&mut self, files: &[&ast::File]) {
        let params: Vec<&str> = files
            .iter()
            .filter(|it| it.id.0 == 0)
            .flat_map(|it| &it.declarations)
            .filter(|it| matches!(it.kind, DeclarationKind::Param(_)))
            .filter_map(|it| it.name().map(|it| it.text.as_str()))
            .collect();
        for name in self.request.params.keys() {
            if !params.contains(&name.as_str()) {
                let at = files.first().map_or(Span::default(), |it| Span::new(it.id, 0, 0));
                self.report(errors::no_such_param(name, &params, at));
            }
        }
    }

    /// The pipeline to be planned, where it is clear which; by the place of its declaration.
    ///
    /// That it is not clear is said only where nothing else is wrong.
    fn chosen(&mut self, files: &[&ast::File], fine: bool) -> Option<Option<Span>> {
        let main = files.first()?;
        let pipelines: Vec<&ast::Declaration> = main
            .declarations
            .iter()
            .filter(|it| matches!(&it.kind, DeclarationKind::Pipeline(it) if it.formals.is_none()))
            .collect();
        let name_of = |it: &ast::Declaration| it.name().map_or(String::new(), |it| it.text.clone());
        let names: Vec<String> = pipelines.iter().map(|it| name_of(it)).collect();
        let at = Span::new(main.id, 0, 0);
        if let Some(name) = self.request.pipeline {
            let found = pipelines.iter().find(|it| name_of(it) == name);
            if found.is_none() {
                self.report(errors::no_such_pipeline(name, &names, at));
            }
            return Some(found.map(|it| it.span));
        }
        // What a pipeline's own name says in its body is a field.
        let others = |it: &&&ast::Declaration| {
            let own = name_of(it);
            used_names(it).into_iter().filter(move |name| *name != own).collect::<Vec<_>>()
        };
        let mut used: BTreeSet<String> = pipelines.iter().flat_map(|it| others(&it)).collect();
        let consts = |it: &&ast::Declaration| matches!(it.kind, DeclarationKind::Const(_));
        used.extend(main.declarations.iter().filter(consts).flat_map(used_names));
        let ends: Vec<&&ast::Declaration> =
            pipelines.iter().filter(|it| !used.contains(&name_of(it))).collect();
        match ends.as_slice() {
            [one] => Some(Some(one.span)),
            _ if !self.request.needs_params || !fine => Some(None),
            [] if pipelines.is_empty() => {
                self.report(errors::no_pipeline(at));
                Some(None)
            }
            _ => {
                self.report(errors::which_pipeline(&names, at));
                Some(None)
            }
        }
    }
}

/// A value as it would be written in a program; messages about it point at `at`.
fn parsed_value(text: &str, at: Span) -> Option<ast::Expr> {
    let (file, diagnostics) = crate::syntax::parse(&format!("const VALUE = {text}"), at.file);
    match file.declarations.as_slice() {
        [ast::Declaration { kind: DeclarationKind::Const(it), broken: false, .. }]
            if diagnostics.is_empty() && is_plain(&it.value) =>
        {
            Some(ast::Expr { span: at, ..it.value.clone() })
        }
        _ => None,
    }
}

/// Whether a value names and calls nothing.
fn is_plain(expr: &ast::Expr) -> bool {
    let mut plain = true;
    walk(expr, &mut |it| {
        plain &=
            !matches!(it.kind, ast::ExprKind::Name(_) | ast::ExprKind::Call(_) | ast::ExprKind::It);
    });
    plain
}

/// Whether a stream may come of an expression.
fn has_steps(expr: &ast::Expr) -> bool {
    let mut found = false;
    walk(expr, &mut |it| found |= matches!(it.kind, ast::ExprKind::Pipe { .. }));
    found
}

/// The names that the body of a pipeline or a constant mentions.
fn used_names(declaration: &ast::Declaration) -> Vec<String> {
    let body = match &declaration.kind {
        DeclarationKind::Pipeline(it) => &it.body,
        DeclarationKind::Const(it) => &it.value,
        _ => return Vec::new(),
    };
    let mut names = Vec::new();
    walk(body, &mut |it| {
        if let ast::ExprKind::Name(name) = &it.kind {
            names.push(name.clone());
        }
    });
    names
}
