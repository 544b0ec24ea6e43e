//! Lists of names that stand elsewhere: in a file, or as the folders of another source.
//!
//! They become the list that could have been written in their place, so the plan, and whatever is
//! known by it (checkpoints, built files), has the names themselves.

use super::{Checker, Env, Known, Val};
use crate::{ast, errors::check as errors};
use plan::{Arg, OpId, OpKind};

impl Checker<'_> {
    /// The list of names that an argument is or stands for.
    pub(super) fn names_value(&mut self, expr: &ast::Expr, env: &mut Env<'_>) -> Val {
        // The steps of another pipeline are asked for their sources, and are none of this one's.
        let n_ops = self.ops.len();
        let taking = self.taking.take();
        let found = self.value(expr, env);
        self.taking = taking;
        let names = match &found {
            Val::Known(Known::Text(_)) | Val::Stream(_) if !self.asked => Ok(None),
            Val::Known(Known::Text(path)) => self.request.inputs.names(path),
            Val::Stream(op) => self.folders_of(*op),
            _ => return found,
        };
        if self.ops.len() > n_ops {
            self.ops = self.ops.rows()[..n_ops].iter().cloned().collect();
            self.writers.retain(|(op, _), _| (op.0 as usize) < n_ops);
        }
        match names {
            Ok(Some(names)) => Val::List(names.into_iter().map(Val::text).collect()),
            // Where no file is looked at, they count as not given.
            Ok(None) => Val::Known(Known::Word("none".to_owned())),
            Err(why) => self.report(errors::input_unreadable(&why, expr.span)),
        }
    }

    fn folders_of(&self, op: OpId) -> Result<Option<Vec<String>>, String> {
        let sources = self.sources_of(Some(op));
        let named = |it: &u32| match &self.ops[OpId(*it)].kind {
            OpKind::Source { args, .. } => Some(args.as_slice()),
            _ => None,
        };
        let sources: Vec<&[Arg]> = sources.iter().filter_map(named).collect();
        let found = self.request.inputs.classes(&sources)?;
        match found {
            Some(names) if names.is_empty() => {
                Err("this stream has no files, so there are no folders to use as classes"
                    .to_owned())
            }
            found => Ok(found),
        }
    }
}
