//! Flags that people know from other programs: what is wrong with a command line, with what is written here.

use clap::{
    Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use driver::migration;
use std::io::{self, Write};

/// The same error, with what is written here for a flag that it does not know.
pub(super) fn told(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let name = flag.split('=').next().unwrap_or(flag);
    let Some(row) = migration::of_flag(name).filter(|_| name.starts_with("--")) else {
        return error;
    };
    // What clap finds alike by its letters, and how to pass it as a value, would lead astray.
    error.remove(ContextKind::SuggestedArg);
    let told = vec![StyledStr::from(row.help)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(told));
    error
}

/// Ends the process with what is wrong. Where an argument has characters that a terminal would obey, they are escaped,
/// and there is no colour.
pub(super) fn exit(error: &Error) -> ! {
    let obeyed = |it: std::ffi::OsString| it.to_string_lossy().contains(plan::is_hidden);
    if error.use_stderr() && std::env::args_os().skip(1).any(obeyed) {
        let _ = write!(io::stderr(), "{}", plan::escaped(&error.render().to_string()));
        std::process::exit(error.exit_code());
    }
    error.exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;
    use migration::{Place, ROWS};

    fn said(args: &[&str]) -> String {
        let error = Cli::try_parse_from([&["pipec"], args].concat()).err().expect("it is refused");
        told(error).to_string()
    }

    #[test]
    fn every_flag_of_the_table_says_what_is_written_here() {
        for row in ROWS.iter().filter(|it| it.place == Place::Flag) {
            for name in row.names {
                for given in [(*name).to_owned(), format!("{name}=3")] {
                    let said = said(&["run", "train.pipe", "train", &given]);
                    assert!(said.contains(row.help), "{given}: {said}");
                    assert_eq!(said.matches("tip:").count(), 1, "{given}: {said}");
                }
            }
        }
    }

    #[test]
    fn other_slips_are_left_to_clap() {
        assert!(said(&["run", "train.pipe", "--epoch", "3"]).contains("'--epochs'"));
        assert!(!said(&["run", "train.pipe", "--frobnicate"]).contains("param"));
    }
}
