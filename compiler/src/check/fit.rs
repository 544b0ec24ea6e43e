//! Whether an argument is what a signature of the library asks for.

use super::{Checker, Env, InputError, Known, Val, args::known_arg, stores::in_store, value::Size};
use crate::{
    ast::{self, TypeKind},
    errors::check as errors,
};
use plan::{Arg, DType, ExprId, Extent, File, Span, Type, Untyped};
use std::{collections::BTreeMap, path::Path};

/// What the variables of a signature stand for in one call.
#[derive(Default)]
pub(crate) struct Vars {
    dtypes: BTreeMap<String, DType>,
    extents: BTreeMap<String, Extent>,
    /// Whole numbers that were given for parameters, where they are known.
    ints: BTreeMap<String, Option<i64>>,
}

/// A parameter's type, as the checker treats it.
pub(crate) enum Kind<'t> {
    Words(&'t [ast::Name]),
    Stream,
    Streams,
    Any,
    Untyped,
    Int,
    /// An integer, or integers for several: a list of them, or a record.
    Ints(Several),
    Float,
    Bool,
    Text,
    /// An interval, numbers, a record, a list: known while compiling.
    Known(&'static str),
    Type,
    Values,
    Sources,
    /// A file, whose contents are part of the program.
    File,
    /// A list of names, written out or elsewhere.
    Names,
    /// Fields of the record, by name.
    Fields,
    Tensor(&'t str, &'t [ast::Extent]),
}

/// What integers are given for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Several {
    /// Things in order.
    Listed,
    /// Fields.
    Named,
}

/// What a program may say where the compiler says conditions.
const CONDITIONS: &str = "nothing: the compiler sets it";

/// Columns of a table that are read, and what the program calls them.
const COLUMNS: &str = "a record such as `{ a, b: \"B (USD)\" }`, or a list of names";

/// How the type of a parameter is to be treated.
pub(crate) fn kind(type_: Option<&ast::TypeExpr>) -> Kind<'_> {
    let Some(type_) = type_ else { return Kind::Any };
    match &type_.kind {
        TypeKind::Words(words) => Kind::Words(words),
        TypeKind::Named { name, extents } if extents.is_empty() => match name.text.as_str() {
            "stream" => Kind::Stream,
            "streams" => Kind::Streams,
            "any" => Kind::Any,
            "untyped" => Kind::Untyped,
            "int" => Kind::Int,
            "ints" => Kind::Ints(Several::Listed),
            "lengths" => Kind::Ints(Several::Named),
            "float" => Kind::Float,
            "bool" => Kind::Bool,
            "text" => Kind::Text,
            "interval" => Kind::Known("an interval such as `0.08..1.0`"),
            "floats" => Kind::Known("a number or a list of numbers"),
            "record" => Kind::Known("a record such as `{ a: 0.0 }`"),
            "dtypes" => Kind::Known("a record of dtypes such as `{ a: f32 }`"),
            "absent" => Kind::Known("a record such as `{ a: 0, b: skip }`"),
            "shares" => Kind::Known("a record such as `{ a: 0.7, b: 0.3 }`, or a list of numbers"),
            "list" => Kind::Known("a list"),
            "conditions" => Kind::Known(CONDITIONS),
            "texts" => Kind::Known("a string, or a list of strings"),
            "columns" => Kind::Known(COLUMNS),
            "type" => Kind::Type,
            "values" => Kind::Values,
            "sources" => Kind::Sources,
            "file" => Kind::File,
            "names" => Kind::Names,
            "fields" => Kind::Fields,
            name => Kind::Tensor(name, extents),
        },
        TypeKind::Named { name, extents } => Kind::Tensor(&name.text, extents),
        TypeKind::Record { .. } => Kind::Known("a record"),
        TypeKind::Broken => Kind::Any,
    }
}

/// The bare words that a record may say of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryWords {
    /// `types: { age: f32 }`
    DTypes,
    /// `missing: { age: skip }`
    Absent,
    /// `columns: { age }`, where a bare name is that of a column.
    Columns,
}

impl EntryWords {
    pub(super) fn has(self, word: &str) -> bool {
        match self {
            Self::DTypes => DType::named(word).is_some(),
            Self::Absent => ["skip", "fault"].contains(&word),
            Self::Columns => false,
        }
    }
}

