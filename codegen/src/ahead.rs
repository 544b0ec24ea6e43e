//! Loops that are compiled before they are run, perhaps for another machine.

use crate::{
    FORM, Kernel, Loop, Op, Refused, Target,
    executable::{ALIGNMENT, Executable},
};
use plan::{Ahead, AheadLoop};
use std::{collections::BTreeMap, fmt::Write, sync::Arc};

/// Bytes of code that are run, at the most.
const CODE_MAX: usize = 16 << 20;

/// The code of `loops` for `target`, which was named `cpu`; those that are refused are left out.
pub fn ahead<'a>(target: &Target, cpu: &str, loops: impl IntoIterator<Item = &'a Loop>) -> Ahead {
    let features = target.features().into_iter().map(str::to_owned).collect();
    let mut all = Ahead {
        cpu: cpu.to_owned(),
        maker: maker(),
        architecture: target.architecture(),
        features,
        loops: Vec::new(),
        code: Vec::new(),
        seal: 0,
    };
    for it in loops {
        let key = key(it);
        if all.loops.iter().any(|known| known.key == key) {
            continue;
        }
        let at = all.code.len().next_multiple_of(ALIGNMENT);
        let Ok(code) = target.code(it, <[u8]>::to_vec) else { continue };
        if at + code.len() > CODE_MAX {
            continue;
        }
        all.code.resize(at, 0);
        all.code.extend(&code);
        all.loops.push(AheadLoop { key, at: at as u32, len: code.len() as u32 });
    }
    all.seal = all.sum();
    all
}

/// Code that was made ahead of time, in memory.
pub struct Library {
    memory: Arc<Executable>,
    /// Where the code of each loop begins.
    loops: BTreeMap<u128, usize>,
}

impl Library {
    /// Whether the code can be run on `host` by this form of the compiler, and is whole.
    ///
    /// # Errors
    /// Why not: a clause that goes on after "since".
    pub fn check(ahead: &Ahead, host: &Target) -> Result<(), Refused> {
        if ahead.maker != maker() {
            return Err(Refused(format!(
                "it was made by {}, and this is {}",
                ahead.maker,
                maker()
            )));
        }
        if ahead.architecture != host.architecture() {
            let (theirs, own) = (&ahead.architecture, host.architecture());
            return Err(Refused(format!("it is of {theirs}, and this is {own}")));
        }
        let own = host.features();
        let missing = ahead.features.iter().filter(|it| !own.contains(it.as_str()));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(Refused(format!("this processor has no {}", missing.join(", "))));
        }
        let fits = |it: &AheadLoop| {
            let (at, len) = (it.at as usize, it.len as usize);
            at.is_multiple_of(ALIGNMENT) && len > 0 && at + len <= ahead.code.len()
        };
        let is_whole = ahead.seal == ahead.sum()
            && ahead.loops.iter().all(fits)
            && ahead.code.len() <= CODE_MAX;
        if is_whole { Ok(()) } else { Err(Refused("it is damaged".into())) }
    }

    /// Brings the code into memory.
    ///
    /// # Errors
    /// What [`Library::check`] says, or there is no memory for code.
    ///
    /// # Safety
    /// [`ahead`] has made it: what says so in it can be said by anybody.
    pub unsafe fn new(ahead: &Ahead, host: &Target) -> Result<Self, Refused> {
        Self::check(ahead, host)?;
        let memory = Executable::new(&ahead.code)
            .map_err(|it| Refused(format!("there is no memory for code: {it}")))?;
        let loops = ahead.loops.iter().map(|it| (it.key, it.at as usize)).collect();
        Ok(Self { memory: Arc::new(memory), loops })
    }

    /// The code of `program`, where it is there.
    pub fn kernel(&self, program: &Loop) -> Option<Kernel> {
        let at = *self.loops.get(&key(program))?;
        // SAFETY: the code was made by this form of the compiler for what has this key, with no
        // features but those of this processor: `new` has checked it, and its caller vouches.
        Some(unsafe { Kernel::new(program, self.memory.clone(), at) })
    }
}

/// What code and those who run it must agree on.
fn maker() -> String {
    let (own, theirs) = (env!("CARGO_PKG_VERSION"), cranelift_codegen::VERSION);
    format!("pipec {own}, form {FORM}, Cranelift {theirs}")
}

/// A hash of all that a loop is: of its text, with floats by their bits.
fn key(program: &Loop) -> u128 {
    let Loop { inputs, ops, outputs } = program;
    let mut text = format!("{inputs:?}{outputs:?}");
    for (op, dtype) in ops {
        let float = if let Op::Float(it) = op { it.to_bits() } else { 0 };
        write!(text, "{op:?}{float:x}{dtype:?}").expect("text has room");
    }
    xxhash_rust::xxh3::xxh3_128(text.as_bytes())
}

#[cfg(test)]
mod tests;
