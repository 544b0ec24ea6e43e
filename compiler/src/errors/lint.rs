//! What is allowed and seldom meant: the codes, and the sentences.

use plan::{Diagnostic, Span};

codes! {
    "PC0401" SHUFFLE_AFTER_DECODE "shuffle-after-decode"
    "A shuffle within a window holds that many records. Behind a step that decodes, each of them is a whole picture: \
     a thousand of 600 kB are 600 MB. The order of records does not depend on what is in them, so the shuffle can \
     stand before the step, where a record is a path and the bytes of a file."
    wrong "pipeline p(source) = source |> with { image: decode_jpeg(bytes) } |> shuffle(window: 1_000)"
    right "pipeline p(source) = source |> shuffle(window: 1_000) |> with { image: decode_jpeg(bytes) }"

    "PC0402" MISSING_TAIL "missing-tail"
    "The number of records is seldom a multiple of the batch. What becomes of the last ones is `drop` unless it is \
     said: they are left out of every epoch. That is meant where one trains, and seldom where one counts what is right. \
     `tail: keep` gives them as a smaller batch, `tail: mask` fills it up and says which rows are real. With `by` each \
     kind of records has batches of its own, and so last ones of its own."
    wrong "pipeline p = range(100) |> batch(8)"
    right "pipeline p = range(100) |> batch(8, tail: mask)"

    "PC0403" SORTED_SOURCE "sorted-source"
    "Files come in the order of their names, so those of one folder, which is often one class, come together. A \
     window mixes only what is near: the batches are still nearly of one class. Files can be read in any order, so \
     `shuffle` without a window is a permutation of all of them, and holds nothing."
    wrong "param data: path\n    pipeline p = files(data) |> shuffle(window: 1_000)"
    right "param data: path\n    pipeline p = files(data) |> shuffle"

    "PC0404" HIDES_FIELD "hides-field"
    "The element of a `for` has the name of a field that flows here, so within the brackets the field cannot be had \
     but by `it`. Another name keeps both."
    wrong "pipeline p = range(9) |> flat_map [{ n: i } for i in 1..3]"
    right "pipeline p = range(9) |> flat_map [{ n: k } for k in 1..3]"

    "PC0405" CLASS_FIELD "class-field"
    "A batch is handed to Python with its fields as attributes, and `class` is a word of Python: `batch.class` cannot \
     be written there."
    wrong "pipeline p = range(9) |> map { class: i }"
    right "pipeline p = range(9) |> map { label: i }"

    "PC0406" RESIZE_CONVENTION "resize-convention"
    "The numbers that this picture is normalised with are those of weights that another tool has made, and tools \
     do not resize alike: where the corners of pixels lie, and whether what is left out is averaged. A network is some \
     tenths of a percent worse on pictures that were resized in another way than it has learnt. `like:` says which way."
    wrong "fn f(image) = resize(image, 224, 224) |> normalize(mean: 127.5, std: 127.5)"
    right "fn f(image) = resize(image, 224, 224, like: tf) |> normalize(mean: 127.5, std: 127.5)"

    "PC0407" UNUSED_NAME "unused-name"
    "Nothing names this, so it does nothing. Perhaps something else was meant where it should stand; a name that begins \
     with `_` is never reported."
    wrong "const SIZE = 224\n    pipeline p = range(9)"
    right "const SIZE = 224\n    pipeline p = range(SIZE)"

    "PC0408" ARGMAX_OF_EQUAL "argmax-of-equal"
    "Where nothing in the list is equal, all of the comparisons are false, and `argmax` of that is 0: a label that is \
     misspelt becomes the first class. `index_of` finds the place in the list, and what is not there is a fault that \
     names it and the nearest entry; `else skip` or `else -1` deals with it."
    wrong "pipeline p = range(3) |> map { label: argmax([i == c for c in [2, 0, 1]]) }"
    right "pipeline p = range(3) |> map { label: index_of(i, [2, 0, 1]) }"

    "PC0411" BIDI_CHARACTER "bidi-character"
    "A character that is not seen changes the direction of the text behind it, so that an editor or a review shows it in \
     another order than it is compiled in (CVE-2021-42574). A program that needs one in a text can write it as an \
     escape."
    wrong "pipeline p = range(9) |> map { text: \"a\u{202e}b\" }"
    right "pipeline p = range(9) |> map { text: \"ab\" }"
}

pub(crate) fn argmax_of_equal(value: &str, list: &str, at: Span) -> Diagnostic {
    let message = "what is not in the list becomes class 0 here, and nothing is said";
    Diagnostic::warning(ARGMAX_OF_EQUAL.code(), at, message)
        .help(format!("`index_of({value}, {list})` is a fault there"))
        .fix(at, format!("index_of({value}, {list})"))
}

pub(crate) fn shuffle_after_decode(decodes: &str, at: Span) -> Diagnostic {
    let message = format!("this holds what `{decodes}` makes of so many records");
    Diagnostic::warning(SHUFFLE_AFTER_DECODE.code(), at, message)
        .help("put it before the step that decodes: the order does not depend on it")
}

pub(crate) fn missing_tail(sorts: bool, at: Span) -> Diagnostic {
    let message = match sorts {
        true => "the last records of each kind, which fill no batch, are dropped silently",
        false => "the last records of an epoch, which fill no batch, are dropped silently",
    };
    Diagnostic::warning(MISSING_TAIL.code(), at, message)
        .help("say so with `tail: drop`, or give them with `tail: keep` or `tail: mask`")
}

pub(crate) fn sorted_source(source: &str, at: Span) -> Diagnostic {
    let message =
        format!("`{source}` gives files by their names, and a window mixes only neighbours");
    Diagnostic::warning(SORTED_SOURCE.code(), at, message)
        .help("`shuffle` without a window mixes them all, and holds nothing")
}

pub(crate) fn hides_field(name: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` is a field too, and cannot be had within these brackets");
    Diagnostic::warning(HIDES_FIELD.code(), at, message)
        .help(format!("give the element another name than `{name}`"))
}

pub(crate) fn class_field(at: Span) -> Diagnostic {
    Diagnostic::warning(CLASS_FIELD.code(), at, "`batch.class` cannot be written in Python")
        .help("call the field `label`")
}

pub(crate) fn resize_convention(function: &str, like: &str, at: Span) -> Diagnostic {
    let message = format!(
        "`{function}` resizes as Pillow does, and these means are of weights made with another tool"
    );
    Diagnostic::warning(RESIZE_CONVENTION.code(), at, message)
        .help(format!("write `like: {like}`, or `like: pillow` where that is meant"))
}

pub(crate) fn unused_name(kind: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(UNUSED_NAME.code(), at, format!("nothing names the {kind} `{name}`"))
        .help(format!("leave it out, or call it `_{name}`"))
}

pub(crate) fn bidi_character(it: char, at: Span) -> Diagnostic {
    let message =
        format!("U+{:04X} changes the order in which the text behind it is shown", u32::from(it));
    Diagnostic::warning(BIDI_CHARACTER.code(), at, message).help("remove it")
}