/// The words that a record may say, where a parameter of that type takes such a one.
pub(super) fn entry_words(type_: Option<&ast::TypeExpr>) -> Option<EntryWords> {
    match &type_?.kind {
        TypeKind::Named { name, extents } if extents.is_empty() => match name.text.as_str() {
            "dtypes" => Some(EntryWords::DTypes),
            "absent" => Some(EntryWords::Absent),
            "columns" => Some(EntryWords::Columns),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Checker<'a> {
    /// What the library is given for `val`, for a parameter of this kind.
    pub(super) fn fit(&mut self, formal: &ast::Formal, val: &Val, at: Span) -> Option<Arg> {
        match (kind(formal.type_.as_ref()), val) {
            (_, val) if val.is_broken() => None,
            (Kind::Words(words), Val::Known(Known::Word(it) | Known::Text(it))) => {
                if words.iter().any(|word| word.text == *it) {
                    return Some(Arg::Word(it.clone()));
                }
                self.report(errors::not_one_of(it, words, at));
                None
            }
            (Kind::Int, _) => self.int_arg(val, at),
            (Kind::Ints(several), Val::List(_) | Val::Record(_)) => {
                let all = known_arg(val).filter(|it| are_ints(several, it));
                if all.is_none() {
                    let wanted = describe(&kind(formal.type_.as_ref()));
                    let shown = self.shown(val);
                    self.report(errors::wanted(&formal.name.text, &wanted, &shown, at));
                }
                all
            }
            (Kind::Ints(_), _) => self.int_arg(val, at),
            (Kind::Float, Val::Known(Known::Number(it))) => Some(match it.size {
                Size::Int(it) => Arg::Int(it),
                Size::Float(it) => Arg::Float(it),
            }),
            (Kind::Float, Val::Expr(id)) if self.is_number(*id) => Some(Arg::Expr(*id)),
            (Kind::Bool, Val::Known(Known::Bool(it))) => Some(Arg::Bool(*it)),
            (Kind::Text, Val::Known(Known::Text(it))) => Some(Arg::Text(it.clone())),
            (Kind::File, Val::Known(Known::Text(path))) => self.file_arg(path, at),
            (Kind::Known(wanted), _) => {
                let fits =
                    known_arg(val).filter(|it| is_wanted(wanted, it) && wanted != CONDITIONS);
                if fits.is_none() {
                    let shown = self.shown(val);
                    self.report(errors::wanted(&formal.name.text, wanted, &shown, at));
                }
                fits
            }
            (Kind::Names | Kind::Fields, Val::List(_)) if is_names(known_arg(val).as_ref()) => {
                known_arg(val)
            }
            (Kind::Values, Val::List(all)) => self.nodes(all, None, at).map(Arg::Exprs),
            (Kind::Values, Val::Counted { .. } | Val::Expr(_)) => {
                self.node_of(val, None, at).map(Arg::Expr)
            }
            (Kind::Any | Kind::Untyped | Kind::Tensor(..), _) => {
                let like = match kind(formal.type_.as_ref()) {
                    Kind::Tensor(name, _) => DType::named(name),
                    _ => None,
                };
                self.node_of(val, like, at).map(Arg::Expr)
            }
            (wanted, _) => {
                let shown = self.shown(val);
                let wanted = describe(&wanted);
                self.report(errors::wanted(&formal.name.text, &wanted, &shown, at));
                None
            }
        }
    }

    /// The file at a path, with what it holds. Where nobody looks at files, or at those of this pipeline, it is there
    /// without.
    fn file_arg(&mut self, path: &str, at: Span) -> Option<Arg> {
        let inputs = self.request.inputs;
        let named = Arg::Text(path.to_owned());
        if let Some(url) = in_store(&named, &|it| inputs.reads_store(it)) {
            self.report(errors::object_store(url, at));
            return None;
        }
        let found = if self.asked { inputs.file(path) } else { Ok(None) };
        match found {
            Ok(found) => Some(Arg::File(found.unwrap_or_else(|| File::unread(path)))),
            Err(InputError::File(why) | InputError::Argument(why)) => {
                self.report(errors::input_unreadable(&why, at));
                None
            }
        }
    }

    /// The file of this name in the folder of the first file among `args`, if it is there: what a parameter for a file
    /// has as its default, `config: file = "config.json"`, is left out where there is none.
    fn file_beside(&mut self, name: &str, args: &[Arg], at: Span) -> Option<Arg> {
        let first = args.iter().find_map(|it| if let Arg::File(it) = it { Some(it) } else { None });
        // Where the first one was not read, nothing is run.
        let Some(first) = first.filter(|it| it.bytes().is_some()) else { return Some(Arg::None) };
        let path = Path::new(first.path()).with_file_name(name).display().to_string();
        match self.request.inputs.file_if_there(&path) {
            Ok(found) => Some(found.map_or(Arg::None, Arg::File)),
            Err(InputError::File(why) | InputError::Argument(why)) => {
                self.report(errors::input_unreadable(&why, at));
                None
            }
        }
    }

    fn is_number(&self, id: ExprId) -> bool {
        let ty = self.ty(id);
        let number = ty.dtype().is_some_and(|it| it.is_float() || it.is_int());
        number && ty.shape().is_some_and(<[_]>::is_empty)
    }

    /// Whether the arguments have the types of the signature; what its variables stand for.
    pub(super) fn unify(
        &mut self,
        signature: &ast::Signature,
        args: &[Arg],
        at: Span,
    ) -> Option<Vars> {
        self.unify_with(Vars::default(), (signature, args), at)
    }

    /// The same where some variables are known already.
    pub(super) fn unify_with(
        &mut self,
        mut vars: Vars,
        (signature, args): (&ast::Signature, &[Arg]),
        at: Span,
    ) -> Option<Vars> {
        for (formal, arg) in signature.formals.iter().zip(args) {
            match (kind(formal.type_.as_ref()), arg) {
                (Kind::Tensor(name, extents), Arg::Expr(id)) => {
                    let ty = self.ty(*id);
                    if let Err(wanted) = unify_tensor(name, extents, &ty, &mut vars) {
                        let diagnostic =
                            errors::input_type(&signature.name.text, formal, &ty, &wanted, at);
                        self.report(diagnostic);
                        return None;
                    }
                }
                (Kind::Untyped, Arg::Expr(id)) if !self.ty(*id).is_untyped() => {
                    let ty = self.ty(*id);
                    let wanted = "untyped data".to_owned();
                    self.report(errors::input_type(&signature.name.text, formal, &ty, &wanted, at));
                    return None;
                }
                _ => vars.count(formal, arg),
            }
        }
        Some(vars)
    }

    /// An argument that is known while compiling. What is computed may be of another graph, a parameter's value for
    /// one, and is a mistake in any.
    pub(super) fn fit_known(&mut self, formal: &ast::Formal, val: &Val, at: Span) -> Option<Arg> {
        if val.is_computed() {
            let wanted = describe(&kind(formal.type_.as_ref()));
            self.report(errors::wanted(&formal.name.text, &wanted, "a value that is computed", at));
            return None;
        }
        self.fit(formal, val, at)
    }

    /// The default of a parameter, in a call that stands `at` a place.
    pub(super) fn default_arg(
        &mut self,
        formal: &ast::Formal,
        (formals, args): (&[ast::Formal], &[Arg]),
        at: Span,
    ) -> Option<Arg> {
        let Some(default) = &formal.default else { return Some(Arg::None) };
        if let ast::ExprKind::Name(name) = &default.kind {
            if name == "none" {
                return Some(Arg::None);
            }
            if let Kind::Words(_) = kind(formal.type_.as_ref()) {
                return Some(Arg::Word(name.clone()));
            }
            let other = formals.iter().position(|it| it.name.text == *name);
            if let Some(arg) = other.and_then(|it| args.get(it)) {
                return Some(arg.clone());
            }
        }
        let val = self.value(default, &mut Env::new(default.span.file, 0, ""));
        if let (Kind::File, Val::Known(Known::Text(name))) = (kind(formal.type_.as_ref()), &val) {
            return self.file_beside(name, args, at);
        }
        self.fit(formal, &val, default.span)
    }
}

/// The type that a signature's result stands for.
pub(crate) fn result(type_: &ast::TypeExpr, vars: &Vars) -> Option<Type> {
    let TypeKind::Named { name, extents } = &type_.kind else { return None };
    if name.text == "untyped" {
        return Some(Type::Untyped(Untyped::Json));
    }
    let dtype = DType::named(&name.text).or_else(|| vars.dtypes.get(&name.text).copied())?;
    Some(Type::Tensor { dtype, shape: extents.iter().map(|it| extent(it, vars)).collect() })
}

impl Vars {
    /// Extents alone: a word such as `number` is any of its types in each parameter of a program's own function.
    pub(super) fn of_extents(self) -> Self {
        Self { extents: self.extents, ..Self::default() }
    }

    /// Takes note of a whole number that was given.
    pub(crate) fn count(&mut self, formal: &ast::Formal, arg: &Arg) {
        if let Kind::Int = kind(formal.type_.as_ref()) {
            let known = if let Arg::Int(it) = arg { Some(*it) } else { None };
            self.ints.insert(formal.name.text.clone(), known);
        }
    }
}

/// A signature of one parameter.
pub(super) fn one_formal(function: &ast::Name, formal: &ast::Formal) -> ast::Signature {
    ast::Signature {
        name: function.clone(),
        formals: vec![formal.clone()],
        effects: Vec::new(),
        result: None,
    }
}

/// Whether an argument is an integer, or integers for these, of which there is at least one.
pub(crate) fn are_ints(several: Several, arg: &Arg) -> bool {
    match (several, arg) {
        (_, Arg::Int(_)) => true,
        (Several::Listed, Arg::List(all)) => {
            !all.is_empty() && all.iter().all(|it| matches!(it, Arg::Int(_)))
        }
        (Several::Named, Arg::Record(all)) => {
            !all.is_empty() && all.iter().all(|it| are_ints(several, &it.1))
        }
        _ => false,
    }
}

/// Whether an argument is a list of texts.
pub(crate) fn is_names(arg: Option<&Arg>) -> bool {
    matches!(arg, Some(Arg::List(all)) if all.iter().all(|it| matches!(it, Arg::Text(_))))
}

pub(crate) fn is_wanted(wanted: &str, arg: &Arg) -> bool {
    match arg {
        Arg::Interval(..) => wanted.starts_with("an interval"),
        Arg::Int(_) | Arg::Float(_) => wanted.starts_with("a number"),
        Arg::Text(_) => wanted.starts_with("text"),
        Arg::List(_) if wanted.starts_with("a record") => wanted.contains("or a list"),
        Arg::List(_) => !wanted.starts_with("an interval"),
        Arg::Record(_) => wanted.starts_with("a record"),
        _ => false,
    }
}

pub(super) fn describe(kind: &Kind<'_>) -> String {
    match kind {
        Kind::Words(words) => {
            let words: Vec<String> = words.iter().map(|it| format!("`{}`", it.text)).collect();
            format!("one of {}", words.join(", "))
        }
        Kind::Stream | Kind::Streams => "a stream".into(),
        Kind::Int => "an integer".into(),
        Kind::Ints(Several::Listed) => "an integer or a list of integers".into(),
        Kind::Ints(Several::Named) => {
            "an integer, or a record of integers such as `{ a: 256, b: 128 }`".into()
        }
        Kind::Float => "a number".into(),
        Kind::Bool => "`true` or `false`, known at compile time".into(),
        Kind::Text => "text that is known at compile time".into(),
        Kind::File => "the path of a file, known at compile time".into(),
        Kind::Type => "a type".into(),
        Kind::Values => "a list of values".into(),
        Kind::Names => {
            "a list of names, the name of a file with one on each line, or a pipeline of files"
                .into()
        }
        Kind::Fields => "a list of fields such as `[ids, boxes]`".into(),
        Kind::Known(it) => (*it).into(),
        Kind::Any | Kind::Untyped | Kind::Tensor(..) | Kind::Sources => "a value".into(),
    }
}

/// Matches a tensor type of a signature; what was wanted where it does not fit.
pub(crate) fn unify_tensor(
    name: &str,
    extents: &[ast::Extent],
    found: &Type,
    vars: &mut Vars,
) -> Result<(), String> {
    let known = vars.extents.clone();
    let wanted = || wanted_type(name, extents, &known);
    let (Some(dtype), Some(shape)) = (found.dtype(), found.shape()) else { return Err(wanted()) };
    let fits = match (DType::named(name), vars.dtypes.get(name)) {
        (Some(fixed), _) => fixed == dtype || (fixed == DType::Bytes && dtype == DType::Bytes),
        (None, Some(bound)) => *bound == dtype,
        (None, None) => match name {
            "number" => dtype.is_float() || dtype.is_int(),
            "float" => dtype.is_float(),
            "integer" => dtype.is_int(),
            _ => !dtype.is_text(),
        },
    };
    if !fits || shape.len() != extents.len() || found.is_untyped() {
        return Err(wanted());
    }
    vars.dtypes.insert(name.to_owned(), dtype);
    for (extent, found) in extents.iter().zip(shape) {
        unify_extent(extent, found, vars).map_err(|()| wanted())?;
    }
    Ok(())
}

fn unify_extent(extent: &ast::Extent, found: &Extent, vars: &mut Vars) -> Result<(), ()> {
    let ast::Extent::Known(expr) = extent else { return Ok(()) };
    match (&expr.kind, found) {
        (ast::ExprKind::Name(name), _) => match (vars.extents.get(name), found) {
            (Some(Extent::Known(a)), Extent::Known(b)) if a != b => Err(()),
            (Some(Extent::Known(_)), _) => Ok(()),
            _ => {
                vars.extents.insert(name.clone(), found.clone());
                Ok(())
            }
        },
        (ast::ExprKind::Number(it), Extent::Known(n)) => match it.value {
            ast::Value::Int(wanted) if wanted != *n => Err(()),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What an extent of a result stands for: known where all that it names is.
fn extent(extent: &ast::Extent, vars: &Vars) -> Extent {
    let ast::Extent::Known(expr) = extent else { return Extent::Unknown };
    if let ast::ExprKind::Name(name) = &expr.kind
        && let Some(found) = vars.extents.get(name)
    {
        return found.clone();
    }
    let known = known_extent(expr, vars).and_then(|it| u64::try_from(it).ok());
    known.map_or(Extent::Unknown, Extent::Known)
}

fn known_extent(expr: &ast::Expr, vars: &Vars) -> Option<i64> {
    match &expr.kind {
        ast::ExprKind::Number(it) => match it.value {
            ast::Value::Int(n) => i64::try_from(n).ok(),
            ast::Value::Float(_) => None,
        },
        ast::ExprKind::Name(name) => match (vars.ints.get(name), vars.extents.get(name)) {
            (Some(Some(it)), _) => Some(*it),
            (_, Some(Extent::Known(n))) => i64::try_from(*n).ok(),
            _ => None,
        },
        ast::ExprKind::Binary { op, lhs, rhs, .. } => {
            let (a, b) = (known_extent(lhs, vars)?, known_extent(rhs, vars)?);
            match op {
                ast::BinaryOp::Add => a.checked_add(b),
                ast::BinaryOp::Sub => a.checked_sub(b),
                ast::BinaryOp::Mul => a.checked_mul(b),
                ast::BinaryOp::FloorDiv if b > 0 => Some(a.div_euclid(b)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A type of a signature as it is written.
fn wanted_type(name: &str, extents: &[ast::Extent], known: &BTreeMap<String, Extent>) -> String {
    let extent = |it: &ast::Extent| match it {
        ast::Extent::Unknown(_) => "?".to_owned(),
        ast::Extent::Known(it) => match &it.kind {
            ast::ExprKind::Name(name) => match known.get(name) {
                Some(Extent::Known(n)) => format!("{name} = {n}"),
                _ => name.clone(),
            },
            ast::ExprKind::Number(it) => it.text.clone(),
            _ => "?".to_owned(),
        },
    };
    if extents.is_empty() {
        return format!("`{name}`");
    }
    format!("`{name}[{}]`", extents.iter().map(extent).collect::<Vec<_>>().join(", "))
}
