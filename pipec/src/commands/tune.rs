//! `pipec tune`: measures a pipeline, chooses its numbers, writes them beside the program; or sets
//! other ways to choose them beside ours.

mod strategies;

use super::{compiled, failed, run::stop_on_signals, samples_made, settings};
use crate::{
    Exit,
    args::{PolicyName, TuneArgs},
    figures::{percent, rate, things},
    talk::{Talk, print},
};
use driver::{
    Compiled, Host, Lock, Ours, Settings, Stop,
    tune::{self, Basis, Compared, Policy, Threads},
};
use std::{io, time::Duration};

/// Tunes the pipeline that `args` names.
pub(super) fn run(args: &TuneArgs, talk: &Talk) -> io::Result<Exit> {
    let compiled = match compiled(
        &args.file,
        Settings { memory: args.memory, ..settings(&args.program) },
        talk,
    ) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let host = match Host::load_default() {
        Ok(host) => Some(host).filter(|it| !it.is_assumed()),
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    let wanted = tune::Wanted {
        seconds: args.seconds.as_secs_f64(),
        cores: args.virtually.virtual_cores.map_or_else(driver::cores, usize::from),
        epochs: args.epochs,
        memory: args.memory,
        whole_process: true,
        consumer: args.step_time.as_ref().map(Duration::as_secs_f64),
        host,
        objective: args.objective,
    };
    let stop = Stop::default();
    stop_on_signals(stop.clone(), talk.terminal);
    args.virtually.begin();
    match &policies(&args.policies)[..] {
        _ if args.strategies => strategies::run(args, (&compiled, wanted), (&stop, talk)),
        [] => tuned(args, (&compiled, &wanted), (&stop, talk)),
        all => compared(all, (&compiled, &wanted), (&stop, talk)),
    }
}

/// Tunes it, and writes the lock.
fn tuned(
    args: &TuneArgs,
    (compiled, wanted): (&Compiled, &tune::Wanted),
    (stop, talk): (&Stop, &Talk),
) -> io::Result<Exit> {
    let tuned = match tune::tune(compiled, wanted, stop, &mut samples_made(talk)) {
        Ok(tuned) => tuned,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    print(&tuned.explanation.short())?;
    for (workers, records) in &tuned.tried {
        let mark = if *workers == tuned.chosen.workers { ">" } else { " " };
        talk.say(&format!(
            "{mark} {}: {}",
            things(*workers as u64, "worker", "workers"),
            rate(*records, " records")
        ));
    }
    talk.say(&basis(tuned.chosen.workers, &tuned.basis));
    let (path, name) = (Lock::path_of(&args.file), &compiled.program.name);
    if let Err(failure) = Lock::put(&path, name, tuned.chosen) {
        return Ok(failed(talk, &failure));
    }
    let profile = args.file.with_file_name(format!("{name}.profile"));
    // What lies there and is no profile is somebody else's: then the lock is all that is written.
    let mut also = String::new();
    if Ours::Profile.may_replace(&profile).is_ok() {
        if let Err(failure) = tuned.profile.write(&profile) {
            return Ok(failed(talk, &failure));
        }
        also = format!("; the profile, which `explain` uses, to `{}`", profile.display());
    }
    talk.say(&format!("{name}: written to `{}`{also}", path.display()));
    Ok(Exit::Fine)
}

/// Why so many workers were chosen, in a sentence.
fn basis(workers: usize, basis: &Basis) -> String {
    let workers = things(workers as u64, "worker", "workers");
    match basis {
        Basis::Faster { than, gain, rounds } => format!(
            "{workers}: {} faster than {than}, the model's choice, over {rounds} rounds",
            percent(*gain)
        ),
        Basis::Model => {
            format!("{workers}: the model's choice; no other number was significantly faster")
        }
        Basis::TooFew(why) => format!(
            "too little data to compare numbers of workers: {why}; {workers}: the model's choice"
        ),
    }
}

/// Each way to set threads with its name, in the order of the table.
const POLICIES: [(PolicyName, Policy, &str); 6] = [
    (PolicyName::Naive, Policy::Naive, "naive"),
    (PolicyName::Heuristic, Policy::Heuristic, "heuristic"),
    (PolicyName::Autotune, Policy::Autotune, "autotune"),
    (PolicyName::Random, Policy::Random, "random"),
    (PolicyName::Step, Policy::Step, "step"),
    (PolicyName::Model, Policy::Model, "model"),
];

/// Those that were asked for, each once; none where the lock is to be written.
fn policies(names: &[PolicyName]) -> Vec<Policy> {
    if names == [PolicyName::Model] {
        return Vec::new();
    }
    let all = names.contains(&PolicyName::All);
    let asked = POLICIES.iter().filter(|it| all || names.contains(&it.0));
    asked.map(|it| it.1).collect()
}

/// Sets several policies side by side, and writes no lock.
fn compared(
    policies: &[Policy],
    (compiled, wanted): (&Compiled, &tune::Wanted),
    (stop, talk): (&Stop, &Talk),
) -> io::Result<Exit> {
    let compared = tune::compare(compiled, policies, wanted, (stop, &mut samples_made(talk)));
    let compared = match compared {
        Ok(compared) => compared,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    let lines = table(&compiled.program.name, &compared);
    print(&lines)?;
    if let Some(needed) = tune::too_short(policies, wanted.seconds) {
        talk.say(&format!(
            "rounds of less than 2 s are too short to compare policies: use `--seconds \
             {needed:.0}s`"
        ));
    }
    talk.say("no lock file was written: to write one, run `pipec tune` without `--policy`");
    Ok(Exit::Fine)
}

/// A line for each policy: its rate, also as a share of the best, and what it has set.
fn table(pipeline: &str, compared: &[Compared]) -> String {
    let best = compared.iter().map(|it| it.records_per_second).fold(0.0, f64::max);
    let mut lines = format!("{pipeline}, alternating on the same machine\n\n");
    let mut line = |policy: &str, [records, share, tried]: [&str; 3], threads: &str| {
        lines += &format!("{policy:<9}  {records:>14}  {share:>11}  {tried:>5}  {threads}\n");
    };
    line("policy", ["records/s", "of the best", "tried"], "threads");
    for it in compared {
        let records = rate(it.records_per_second, "");
        let share = percent(it.records_per_second / best.max(f64::MIN_POSITIVE));
        let figures = [records.trim_end_matches("/s"), &share, &it.tries.max(1).to_string()];
        line(name(it.policy), figures, &threads(it));
    }
    let notes = compared.iter().filter_map(|it| Some((it.policy, it.note.as_ref()?)));
    let notes: Vec<String> = notes.map(|(it, note)| format!("{}: {note}\n", name(it))).collect();
    lines + if notes.is_empty() { "" } else { "\n" } + &notes.concat()
}

fn name(policy: Policy) -> &'static str {
    POLICIES.iter().find(|it| it.1 == policy).map_or("local", |it| it.2)
}

/// What was set: `map#1 2, map#2 6`, or so many for all steps together.
fn threads(compared: &Compared) -> String {
    let threads = match &compared.threads {
        Threads::Together(1) => "1 for all steps".to_owned(),
        Threads::Together(n) => format!("{n} for all steps together"),
        Threads::Apart(steps) => {
            let each: Vec<String> = steps.iter().map(|(step, n)| format!("{step} {n}")).collect();
            each.join(", ")
        }
    };
    match &compared.keeps[..] {
        [] => threads,
        keeps => format!("{threads}; caches {}", keeps.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(policy: Policy, threads: Threads, rate: f64) -> Compared {
        let (keeps, note) = (Vec::new(), None);
        Compared { policy, threads, keeps, tries: 0, records_per_second: rate, note }
    }

    #[test]
    fn policies_are_set_side_by_side() {
        let steps = vec![("p.map#1".to_owned(), 3), ("p.map#2".to_owned(), 12)];
        let naive = one(Policy::Naive, Threads::Together(1), 1_240.0);
        let step = Compared {
            tries: 9,
            note: Some("`p.batch#1` bounds it".to_owned()),
            ..one(Policy::Step, Threads::Apart(steps), 9_920.0)
        };
        let keeps = vec!["p.map#1.resize".to_owned()];
        let model = Compared { keeps, ..one(Policy::Model, Threads::Together(4), 19_840.0) };
        let expected = "p, alternating on the same machine

policy          records/s  of the best  tried  threads
naive               1,240           6%      1  1 for all steps
step                9,920          50%      9  p.map#1 3, p.map#2 12
model              19,800         100%      1  4 for all steps together; caches p.map#1.resize

step: `p.batch#1` bounds it
";
        assert_eq!(table("p", &[naive, step, model]), expected);
    }

    #[test]
    fn a_choice_says_what_it_rests_on() {
        let faster = Basis::Faster { than: 2, gain: 0.123, rounds: 5 };
        let told = "3 workers: 12% faster than 2, the model's choice, over 5 rounds";
        assert_eq!(basis(3, &faster), told);
        let few = Basis::TooFew("an epoch has only 3 batches".to_owned());
        assert!(basis(1, &few).ends_with("only 3 batches; 1 worker: the model's choice"));
    }

    #[test]
    fn the_model_alone_writes_the_lock() {
        assert_eq!(policies(&[]), []);
        assert_eq!(policies(&[PolicyName::Model]), []);
        assert_eq!(policies(&[PolicyName::All, PolicyName::Model]).len(), 6);
        let both = policies(&[PolicyName::Step, PolicyName::Naive]);
        assert_eq!(both, [Policy::Naive, Policy::Step]);
    }
}
