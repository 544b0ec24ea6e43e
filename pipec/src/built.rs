//! The command line of a built executable: some commands of pipec, about the program that it carries.

use crate::{Exit, args::Cli, talk::Talk};
use clap::{Arg, ColorChoice, Command, CommandFactory, FromArgMatches};
use driver::{
    Built,
    built::{self, Refusal},
};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// A command of a built executable. Its first argument is the file, which is put there: so
/// `./train run` is `pipec run ./train`, with all that this can do.
struct Offered {
    name: &'static str,
    about: &'static str,
    /// What may be said, each behind the executable's name.
    examples: &'static [&'static str],
}

/// All of them. Another command that takes a program, and shall be had here too, is named here.
const COMMANDS: &[Offered] = &[
    Offered {
        name: "run",
        about: "Runs it",
        examples: &[
            "run --limit 100",
            "run --epochs 3 --out batches/",
            "run --out - | python train.py",
        ],
    },
    Offered {
        name: "explain",
        about: "Shows what it will do and cost",
        examples: &["explain", "explain --emit source", "explain --json"],
    },
    Offered {
        name: "peek",
        about: "Shows records after each step",
        examples: &["peek -n 2", "peek --save sheet.png"],
    },
];

/// What was said when it was built, and the file itself.
const SETTLED: [&str; 6] = ["file", "target", "name", "set", "without", "allow_outside"];

/// What was said to this executable, where it was built; nothing where it was not.
///
/// # Errors
/// It has lost its program, which has been said.
pub(crate) fn command_line() -> Result<Option<Cli>, Exit> {
    // Where it was moved or replaced since it began, the system still knows which file it is.
    let path = || env::current_exe().ok().filter(|it| it.exists());
    let running = || Some(PathBuf::from(built::RUNNING)).filter(|it| it.exists());
    let own = || path().or_else(running).or_else(built::begun_as).unwrap_or_default();
    match built::is_own() {
        Ok(false) => Ok(None),
        Ok(true) => parsed(&own()).map(Some),
        Err(refusal) => Err(refused(&own(), &refusal)),
    }
}

fn refused(own: &Path, refusal: &Refusal) -> Exit {
    crate::messages::refused(&Talk::new(ColorChoice::Auto), own, refusal)
}

fn parsed(own: &Path) -> Result<Cli, Exit> {
    let mut args: Vec<OsString> = env::args_os().collect();
    let is_command = |it: &OsString| COMMANDS.iter().any(|offered| it == offered.name);
    let about = match args.iter().skip(1).position(is_command) {
        Some(at) => {
            args.insert(at + 2, own.into());
            String::new()
        }
        // Only who asks what it is need wait until that was read.
        None => match Built::open(own) {
            Ok(built) => built.as_ref().map(about).unwrap_or_default(),
            Err(refusal) => return Err(refused(own, &refusal)),
        },
    };
    let shown = Path::new(&args[0]).file_name().unwrap_or(own.as_os_str());
    let matches = command(&shown.to_string_lossy(), about).get_matches_from(args);
    Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|it| it.exit()))
}

/// What it is.
fn about(built: &Built) -> String {
    let text = built.compiled.files.first().map_or("", |it| &it.path);
    let mut about = format!("The pipeline `{}` of {text}", built.compiled.program.name);
    let values: Vec<String> = built.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
    if !values.is_empty() {
        about.push_str(&format!(" with {}", values.join(", ")));
    }
    about.push_str(&format!(", built by pipec {}.", built.pipec));
    about
}

fn command(shown: &str, about: String) -> Command {
    let all = Cli::command();
    let offered = |it: &Offered| Some(settled(all.find_subcommand(it.name)?.clone(), shown, it));
    let commands = COMMANDS.iter().filter_map(offered);
    Command::new("pipec")
        .bin_name(shown)
        .about(about)
        .version(built::VERSION)
        .styles(all.get_styles().clone())
        .max_term_width(100)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(commands)
        .args(all.get_arguments().filter(|it| it.is_global_set()).cloned())
}

/// A command without what was settled when it was built.
fn settled(command: Command, shown: &str, offered: &Offered) -> Command {
    let hide = |it: Arg| if SETTLED.contains(&it.get_id().as_str()) { it.hide(true) } else { it };
    let examples: Vec<String> =
        offered.examples.iter().map(|it| format!("\n  {shown} {it}")).collect();
    command
        .mut_args(hide)
        .about(offered.about)
        .override_usage(format!("{shown} {} [OPTIONS]", offered.name))
        .after_help(format!("Examples:{}", examples.concat()))
}
