//! Which name means which: what is declared, and wherever it is used, in all files of a program.

use compiler::{
    Notes,
    ast::{
        self, Arg, Call, Declaration, DeclarationKind, Expr, ExprKind, Extent, Formal, Name,
        Otherwise, Part, Place, Stage, TypeExpr, TypeKind,
    },
};
use driver::Loaded;
use plan::{FileId, Span};
use std::collections::HashMap;

/// Every name of a program that was understood.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) all: Vec<Occurrence>,
}

/// A name at a place.
#[derive(Debug, Clone)]
pub(crate) struct Occurrence {
    /// Where it stands.
    pub(crate) at: Span,
    pub(crate) text: String,
    pub(crate) meaning: Meaning,
    /// A bare entry of a record, `{ image }`, which is a value and a field at once.
    pub(crate) bare: bool,
}

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
    /// What is declared under the name at this place.
    Declared(Span),
    /// The parameter, or the element of a `for`, named at this place.
    Local(Span),
    /// A field; where it was written, where that is known.
    Field(Option<Span>),
    /// An entry of the library, called on a stream or not.
    Library,
}

impl Names {
    /// The name at a byte of the main file.
    pub(crate) fn at(&self, byte: u32) -> Option<&Occurrence> {
        let here = self.all.iter().filter(|it| crate::analysis::holds(it.at, byte));
        here.min_by_key(|it| (it.at.len(), it.bare))
    }

    /// All that mean the same, by place.
    pub(crate) fn like(&self, it: &Occurrence) -> Vec<&Occurrence> {
        let same = |other: &&Occurrence| match (it.meaning, other.meaning) {
            (Meaning::Library, Meaning::Library) => other.text == it.text,
            (Meaning::Field(None), Meaning::Field(None)) => other.at == it.at,
            (a, b) => a == b,
        };
        let mut all: Vec<&Occurrence> = self.all.iter().filter(same).collect();
        all.sort_by_key(|it| (it.at.file, it.at.start));
        all
    }
}

/// Finds out what each name of a program means.
pub(crate) fn resolve(loaded: &Loaded, notes: &Notes) -> Names {
    let mut tables = Tables::default();
    for file in &loaded.trees {
        file.declarations.iter().for_each(|it| tables.declare(file.id, it));
    }
    for file in &loaded.trees {
        file.declarations.iter().for_each(|it| tables.import(file.id, it, loaded));
    }
    let mut resolver = Resolver { tables, notes, scopes: Vec::new(), names: Names::default() };
    for file in &loaded.trees {
        for it in file.declarations.iter().filter(|it| !it.broken || it.name().is_some()) {
            resolver.declaration(it, loaded);
        }
    }
    resolver.names
}

/// What the files declare: the places of names, apart for what is called and what is not.
#[derive(Default)]
struct Tables {
    called: HashMap<(FileId, String), Called>,
    named: HashMap<(FileId, String), Span>,
}

#[derive(Clone)]
struct Called {
    at: Span,
    formals: Vec<(String, Span)>,
}

impl Tables {
    fn declare(&mut self, file: FileId, it: &Declaration) {
        let Some(name) = it.name() else { return };
        let key = (file, name.text.clone());
        let formals = match &it.kind {
            DeclarationKind::Fn(it) => &it.signature.formals,
            DeclarationKind::Extern(it) => &it.signature.formals,
            DeclarationKind::Pipeline(ast::Pipeline { formals: Some(formals), .. }) => formals,
            _ => {
                self.named.entry(key).or_insert(name.span);
                return;
            }
        };
        let formals = formals.iter().map(|it| (it.name.text.clone(), it.name.span)).collect();
        self.called.entry(key).or_insert(Called { at: name.span, formals });
    }

    fn import(&mut self, file: FileId, it: &Declaration, loaded: &Loaded) {
        let DeclarationKind::Use(it) = &it.kind else { return };
        let Some(&from) = loaded.imports.get(&it.from.span) else { return };
        for name in &it.names {
            if let Some(found) = self.called.get(&(from, name.text.clone())).cloned() {
                self.called.insert((file, name.text.clone()), found);
            }
            if let Some(found) = self.named.get(&(from, name.text.clone())).copied() {
                self.named.insert((file, name.text.clone()), found);
            }
        }
    }
}

struct Resolver<'a> {
    tables: Tables,
    notes: &'a Notes,
    /// Parameters and the elements of `for`, inner ones behind outer ones.
    scopes: Vec<(String, Span)>,
    names: Names,
}

