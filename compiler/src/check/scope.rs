//! Which names mean what at a place of the program.

use super::{Checker, Val, value::Known};
use crate::{ast, errors::check as errors, registry::LIBRARY_FILES};
use plan::{FileId, OpId, Span, is_name};

/// The surroundings of an expression.
#[derive(Clone)]
pub(crate) struct Env<'s> {
    /// The file that it stands in.
    pub(crate) file: FileId,
    /// The chain of calls that leads here.
    pub(crate) place: u64,
    /// The pipeline that it stands in, for the names of steps.
    pub(crate) pipeline: &'s str,
    /// Inner scopes behind outer ones.
    pub(crate) scopes: Vec<Scope>,
}

/// Names that mean something.
#[derive(Clone)]
pub(crate) enum Scope {
    /// Parameters of the definition.
    Params(Vec<(String, Val)>),
    /// The variable of a comprehension.
    Var(String, Val),
    /// The fields of a record; of a stream, with the operator that gives them.
    Record(Val, Option<OpId>),
}

impl<'s> Env<'s> {
    /// Where nothing but the file's own names are known.
    pub(crate) fn new(file: FileId, place: u64, pipeline: &'s str) -> Self {
        Self { file, place, pipeline, scopes: Vec::new() }
    }

    /// The same with one scope more.
    pub(crate) fn with(&self, scope: Scope) -> Self {
        let mut inner = self.clone();
        inner.scopes.push(scope);
        inner
    }

    /// Whether it is computed for each record, so that no stream can begin here.
    pub(crate) fn is_in_record(&self) -> bool {
        self.scopes.iter().any(Scope::is_of_a_record)
    }
}

impl Scope {
    /// Whether names are those of a record that is known: where a mistake was made before, what
    /// follows need not be in one.
    pub(crate) fn is_of_a_record(&self) -> bool {
        matches!(self, Self::Record(record, _) if !matches!(record, Val::Broken))
    }

    pub(super) fn find(&self, name: &str) -> Option<&Val> {
        match self {
            Self::Params(all) | Self::Record(Val::Record(all), _) => {
                all.iter().find(|(it, _)| it == name).map(|(_, it)| it)
            }
            Self::Var(it, val) => (it == name).then_some(val),
            Self::Record(..) => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        match self {
            Self::Params(all) | Self::Record(Val::Record(all), _) => {
                all.iter().map(|(it, _)| it.as_str()).collect()
            }
            Self::Var(it, _) => vec![it],
            Self::Record(..) => Vec::new(),
        }
    }
}

impl<'a> Checker<'a> {
    /// What `name` means: a field, else a parameter of the definition, else of the file.
    pub(crate) fn name(&mut self, name: &str, at: Span, env: &Env<'_>) -> Val {
        if let Some(i) = env.scopes.iter().rposition(|it| it.find(name).is_some()) {
            let found = env.scopes[i].find(name).cloned().unwrap_or(Val::Broken);
            if let Scope::Record(_, op) = &env.scopes[i] {
                self.note_field(at, name, *op);
            }
            if let Scope::Record(_, Some(op)) = &env.scopes[i] {
                let outer = env.scopes[..i].iter().any(|it| it.find(name).is_some());
                if (outer || self.is_declared(name, env)) && !self.is_own(*op, name, env) {
                    return self.report(errors::hides(name, at));
                }
            }
            return found;
        }
        if env.scopes.iter().any(|it| matches!(it, Scope::Record(Val::Broken, _))) {
            return Val::Broken;
        }
        if let Some(declaration) = self.names.named.get(&(env.file, name)).copied() {
            return self.declared(declaration, env);
        }
        if name == "epoch" {
            let ty = plan::Type::scalar(plan::DType::I64);
            return Val::Expr(self.node(plan::Expr::Epoch, ty));
        }
        if env.file.0 >= LIBRARY_FILES
            && let Some(declaration) = self.names.library.get(name).copied()
            && !super::names::is_called(declaration)
        {
            return self.declared(declaration, env);
        }
        self.unknown_name(name, at, env)
    }

    fn is_declared(&self, name: &str, env: &Env<'_>) -> bool {
        let of_file = self.names.named.get(&(env.file, name));
        of_file.is_some_and(|it| !matches!(it.kind, ast::DeclarationKind::Pipeline(_)))
    }

    /// Whether the definition itself wrote the field that `op` gives.
    fn is_own(&self, op: OpId, name: &str, env: &Env<'_>) -> bool {
        self.writers.get(&(op, name.to_owned())) == Some(&env.place)
    }

    fn unknown_name(&mut self, name: &str, at: Span, env: &Env<'_>) -> Val {
        let mut near: Vec<&str> = env.scopes.iter().flat_map(Scope::names).collect();
        near.retain(|it| is_name(it));
        near.extend(self.names.named.keys().filter(|it| it.0 == env.file).map(|it| it.1));
        let called = self.is_called_somewhere(name, env);
        let fields = env.scopes.iter().rev().find(|it| matches!(it, Scope::Record(..)));
        let fields = fields.map(|it| it.names().join(", "));
        let diagnostic = errors::unknown_name(name, at, &near, called, fields.as_deref());
        let op = env.scopes.iter().rev().find_map(|it| match it {
            Scope::Record(_, op) => *op,
            _ => None,
        });
        let left_out = op.and_then(|it| self.left_out(name, it));
        let unnamed = op.and_then(|it| self.unnamed(name, it));
        let is_told = called || diagnostic.fix.is_some();
        self.report(match (left_out, unnamed) {
            (Some((word, step)), _) => errors::left_out(diagnostic, name, word, step),
            (_, Some(it)) if it.is_meant || !is_told => errors::unnamed_column(diagnostic, &it),
            _ => diagnostic,
        })
    }

    fn is_called_somewhere(&self, name: &str, env: &Env<'_>) -> bool {
        self.names.called.contains_key(&(env.file, name))
            || self.names.library.contains_key(name)
            || self.registry.find(name).is_some()
    }

    /// `it`: the whole record.
    pub(crate) fn it(&mut self, at: Span, env: &Env<'_>) -> Val {
        let record = env.scopes.iter().rev().find_map(|it| match it {
            Scope::Record(record, _) => Some(record.clone()),
            _ => None,
        });
        match record {
            Some(record) => record,
            None => self.report(errors::it_without_record(at)),
        }
    }

    /// Text with its holes filled in.
    pub(crate) fn string(
        &mut self,
        (text, parts): (&str, &[ast::Part]),
        at: Span,
        env: &Env<'_>,
    ) -> Val {
        if let Some(mistake) = self.expression_in_text(text, at, env) {
            return self.report(mistake);
        }
        let mut pieces = Vec::new();
        for part in parts {
            match part {
                ast::Part::Chunk(text) => pieces.push(Val::text(text.as_str())),
                ast::Part::Hole(name) => match self.name(&name.text, name.span, env) {
                    Val::Broken => return Val::Broken,
                    Val::List(_) => return self.report(errors::list_in_text(name)),
                    found => pieces.push(found),
                },
            }
        }
        match pieces.iter().map(known_text).collect::<Option<Vec<_>>>() {
            Some(all) => Val::text(all.concat()),
            None => self.join_texts(&pieces, at),
        }
    }
}

fn known_text(val: &Val) -> Option<String> {
    match val {
        Val::Known(Known::Text(it) | Known::Word(it)) => Some(it.clone()),
        Val::Known(Known::Bool(it)) => Some(it.to_string()),
        Val::Known(Known::Number(it)) => {
            Some(it.as_int().map_or_else(|| it.as_f64().to_string(), |it| it.to_string()))
        }
        _ => None,
    }
}
