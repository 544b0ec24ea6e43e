//! Functions that stand outside of the program: `extern fn` declares one, and whoever runs the program
//! brings it along.

use crate::Arg;

/// The entry of the library through which all of them are called; its name is a word of the language, so
/// that no program calls it by itself.
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

/// What a call of `function` is called where people read it.
pub fn called(function: &str, args: &[Arg]) -> String {
    match Foreign::of(function, args) {
        Some(it) => format!("{FOREIGN} {}", it.name),
        None => function.to_owned(),
    }
}