impl Resolver<'_> {
    fn add(&mut self, name: &Name, meaning: Meaning) {
        let (at, text) = (name.span, name.text.clone());
        self.names.all.push(Occurrence { at, text, meaning, bare: false });
    }

    fn declaration(&mut self, it: &Declaration, loaded: &Loaded) {
        if let Some(name) = it.name() {
            self.add(name, Meaning::Declared(name.span));
        }
        match &it.kind {
            DeclarationKind::Param(it) => {
                it.default.iter().for_each(|it| self.expr(it));
            }
            DeclarationKind::Const(it) => self.expr(&it.value),
            DeclarationKind::Fn(it) => self.body(&it.signature.formals, Some(&it.body)),
            DeclarationKind::Extern(it) => self.body(&it.signature.formals, None),
            DeclarationKind::Pipeline(it) => {
                self.body(it.formals.as_deref().unwrap_or_default(), Some(&it.body));
            }
            DeclarationKind::Use(it) => {
                let file = it.from.span.file;
                let known = loaded.imports.contains_key(&it.from.span);
                for name in it.names.iter().filter(|_| known) {
                    let key = (file, name.text.clone());
                    let called = self.tables.called.get(&key).map(|it| it.at);
                    if let Some(at) = called.or(self.tables.named.get(&key).copied()) {
                        self.add(name, Meaning::Declared(at));
                    }
                }
            }
        }
    }

    fn body(&mut self, formals: &[Formal], body: Option<&Expr>) {
        for formal in formals {
            self.add(&formal.name, Meaning::Local(formal.name.span));
            formal.type_.iter().for_each(|it| self.type_(it));
            formal.default.iter().for_each(|it| self.expr(it));
            self.scopes.push((formal.name.text.clone(), formal.name.span));
        }
        body.iter().for_each(|it| self.expr(it));
        self.scopes.clear();
    }

    fn type_(&mut self, it: &TypeExpr) {
        match &it.kind {
            TypeKind::Named { extents, .. } => extents.iter().for_each(|it| {
                // A name that is nothing here unifies.
                if let Extent::Known(it) = it {
                    self.expr(it);
                }
            }),
            TypeKind::Record { fields, .. } => fields.iter().for_each(|it| self.type_(&it.type_)),
            TypeKind::Words(_) | TypeKind::Broken => {}
        }
    }

    fn name(&mut self, text: &str, at: Span, bare: bool) {
        let field = self.notes.fields.get(&at);
        let local = self.scopes.iter().rev().find(|it| it.0 == text);
        let meaning = match (field, local) {
            (Some(origin), _) => Meaning::Field(*origin),
            (None, Some(it)) => Meaning::Local(it.1),
            (None, None) => match self.tables.named.get(&(at.file, text.to_owned())) {
                Some(it) => Meaning::Declared(*it),
                None => return,
            },
        };
        self.names.all.push(Occurrence { at, text: text.to_owned(), meaning, bare });
    }

    fn call(&mut self, call: &Call) {
        let found = self.tables.called.get(&(call.name.span.file, call.name.text.clone())).cloned();
        match &found {
            Some(it) => self.add(&call.name, Meaning::Declared(it.at)),
            None => self.add(&call.name, Meaning::Library),
        }
        let formals = found.map(|it| it.formals).unwrap_or_default();
        call.args.iter().for_each(|it| self.arg(it, &formals));
    }

    fn arg(&mut self, arg: &Arg, formals: &[(String, Span)]) {
        if let Some(name) = &arg.name
            && let Some(formal) = formals.iter().find(|it| it.0 == name.text)
        {
            self.add(name, Meaning::Local(formal.1));
        }
        self.expr(&arg.value);
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(text) => self.name(text, expr.span, false),
            ExprKind::It | ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Broken => {}
            ExprKind::Str { parts, .. } => parts.iter().for_each(|it| {
                if let Part::Hole(name) = it {
                    self.name(&name.text, name.span, false);
                }
            }),
            ExprKind::List(all) => all.iter().for_each(|it| self.expr(it)),
            ExprKind::Comprehension { body, var, over } => {
                self.expr(over);
                self.add(var, Meaning::Local(var.span));
                self.scopes.push((var.text.clone(), var.span));
                self.expr(body);
                self.scopes.pop();
            }
            ExprKind::Record(entries) => entries.iter().for_each(|it| self.entry(it)),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Pipe { lhs, stage } => {
                self.expr(lhs);
                match stage {
                    Stage::Each(it) => self.expr(&it.body),
                    Stage::Call(it) => self.call(it),
                }
            }
            ExprKind::Else { lhs, otherwise } => {
                self.expr(lhs);
                match otherwise {
                    Otherwise::Value(it) => self.expr(it),
                    Otherwise::Policy(it) => it.args.iter().for_each(|it| self.expr(&it.value)),
                }
            }
            ExprKind::Binary { lhs, rhs, .. } | ExprKind::Compare { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Unary { operand, .. } => self.expr(operand),
            ExprKind::In { value, set, .. } => [value, set].iter().for_each(|it| self.expr(it)),
            ExprKind::Interval { from, to } => [from, to].iter().for_each(|it| self.expr(it)),
            ExprKind::If { cond, then, otherwise } => {
                [cond, then, otherwise].iter().for_each(|it| self.expr(it));
            }
            ExprKind::Index { base, places } => {
                self.expr(base);
                places.iter().for_each(|it| self.place(it));
            }
            ExprKind::Field { base, .. } => self.expr(base),
            ExprKind::As { value, type_ } => {
                self.expr(value);
                self.type_(type_);
            }
        }
    }

    /// A field of a record, at the place where it is written.
    fn entry(&mut self, it: &ast::Entry) {
        if it.bare {
            self.name(&it.name.text, it.name.span, true);
            return;
        }
        self.add(&it.name, Meaning::Field(Some(it.name.span)));
        self.expr(&it.value);
    }

    fn place(&mut self, it: &Place) {
        match it {
            Place::At(it) => self.expr(it),
            Place::Slice { from, to, .. } => {
                from.iter().chain(to).for_each(|it| self.expr(it));
            }
        }
    }
}
