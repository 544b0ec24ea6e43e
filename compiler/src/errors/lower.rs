//! What is said about plans that cannot be made a program.

use plan::{CodeInfo, Diagnostic, Span};

const NO_INDEX: CodeInfo = CodeInfo {
    id: "PC0301",
    name: "shuffle-index",
    long: "`shuffle` without a window is a permutation of the source's index: every order of the whole data set is \
           possible, and nothing is held in memory. So its source must be one that can be read in any order (`files`, \
           `range`), and only `map`, `with` and `where` may stand between the two. Everything else can be shuffled \
           within a window: `shuffle(window: 10_000)`.\n\nWrong:\n\n    pipeline p = range(10) |> repeat(2) |> shuffle\n\n\
           Right:\n\n    pipeline p = range(10) |> shuffle |> repeat(2)\n",
};

const NO_LAPS: CodeInfo = CodeInfo {
    id: "PC0302",
    name: "repeat-laps",
    long: "`repeat` makes laps of its source, so that nothing is stored between laps. It needs a stream whose \
           end means nothing by itself: a source, with `map`, `with`, `where`, `flat_map` and `shuffle` without a window \
           after it. After `batch`, `take`, `zip` and others that look at the end or at several streams, put `repeat` \
           before them.\n\nWrong:\n\n    pipeline p = range(10) |> batch(4) |> repeat(2)\n\n\
           Right:\n\n    pipeline p = range(10) |> repeat(2) |> batch(4)\n",
};

const NO_OTHER: CodeInfo = CodeInfo {
    id: "PC0303",
    name: "another-index",
    long: "`else another` fills the place of a faulty record with another one of the same source, drawn by its number. So \
           the source must be one that can be read in any order, and only `map`, `with`, `where` and `shuffle` without a \
           window may stand between the two. Elsewhere there is `else skip`, or `else` with a value.",
};

const MISALIGNS: CodeInfo = CodeInfo {
    id: "PC0304",
    name: "skip-misaligns",
    long: "`zip` puts the first records of all streams side by side, then the second ones. A record that is skipped in one \
           stream only would move all that follow it beside the wrong ones. Compute what can fail after the `zip`: then \
           the pair goes.\n\nWrong:\n\n    pipeline p = zip({ a: range(9) |> map { x: 6 // i }, b: range(9) }) else skip\n\n\
           Right:\n\n    pipeline p = zip({ a: range(9), b: range(9) }) |> map { x: 6 // a.i, i: b.i } else skip\n",
};

const TOO_LARGE: CodeInfo = CodeInfo {
    id: "PC0305",
    name: "program-size",
    long: "A pipeline has at most 1,000 sources and operators, so that no program can exhaust the machine that runs it.",
};

const NO_LANES: CodeInfo = CodeInfo {
    id: "PC0306",
    name: "lanes",
    long: "A source that says `lanes: n` is cut into `n` parts, and each goes through the steps up to the first `batch` \
           alone; batches are made of the lanes in turn, and of what is left of all of them at the end. So between the \
           two only steps can stand that mean the same in each part: `map`, `with`, `where`, `flat_map`, `windows` and \
           `shuffle`; `skip`, `take` and `repeat` next to the source are those of the whole. Several ranks need no lanes: \
           they are dealt batches in any case. At most 256 lanes.\n\nWrong:\n\n    \
           pipeline p = range(100, lanes: 4) |> where i % 3 > 0 |> take(10) |> batch(2)\n\n\
           Right:\n\n    pipeline p = range(100, lanes: 4) |> where i % 3 > 0 |> batch(2) |> take(5)\n",
};

/// All of them, by number.
pub(crate) static CODES: &[CodeInfo] =
    &[NO_INDEX, NO_LAPS, NO_OTHER, MISALIGNS, TOO_LARGE, NO_LANES];

/// Why a step cannot be done in lanes.
pub(crate) struct NoLanes {
    /// What is wrong.
    pub(crate) what: &'static str,
    /// What to do.
    pub(crate) help: &'static str,
}

/// `source` says that there are lanes.
pub(crate) fn no_lanes(at: Span, source: Span, why: &NoLanes) -> Diagnostic {
    Diagnostic::error(NO_LANES.code(), at, why.what)
        .also(source, "the lanes are of this source")
        .help(why.help)
}

pub(crate) fn lanes_out_of_bounds(at: Span, found: i64) -> Diagnostic {
    let most = plan::Lanes::MAX;
    Diagnostic::error(NO_LANES.code(), at, format!("`lanes` is {found}, and must lie in 1..{most}"))
        .help("take as many as ranks will ever share the work, or a multiple: 64")
}

/// `between` is what is in the way, and why.
pub(crate) fn no_index(at: Span, (between, why): (Span, &str)) -> Diagnostic {
    Diagnostic::error(
        NO_INDEX.code(),
        at,
        "`shuffle` without a window has no index to permute here",
    )
    .also(between, why)
    .help("move it next to the source, or shuffle within a window: `shuffle(window: 10_000)`")
}

pub(crate) fn no_laps(at: Span, (between, why): (Span, &str)) -> Diagnostic {
    Diagnostic::error(
        NO_LAPS.code(),
        at,
        "what stands before `repeat` cannot be made laps of a source",
    )
    .also(between, why)
    .help("move `repeat` before it, next to the source; `mix(at_end: repeat)` is one for each of its streams")
}

pub(crate) fn no_other(at: Span, (between, why): (Span, &str)) -> Diagnostic {
    Diagnostic::error(NO_OTHER.code(), at, "`another` has no source to take a record from")
        .also(between, why)
        .help("write `else skip`, or `else` and a value")
}

pub(crate) fn misaligns(at: Span, zip: Span) -> Diagnostic {
    Diagnostic::error(
        MISALIGNS.code(),
        at,
        "a record that is skipped here misaligns the streams of `zip`",
    )
    .also(zip, "the streams are put side by side here")
    .help("compute after `zip` what can fail: then the pair goes")
}

pub(crate) fn too_large(at: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE.code(), at, format!("the pipeline has more than {most} stages"))
        .help("make it of several pipelines")
}
