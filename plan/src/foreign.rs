//! Functions and sources that stand outside of the program: `extern fn` and `extern pipeline` declare them, and whoever
//! runs the program brings them along.

use crate::{Arg, Expr, Field, OpKind, Plan};
use std::collections::BTreeSet;

/// The entries of the library, a function and a source, through which all of them are called; their name is a word of the
/// language, so that no program calls it by itself.
pub const FOREIGN: &str = "extern";

/// Which function a call is of.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// As the program calls it.
    pub name: String,
    /// Where it is: `module:function`.
    pub target: String,
    /// Of one that is declared pure: goes up when what it gives for the same arguments changes. Any
    /// other is called anew for each record of each epoch.
    pub version: Option<i64>,
    /// Whether it is handed a number to draw from.
    pub random: bool,
    /// For each axis of the result, the argument and its axis that are as long, where one is.
    pub like: Vec<Option<(usize, usize)>>,
}

impl Foreign {
    /// The arguments of the entry that say so; the result's type and the values follow.
    pub fn args(&self) -> [Arg; 5] {
        let int = |it: usize| Arg::Int(it as i64);
        let axis = |it: &Option<(usize, usize)>| match it {
            Some((arg, axis)) => Arg::List(vec![int(*arg), int(*axis)]),
            None => Arg::List(Vec::new()),
        };
        [
            Arg::Text(self.name.clone()),
            Arg::Text(self.target.clone()),
            self.version.map_or(Arg::None, Arg::Int),
            Arg::Bool(self.random),
            Arg::List(self.like.iter().map(axis).collect()),
        ]
    }

    /// What the arguments of a call of `function` say, if it is such a call.
    pub fn of(function: &str, args: &[Arg]) -> Option<Self> {
        if function != FOREIGN {
            return None;
        }
        let [Arg::Text(name), Arg::Text(target), version, Arg::Bool(random), Arg::List(like), ..] =
            args
        else {
            return None;
        };
        let version = if let Arg::Int(it) = version { Some(*it) } else { None };
        let axis = |it: &Arg| match it {
            Arg::List(of) => match of.as_slice() {
                [Arg::Int(arg), Arg::Int(axis)] => {
                    usize::try_from(*arg).ok().zip(usize::try_from(*axis).ok())
                }
                _ => None,
            },
            _ => None,
        };
        let like = like.iter().map(axis).collect();
        Some(Self { name: name.clone(), target: target.clone(), version, random: *random, like })
    }

    /// Whether a call of `function` is one whose value nobody knows beforehand: of a function outside
    /// that is not declared pure.
    pub fn is_free(function: &str, args: &[Arg]) -> bool {
        Self::of(function, args).is_some_and(|it| it.version.is_none())
    }
}

/// Which source a stream comes from, where it stands outside.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignSource {
    /// As the program calls it.
    pub name: String,
    /// Where it is: `module:name`.
    pub target: String,
    /// What it is made with: all of it is known before any record.
    pub args: Vec<(String, Arg)>,
    /// The fields of its records.
    pub fields: Vec<Field>,
    /// Parts that go through the steps up to the first `batch` on their own.
    pub lanes: Option<i64>,
}

impl ForeignSource {
    /// The arguments of the entry that say so.
    pub fn args(&self) -> Vec<Arg> {
        let field =
            |it: &Field| Arg::List(vec![Arg::Text(it.name.clone()), Arg::Type(it.ty.clone())]);
        vec![
            // The first argument of other sources says which files they read.
            Arg::Record(self.args.clone()),
            Arg::Text(self.name.clone()),
            Arg::Text(self.target.clone()),
            Arg::List(self.fields.iter().map(field).collect()),
            Arg::Bool(false),
            self.lanes.map_or(Arg::None, Arg::Int),
        ]
    }

    /// What the arguments of a source say, if it is such a one.
    pub fn of(entry: &str, args: &[Arg]) -> Option<Self> {
        if entry != FOREIGN {
            return None;
        }
        let [Arg::Record(values), Arg::Text(name), Arg::Text(target), Arg::List(fields), rest @ ..] =
            args
        else {
            return None;
        };
        let lanes = match rest {
            [_, Arg::Int(it), ..] => Some(*it),
            _ => None,
        };
        let field = |it: &Arg| match it {
            Arg::List(of) => match of.as_slice() {
                [Arg::Text(name), Arg::Type(ty)] => {
                    Some(Field { name: name.clone(), ty: ty.clone() })
                }
                _ => None,
            },
            _ => None,
        };
        let fields = fields.iter().map(field).collect::<Option<_>>()?;
        let (name, target, args) = (name.clone(), target.clone(), values.clone());
        Some(Self { name, target, args, fields, lanes })
    }
}

/// What a call of `function` is called where people read it.
pub fn called(function: &str, args: &[Arg]) -> String {
    let named = Foreign::of(function, args).map(|it| it.name);
    match named.or_else(|| ForeignSource::of(function, args).map(|it| it.name)) {
        Some(name) => format!("{FOREIGN} {name}"),
        None => function.to_owned(),
    }
}

/// The names of what a plan calls and reads outside.
pub fn outside(plan: &Plan) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, op) in plan.ops.iter() {
        for (_, expr, _) in op.graph.iter() {
            if let Expr::Call { function, args, .. } = expr {
                names.extend(Foreign::of(function, args).map(|it| it.name));
            }
        }
        if let OpKind::Source { entry, args } = &op.kind {
            names.extend(ForeignSource::of(entry, args).map(|it| it.name));
        }
    }
    names
}
