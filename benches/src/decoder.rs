//! The JPEG decoder beside libjpeg-turbo, by turns, one core: the same pictures, all in memory, as they are
//! and as progressive files with the same coefficients.
//!
//! libjpeg-turbo is that of the system, called from a small C program that is built here; where there
//! is no C compiler or no `jpeglib.h`, the rows are skipped.

use crate::{Row, trial::median};
use jpeg::{Decoder, Header, Request, Tier};
use std::{
    env, fs,
    hint::black_box,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// The pictures.
const FOLDER: &str = "../shared/data/images/imagenet";
/// libjpeg-turbo, called.
const THEIRS: &str = include_str!("decoder/libjpeg.c");
/// Runs of each side.
const PAIRS: usize = 5;
/// Passes over the pictures in a run; the least counts, as on the other side.
const PASSES: usize = 3;
/// What is needed.
const NEEDS: &str = "`cc`, `jpeglib.h` or the pictures";

/// What is compared.
struct Stage {
    id: &'static str,
    claim: &'static str,
    /// What the other side is asked for.
    theirs: &'static str,
    tier: Option<Tier>,
    is_progressive: bool,
    least: f64,
}

const STAGES: [Stage; 5] = [
    Stage {
        id: "JPEG code",
        claim: "entropy stage",
        theirs: "code",
        tier: None,
        is_progressive: false,
        least: 1.9,
    },
    Stage {
        id: "JPEG RGB",
        claim: "decode to RGB",
        theirs: "rgb",
        tier: None,
        is_progressive: false,
        least: 1.7,
    },
    Stage {
        id: "JPEG RGB AVX2",
        claim: "decode to RGB with AVX2 alone",
        theirs: "rgb",
        tier: Some(Tier::Avx2),
        is_progressive: false,
        least: 1.4,
    },
    Stage {
        id: "JPEG progressive",
        claim: "decode progressive files to RGB",
        theirs: "rgb",
        tier: None,
        is_progressive: true,
        least: 2.2,
    },
    Stage {
        id: "JPEG progressive AVX2",
        claim: "decode progressive files to RGB with AVX2 alone",
        theirs: "rgb",
        tier: Some(Tier::Avx2),
        is_progressive: true,
        least: 2.0,
    },
];

/// A picture in memory.
struct Picture {
    path: PathBuf,
    bytes: Vec<u8>,
    header: Header,
}

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let pictures = pictures(Path::new(FOLDER));
    let program = built().filter(|_| !pictures.is_empty());
    let folder = env::temp_dir().join(format!("pipec-progressive-{}", std::process::id()));
    let progressive = program.as_deref().and_then(|it| made_progressive(it, &pictures, &folder));
    let rows = STAGES.map(|it| {
        let of = if it.is_progressive { progressive.as_deref() } else { Some(&pictures[..]) };
        row(&it, program.as_deref().filter(|_| of.is_some()), of.unwrap_or(&[]))
    });
    let _ = fs::remove_dir_all(folder);
    if let Some(program) = program {
        let _ = fs::remove_file(program);
    }
    rows.into()
}

/// The same pictures as progressive files, in a folder.
fn made_progressive(program: &Path, pictures: &[Picture], folder: &Path) -> Option<Vec<Picture>> {
    fs::create_dir_all(folder).ok()?;
    let done = called(program, &["progressive", folder.to_str()?], pictures);
    let made = self::pictures(folder);
    let is_whole = done.is_some() && made.len() == pictures.len();
    is_whole.then_some(made)
}

fn row(stage: &Stage, program: Option<&Path>, pictures: &[Picture]) -> Row {
    let claim = format!(
        "{}, times libjpeg-turbo's speed on one core: at least {:.1}",
        stage.claim, stage.least
    );
    let tier = stage.tier.unwrap_or(Tier::best());
    if !Tier::available().any(|it| it == tier) {
        return Row::skipped(stage.id, &claim, "a processor with AVX2");
    }
    let pair = || Some((ours(stage, tier, pictures), theirs(stage, program?, pictures)?));
    let Some(pairs) = (0..PAIRS).map(|_| pair()).collect::<Option<Vec<_>>>() else {
        return Row::skipped(stage.id, &claim, NEEDS);
    };
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| theirs / ours).collect();
    let (least, most) = ratios.iter().fold((f64::MAX, 0.0), |(a, b), it| (it.min(a), it.max(b)));
    let middle = median(ratios);
    let (ours, theirs) = (
        median(pairs.iter().map(|it| it.0).collect()),
        median(pairs.iter().map(|it| it.1).collect()),
    );
    let n = pictures.len();
    let figure = format!(
        "{middle:.2} [{least:.2} .. {most:.2}]; ours ({tier:?}) {ours:.0} µs, theirs {theirs:.0} µs; {n} pictures"
    );
    Row::new(stage.id, &claim, figure, middle >= stage.least)
}

/// Microseconds a picture.
fn ours(stage: &Stage, tier: Tier, pictures: &[Picture]) -> f64 {
    let mut decoder = Decoder::with_tier(tier);
    let mut out = Vec::new();
    let mut one = |it: &Picture| {
        if stage.theirs == "code" {
            decoder.check(&it.bytes).expect("the picture was found good");
            return;
        }
        let stride = it.header.width * 3;
        let len = stride * it.header.height;
        if out.len() < len {
            out.resize(len, 0);
        }
        let _ = decoder
            .decode(&it.bytes, &Request::default(), black_box(&mut out), stride)
            .expect("the picture was found good");
    };
    let pass = |_| {
        let begun = Instant::now();
        pictures.iter().for_each(&mut one);
        begun.elapsed().as_secs_f64() * 1e6 / pictures.len() as f64
    };
    (0..PASSES).map(pass).fold(f64::MAX, f64::min)
}

fn theirs(stage: &Stage, program: &Path, pictures: &[Picture]) -> Option<f64> {
    called(program, &[stage.theirs], pictures)?.trim().parse().ok()
}

/// What the program prints about pictures; none if it fails.
fn called(program: &Path, arguments: &[&str], pictures: &[Picture]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let names: Vec<String> = pictures.iter().map(|it| it.path.display().to_string()).collect();
    child.stdin.take()?.write_all(names.join("\n").as_bytes()).ok()?;
    let printed = child.wait_with_output().ok()?;
    String::from_utf8(printed.stdout).ok().filter(|_| printed.status.success())
}

/// The C program, built into the folder for temporary files.
fn built() -> Option<PathBuf> {
    let base = env::temp_dir().join(format!("pipec-libjpeg-{}", std::process::id()));
    let source = base.with_extension("c");
    fs::write(&source, THEIRS).ok()?;
    let mut cc = Command::new(env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    let built = cc.arg("-O3").arg(&source).arg("-o").arg(&base).arg("-ljpeg").output();
    let _ = fs::remove_file(source);
    built.is_ok_and(|it| it.status.success()).then_some(base)
}

/// The pictures of a folder that the decoder takes itself, in the order of their names.
fn pictures(folder: &Path) -> Vec<Picture> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in
            fs::read_dir(folder).into_iter().flatten().filter_map(|it| Some(it.ok()?.path()))
        {
            if path.is_dir() {
                folders.push(path);
            } else if let Some(it) = picture(path) {
                found.push(it);
            }
        }
    }
    found.sort_by(|a: &Picture, b| a.path.cmp(&b.path));
    found
}

fn picture(path: PathBuf) -> Option<Picture> {
    let bytes = fs::read(&path).ok()?;
    let header = Header::read(&bytes).ok()?;
    Decoder::new().check(&bytes).ok()?;
    Some(Picture { path, bytes, header })
}
