//! Messages about plans that cannot be lowered to a program.

use plan::{CodeInfo, Diagnostic, Span};

const NO_INDEX: CodeInfo = CodeInfo {
    id: "PC0301",
    name: "shuffle-index",
    long: "`shuffle` without a window permutes the index of its source: every order of the whole data set is possible, and \
           nothing is buffered. So the source must support random access (`files`, `range`), and only `map`, `with`, \
           `where`, `windows` and `zip` may come between the two; before `windows` and `zip` no step may drop records, \
           since they are numbered. Everything else can be shuffled within a window: `shuffle(window: 10_000)`.\n\nWrong:\n\n    pipeline p = range(10) |> repeat(2) |> shuffle\n\n\
           Right:\n\n    pipeline p = range(10) |> shuffle |> repeat(2)\n",
};

const NO_LAPS: CodeInfo = CodeInfo {
    id: "PC0302",
    name: "repeat-laps",
    long: "`repeat` reads its source again in each repetition and stores nothing. It works on a source followed by `map`, `with`, \
           `where`, `flat_map` and `shuffle` without a window. Put `repeat` before `batch`, `take`, `zip` and other steps \
           that depend on the end of a stream or on several streams.\n\nWrong:\n\n    pipeline p = range(10) |> batch(4) |> repeat(2)\n\n\
           Right:\n\n    pipeline p = range(10) |> repeat(2) |> batch(4)\n",
};

const NO_OTHER: CodeInfo = CodeInfo {
    id: "PC0303",
    name: "another-index",
    long: "`else another` replaces a failed record by another record of the same source, drawn at random. So the source must \
           support random access, and only `map`, `with`, `where` and `shuffle` without a window may come between the two. \
           Elsewhere, use `else skip`, or `else` with a value.",
};

const MISALIGNS: CodeInfo = CodeInfo {
    id: "PC0304",
    name: "skip-misaligns",
    long: "`zip` pairs the first records of all streams, then the second ones, and so on. Skipping a record in only one stream \
           would pair all later records wrongly. Compute what can fail after the `zip`, so that the whole pair is skipped.\n\nWrong:\n\n    pipeline p = zip({ a: range(9) |> map { x: 6 // i }, b: range(9) }) else skip\n\n\
           Right:\n\n    pipeline p = zip({ a: range(9), b: range(9) }) |> map { x: 6 // a.i, i: b.i } else skip\n",
};

const TOO_LARGE: CodeInfo = CodeInfo {
    id: "PC0305",
    name: "program-size",
    long: "A pipeline has at most 1,000 sources and operators, so that no program can exhaust the machine.",
};

const NO_LANES: CodeInfo = CodeInfo {
    id: "PC0306",
    name: "lanes",
    long: "A source with `lanes: n` is split into `n` parts, each of which goes through the steps up to the first `batch` on \
           its own; batches are taken from the lanes in turn, and at the end from what is left of all of them. So only \
           steps that mean the same in each part can come between the two: `map`, `with`, `where`, `flat_map`, `windows` \
           and `shuffle`; `skip`, `take` and `repeat` directly after the source apply to the whole. Several ranks need no \
           lanes: batches are always distributed among them. At most 256 lanes.\n\nWrong:\n\n    \
           pipeline p = range(100, lanes: 4) |> where i % 3 > 0 |> take(10) |> batch(2)\n\n\
           Right:\n\n    pipeline p = range(100, lanes: 4) |> where i % 3 > 0 |> batch(2) |> take(5)\n",
};

const NO_SPANS: CodeInfo = CodeInfo {
    id: "PC0307",
    name: "shuffle-spans",
    long: "`shuffle(window: n, spans: k)` reads `k` files at a time, in an order drawn for each pass, one record from each in \
           turn, and shuffles the result within a window. So the source must consist of files with many records each \
           (`tfrecord`, `tar`, `records`, `npy`, `lines`, `jsonl`, `csv`), without `lanes`, and only `map`, `with`, `where`, \
           `flat_map` and `repeat` may come between the two. `files` has one record per file: shuffle it without a window.\n\nWrong:\n\n    \
           pipeline p = files(\"a/*.txt\") |> shuffle(window: 100, spans: 8)\n\n\
           Right:\n\n    pipeline p = lines(\"a/*.txt\") |> shuffle(window: 100, spans: 8)\n",
};

/// All of them, by number.
pub(crate) static CODES: &[CodeInfo] =
    &[NO_INDEX, NO_LAPS, NO_OTHER, MISALIGNS, TOO_LARGE, NO_LANES, NO_SPANS];

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
        .also(source, "the lanes come from this source")
        .help(why.help)
}

pub(crate) fn lanes_out_of_bounds(at: Span, found: i64) -> Diagnostic {
    let most = plan::Lanes::MAX;
    Diagnostic::error(NO_LANES.code(), at, format!("`lanes` is {found}, but must be in 1..{most}"))
        .help("use at least the largest world size you plan for, or a multiple of it, such as 64")
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

pub(crate) fn no_spans(at: Span, (between, why): (Span, &str)) -> Diagnostic {
    Diagnostic::error(NO_SPANS.code(), at, "`shuffle` has no `spans` to choose from here")
        .also(between, why)
        .help("move it next to a source such as `tfrecord` or `lines`, or shuffle without `spans`")
}

pub(crate) fn no_laps(at: Span, (between, why): (Span, &str)) -> Diagnostic {
    Diagnostic::error(NO_LAPS.code(), at, "`repeat` cannot repeat this stream")
        .also(between, why)
        .help(
            "move `repeat` next to the source; for the streams of `mix`, use `mix(at_end: repeat)`",
        )
}

pub(crate) fn no_other(at: Span, (between, why): (Span, &str)) -> Diagnostic {
    Diagnostic::error(NO_OTHER.code(), at, "`another` has no source to take a record from")
        .also(between, why)
        .help("use `else skip`, or `else` with a value")
}

pub(crate) fn misaligns(at: Span, zip: Span) -> Diagnostic {
    Diagnostic::error(
        MISALIGNS.code(),
        at,
        "a record that is skipped here misaligns the streams of `zip`",
    )
    .also(zip, "the streams are zipped here")
    .help("compute what can fail after `zip`, so that the whole pair is skipped")
}

pub(crate) fn too_large(at: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE.code(), at, format!("the pipeline has more than {most} steps"))
        .help("split it into several pipelines")
}
