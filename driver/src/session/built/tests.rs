//! Built files that are whole, and those that are not. `mutated` is what a fuzzer would call, in a
//! loop that is the same each time.

use super::{footer, *};
use crate::session::{
    compile::compile,
    lock::Chosen,
    options::RunOptions,
    run::{Stop, Watch},
    sink::Discard,
};
use plan::{
    Arg, Code, DType, Expr, ExprId, Graph, Index, Policy, Program, Records, Stage, StageId,
    Transform, Type, Unary,
};
use runtime::Failure;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// Programs that have, between them, every kind of stage, argument and policy.
const PROGRAMS: [&str; 6] = [
    "pipeline p = range(200) |> map { x: f32(i) * 0.5, odd: i % 2 == 1 } |> where odd
         |> shuffle(window: 10) |> batch(4, tail: mask)",
    "fn noisy(x) = if coin(0.5) then x + normal() else x
     pipeline p = range(90) |> shuffle
         |> map { i, x: [noisy(f32(i)) for _ in 1..3], y: 10 // (i % 3) else -1 }
         |> repeat(2) |> batch(8)",
    "pipeline a = range(50) |> map { x: i, t: \"left\" }
     pipeline b = range(70) |> map { x: i * 2, t: \"right\" }
     pipeline p = mix({ a: a, b: b }, weights: { a: 0.3, b: 0.7 })
         |> map { x, t: starts_with(t, \"l\"), s: 100 // (x % 5) else skip(most: 1.0) } |> batch(3)",
    "pipeline p = range(64) |> flat_map [{ k: i, v: f32(i) }, { k: i + 1, v: 0.5 }]
         |> windows(4, hop: 2) |> map { v: mean(v), k }",
    "pipeline p = range(30) |> skip(3) |> shuffle
         |> map { l: i, z: 7 % (i % 4) else another(most: 1.0) } |> batch(5)",
    "fn picture(i) = full([8, 9, 3], u8(i)) |> encode_png |> decode_png
     pipeline p = range(24)
         |> map {
             image: picture(i) |> random_resized_crop(4) |> random_flip_y
                 |> adjust_brightness(1.25) |> normalize(mean: [0.5, 0.4, 0.3], std: 0.25),
             hot: one_hot(i % 3, 3), n: len(upper(\"ab\")), c: concat([[i, 1], [i]])
         }
         |> batch(4)",
];

fn built(text: &str) -> Built {
    let text = format!("edition 2026\n\n{text}\n");
    let loaded = Loaded::from_text(Path::new("t.pipe"), text);
    let settings = Settings { pipeline: Some("p".into()), workers: Some(1), ..Settings::default() };
    let compiled = compile(&loaded, &settings).unwrap_or_else(|it| panic!("{it:#?}"));
    Built::new(compiled, &settings)
}

fn sealed(content: &[u8]) -> Vec<u8> {
    [content, &footer::Footer::of(content).bytes()].concat()
}

/// Runs it, for a short while, with little memory.
fn run(built: &Built) -> Result<u64, Failure> {
    let options =
        RunOptions { limit: Some(40), workers: 1, memory: 64 << 20, ..RunOptions::default() };
    let stop = Stop::default();
    let late = stop.clone();
    let over = std::sync::Arc::new(AtomicBool::new(false));
    let seen = over.clone();
    let watchdog = std::thread::spawn(move || {
        for _ in 0..200 {
            if seen.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        late.request();
    });
    let watch = Watch { stop, progress: None, sample: &mut |_| {}, uneven: &mut |_| {} };
    let outcome =
        crate::session::run::run(&built.compiled, &options, &mut Discard::default(), watch);
    over.store(true, Ordering::Relaxed);
    watchdog.join().unwrap();
    match outcome.failure {
        None => Ok(outcome.summary.records),
        Some(failure) => Err(failure),
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    for text in PROGRAMS {
        let built = built(text);
        let bytes = built.trailer().unwrap();
        assert_eq!(bytes, built.trailer().unwrap());
        let read = Built::read(&[&[7; 100][..], &bytes].concat()).unwrap();
        assert_eq!(read, built);
        assert_eq!(run(&read).unwrap(), run(&built).unwrap());
        assert!(run(&read).unwrap() > 2);
        let explained = |it: &Compiled| {
            let it = it.clone().estimated((3, None), None);
            it.explanation(it.plain_view())
        };
        assert_eq!(explained(&read.compiled), explained(&built.compiled));
    }
}

#[test]
fn what_is_not_whole_is_refused_by_name() {
    let whole = built(PROGRAMS[0]).trailer().unwrap();
    let content = &whole[..whole.len() - footer::LEN];
    let refusal = |bytes: &[u8]| Built::read(bytes).unwrap_err();

    for at in 0..whole.len() - 8 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(matches!(refusal(&bytes), Refusal::Damaged(_)), "byte {at}: {}", refusal(&bytes));
    }
    for at in 0..whole.len() {
        assert_eq!(refusal(&whole[..at]), Refusal::NotBuilt, "cut at {at}");
        let refused =
            at == 0 || matches!(refusal(&whole[at..]), Refusal::Damaged(_) | Refusal::NotBuilt);
        assert!(refused, "without its first {at} bytes");
    }
    assert_eq!(refusal(b""), Refusal::NotBuilt);
    let other = |format| [content, &footer::with_format(content, format)].concat();
    assert_eq!(refusal(&other(6)), Refusal::Newer(VERSION.to_owned()));
    assert_eq!(refusal(&other(4)), Refusal::Older(VERSION.to_owned()));
    assert!(matches!(refusal(&sealed(&[content, &[0]].concat())), Refusal::Unsound(_)));
    assert!(matches!(refusal(&sealed(&content[1..])), Refusal::Unsound(_)));
}

#[test]
fn a_lock_goes_along_if_it_fits() {
    let mut built = built(PROGRAMS[0]);
    let plan = built.compiled.hash();
    let mut locked = |plan: &str, workers| {
        let chosen = Chosen { plan: plan.to_owned(), workers, ..Chosen::default() };
        built.compiled.lock = Some(chosen);
        let trailer = built.trailer()?;
        assert_eq!(Built::read(&trailer).unwrap(), built);
        Ok(())
    };
    assert_eq!(locked(&plan, 3), Ok(()));
    for (plan, workers) in [("00ff", 3), (&plan, 0), (&plan, 5_000)] {
        assert!(matches!(locked(plan, workers), Err(Refusal::Unsound(_))), "{workers} workers");
    }
}

#[test]
fn what_nests_too_deeply_is_refused() {
    let mut built = built(PROGRAMS[0]);
    let Code::Source { args, .. } = &mut built.compiled.program.stages[StageId::new(0)].code else {
        unreachable!("the first stage is a source")
    };
    args[0] = (0..500).fold(Arg::None, |inner, _| Arg::List(vec![inner]));
    let bytes = postcard::to_allocvec(&built).unwrap();
    assert!(matches!(Built::read(&sealed(&bytes)), Err(Refusal::Unsound(_))));
}

/// Says what comes of a program that was changed behind the compiler's back; panics where it may not.
fn mutated(content: &[u8]) -> Fate {
    let Ok(built) = Built::read(&sealed(content)) else { return Fate::Refused };
    let _ = built.compiled.plan_text();
    let _ = compiler::explain::program_text(&built.compiled.program);
    let shown = built.compiled.clone().estimated((2, None), None);
    let _ = shown.explanation(shown.plain_view()).text();
    match run(&built) {
        Err(Failure::Program(why)) if why.contains("panicked") => panic!("{why}"),
        Err(_) => Fate::Failed,
        Ok(_) => Fate::Ran,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Refused,
    Failed,
    Ran,
}

/// Changes of one byte, of several, lost and doubled stretches: the checksum fits all the same.
#[test]
fn a_changed_program_is_refused_or_does_no_harm() {
    let rounds = std::env::var("SLOW_TESTS").map_or(150, |_| 4_000);
    let mut fates = [0_usize; 3];
    for (number, text) in PROGRAMS.iter().enumerate() {
        let whole = postcard::to_allocvec(&built(text)).unwrap();
        for round in 0..rounds {
            let bytes = changed(&whole, plan::mix(number as u64, round));
            let fate = catch_unwind(AssertUnwindSafe(|| mutated(&bytes)));
            let fate = fate.unwrap_or_else(|_| panic!("program {number}, round {round}"));
            fates[fate as usize] += 1;
        }
    }
    eprintln!("refused, failed, ran: {fates:?}");
    assert!(fates[Fate::Refused as usize] > 0 && fates[Fate::Ran as usize] > 0, "{fates:?}");
}

/// `whole` with changes that follow from `seed`.
fn changed(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let draw = |i: u64, below: usize| (plan::mix(seed, i) % below.max(1) as u64) as usize;
    let at = draw(1, bytes.len());
    match draw(2, 8) {
        0 => bytes[at] = draw(3, 256) as u8,
        1 => bytes[at] ^= 1 << draw(3, 8),
        2 => bytes[at] = bytes[at].wrapping_add(1),
        3 => bytes[at] = 0xff,
        4 => {
            for i in 0..4 {
                let at = draw(10 + i, bytes.len());
                bytes[at] = draw(20 + i, 16) as u8;
            }
        }
        5 => {
            let end = (at + draw(3, 9)).min(bytes.len());
            bytes.drain(at..end);
        }
        6 => {
            let from = draw(3, bytes.len());
            bytes[at] = bytes[from];
        }
        _ => bytes.insert(at, draw(3, 256) as u8),
    }
    bytes
}

/// Arithmetic that is compiled, of records one by one and of many at once.
const SUMS: &str = "pipeline p = range(300)
    |> map { x: exp(f32(i) * 0.01) * 2.0 + log(f32(i) + 1.0), k: (i * 3 + 1) // 7 }
    |> batch(50) |> map { y: f16(x * 0.25 + f32(k)), x }";

/// All that leaves, byte by byte.
#[derive(Default)]
struct Bytes(Vec<Vec<u8>>);

impl crate::session::sink::Sink for Bytes {
    fn take(&mut self, chunk: &runtime::Chunk) -> Result<(), Failure> {
        let rows = (0..chunk.rows).flat_map(|row| chunk.columns.iter().map(move |it| it.row(row)));
        self.0.extend(rows.map(|it| it.as_bytes().expect("rows lie together").to_vec()));
        Ok(())
    }
    fn written(&self) -> crate::session::sink::Written {
        crate::session::sink::Written::default()
    }
    fn resume(
        &mut self,
        _: crate::session::sink::Written,
    ) -> Result<crate::session::sink::Resumed, Failure> {
        Ok(crate::session::sink::Resumed::There)
    }
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn bytes_of(compiled: &Compiled) -> Vec<Vec<u8>> {
    let mut bytes = Bytes::default();
    let options = RunOptions { workers: 1, memory: 64 << 20, ..RunOptions::default() };
    let watch =
        Watch { stop: Stop::default(), progress: None, sample: &mut |_| {}, uneven: &mut |_| {} };
    let outcome = crate::session::run::run(compiled, &options, &mut bytes, watch);
    assert_eq!(outcome.failure, None);
    bytes.0
}

/// Whatever becomes of the machine code, the program gives the same.
#[test]
fn code_that_cannot_be_run_is_made_anew() {
    let plain = built(SUMS);
    let expected = bytes_of(&plain.compiled);
    assert_eq!(expected.len(), 12);
    let other = built(PROGRAMS[0]).compiled_for(None).unwrap().code;
    let built = plain.compiled_for(None).unwrap();
    let Some(whole) = built.code.clone() else {
        eprintln!("nothing is compiled here");
        return;
    };
    assert!(whole.loops.len() >= 3, "{} loops", whole.loops.len());
    let trailer = built.trailer().unwrap();
    assert_eq!(Built::read(&trailer).unwrap(), built);
    assert_eq!(trailer, built.clone().compiled_for(None).unwrap().trailer().unwrap());

    let seen = |change: &dyn Fn(&mut Ahead), is_running: bool| {
        let mut other = built.clone();
        let code = other.code.as_mut().unwrap();
        change(code);
        let other = other.prepared(is_running);
        assert_eq!(bytes_of(&other.compiled), expected);
        let listed =
            runtime::machine_code(&other.compiled.program, &other.compiled.prepared).unwrap();
        assert!(!listed.groups.is_empty());
        listed.made
    };
    let made = seen(&|_| {}, true);
    assert!(made.starts_with("compiled ahead of time for `native`: "), "{made}");
    let anew = |made: String, why: &str| {
        let is_told = made.starts_with("compiled before the run starts, for ");
        assert!(is_told && made.ends_with(why), "{made}, not {why}");
    };
    anew(seen(&|_| {}, false), "another executable is running, which uses only its own code");
    for at in (0..whole.code.len()).step_by(97) {
        anew(seen(&|it| it.code[at] ^= 1, true), "it is damaged");
    }
    let lacks = |it: &mut Ahead| {
        it.features.push("dreams".into());
        it.seal = it.sum();
    };
    anew(seen(&lacks, true), "`native` is not used: this processor has no dreams");
    // Code of another program is there, and is for none of its loops.
    seen(&|it| *it = other.clone().unwrap(), true);
}

#[test]
fn code_is_made_for_a_processor_that_is_known() {
    let made = |text: &str, cpu: &str| built(text).compiled_for(Some(cpu)).map(|it| it.code);
    if runtime::processors().is_empty() {
        assert!(made(SUMS, "native").unwrap_err().contains("built without a compiler"));
        return;
    }
    assert!(made(SUMS, "z80").unwrap_err().contains("no processor `z80`"));
    let strings = "pipeline p = range(3) |> map { i }";
    assert_eq!(made(strings, "native").unwrap(), None, "there is no arithmetic");
    let mut plain = built(SUMS);
    plain.compiled.program.jit = false;
    assert!(plain.clone().compiled_for(Some("native")).unwrap_err().contains("`jit`"));
    assert_eq!(plain.compiled_for(None).unwrap().code, None);
}

/// A program that names a file has what it held when it was built, or is refused.
#[test]
fn files_are_what_the_program_names() {
    let path = std::env::temp_dir().join(format!("pipec-built-{}.txt", std::process::id()));
    fs::write(&path, "cat\ndog\n1\n").unwrap();
    let path = path.display().to_string();
    let built = built(&format!(
        "pipeline p = range(9)
             |> map {{ x: lookup(\"dog\", \"{path}\"), y: lookup(i, \"{path}\", unknown: -1) }} |> batch(4)"
    ));
    fs::remove_file(&path).unwrap();
    assert_eq!(built.attached.len(), 1);
    let trailer = built.trailer().unwrap();
    let read = Built::read(&trailer).unwrap();
    assert_eq!(read, built);
    assert_eq!(bytes_of(&read.compiled), bytes_of(&built.compiled));
    assert!(read.compiled.program.files().all(|it| it.path() == path));

    let refused = |attached: Vec<Attached>| {
        let bytes = postcard::to_allocvec(&Built { attached, ..built.clone() }).unwrap();
        Built::read(&sealed(&bytes)).unwrap_err().to_string()
    };
    let lacks = format!("its program is inconsistent: it lacks the contents of `{path}`");
    assert_eq!(refused(Vec::new()), lacks);
    assert_eq!(refused(vec![Attached(File::new("", b"cat\nDog\n1\n".to_vec()))]), lacks);
    let whole = postcard::to_allocvec(&built).unwrap();
    for round in 0..150 {
        mutated(&changed(&whole, plan::mix(77, round)));
    }
}

/// What a program is told that was changed so that whoever runs it would be misled.
#[test]
fn what_would_mislead_the_runtime_is_named() {
    let refused = |text: &str, change: &dyn Fn(&mut Program), why: &str| {
        let mut built = built(text);
        change(&mut built.compiled.program);
        let found = Built::read(&sealed(&postcard::to_allocvec(&built).unwrap())).unwrap_err();
        let Refusal::Unsound(found) = found else { panic!("{why}: {found}") };
        assert!(found.contains(why), "{found}, not {why}");
    };
    let [plain, draws, mixed, many, replaced, _] = PROGRAMS;
    refused(plain, &|it| stage(it, 0).rows = 1 << 30, "chunks of 1073741824 records");
    refused(plain, &|it| stage(it, 0).columns[0].name = "j".into(), "output fields differ");
    refused(plain, &|it| stage(it, 1).inputs.clear(), "not a tree");
    refused(plain, &|it| stage(it, 1).inputs[0] = StageId(7), "s7");
    refused(plain, &|it| transform(it, 1).graph.n_vars = u32::MAX, "loop variables");
    refused(plain, &|it| transform(it, 1).filters[0] = ExprId(99), "no v99");
    refused(plain, &|it| transform(it, 1).on_fault = SKIP_SOME, "a fraction of NaN");
    refused(plain, &|it| listed(it, 1).truncate(1), "1 values for 2 columns");
    refused(plain, &|it| listed(it, 1).swap(0, 1), "column `x`");
    refused(plain, &|it| it.output.clear(), "output fields differ");
    refused(plain, &|it| it.deal.stage = StageId(9), "s9 deals");
    refused(mixed, &|it| it.deal.stage = StageId(0), "where streams meet");
    refused(plain, &|it| it.deal.valid = Some(0), "which rows are records");
    refused(plain, &|it| it.format = 99, "its format is 99");
    refused(plain, &|it| it.deal.windows = Some(0), "deals blocks of");
    refused(plain, &|it| it.beside = vec![vec![StageId(1)]], "is not a source");
    refused(plain, &|it| it.once = vec![StageId(0)], "is not read by an operator");
    refused(draws, &|it| transform(it, 1).into_batch = Some(5), "its 5 rows");
    refused(draws, &|it| transform(it, 1).vector = true, "not of scalars");
    refused(mixed, &|it| names(it).truncate(1), "1 names for 2 streams");
    refused(many, &|it| transform(it, 1).vector = true, "is multiplied");
    refused(replaced, &|it| transform(it, 1).another.clear(), "has no source");
    refused(replaced, &|it| transform(it, 1).another[0] = StageId(1), "the same path");
    let chain = |it: &mut Program| {
        let mut graph = Graph::default();
        let mut last = graph.add(Expr::Column(0), Type::scalar(DType::I64));
        for _ in 0..2_000 {
            last = graph.add(Expr::Unary(Unary::Neg, last), Type::scalar(DType::I64));
        }
        transform(it, 1).graph = graph;
    };
    refused(many, &chain, "values are nested");
}

const SKIP_SOME: Policy = Policy::Skip { most: f64::NAN };

fn stage(program: &mut Program, number: usize) -> &mut Stage {
    &mut program.stages[StageId::new(number)]
}

fn transform(program: &mut Program, number: usize) -> &mut Transform {
    match &mut stage(program, number).code {
        Code::Transform(it) => it,
        other => panic!("stage {number} is {other:?}"),
    }
}

fn listed(program: &mut Program, number: usize) -> &mut Vec<ExprId> {
    match &mut transform(program, number).outputs {
        Records::Listed(lists) => &mut lists[0],
        other => panic!("stage {number} makes {other:?}"),
    }
}

/// The names of the streams that the first operator joins.
fn names(program: &mut Program) -> &mut Vec<String> {
    let is_operator = |it: &Stage| matches!(it.code, Code::Operator { .. });
    let number = program.stages.rows().iter().position(is_operator).expect("there is one");
    match &mut stage(program, number).code {
        Code::Operator { names, .. } => names,
        _ => unreachable!("it was found as one"),
    }
}
