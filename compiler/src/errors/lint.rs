//! Lints: their codes and messages.

use plan::{Diagnostic, Span};

codes! {
    "PC0401" SHUFFLE_AFTER_DECODE "shuffle-after-decode"
    "A windowed shuffle buffers that many records. After a decoding step each of them is a whole image: a thousand of \
     600 kB take 600 MB. The order does not depend on the contents of records, so shuffle before the step, where a \
     record is a path and the bytes of a file."
    wrong "pipeline p(source) = source |> with { image: decode_jpeg(bytes) } |> shuffle(window: 1_000)"
    right "pipeline p(source) = source |> shuffle(window: 1_000) |> with { image: decode_jpeg(bytes) }"

    "PC0402" MISSING_TAIL "missing-tail"
    "The number of records is rarely a multiple of the batch size, and by default (`tail: drop`) the last ones are dropped \
     in every epoch. That is common in training and rarely intended in evaluation. `tail: keep` returns them as a \
     smaller batch; `tail: mask` pads it and marks the real rows. With `by`, each bucket has its own last batch."
    wrong "pipeline p = range(100) |> batch(8)"
    right "pipeline p = range(100) |> batch(8, tail: mask)"

    "PC0403" SORTED_SOURCE "sorted-source"
    "Files are sorted by name, so the files of a folder, which is often a class, come together. A window only mixes \
     neighbors, so batches still consist of nearly one class. Files can be read in any order: `shuffle` without a window \
     is a permutation of all of them and buffers nothing."
    wrong "param data: path\n    pipeline p = files(data) |> shuffle(window: 1_000)"
    right "param data: path\n    pipeline p = files(data) |> shuffle"

    "PC0404" HIDES_FIELD "hides-field"
    "The loop variable of a `for` has the name of a field, so inside the brackets the field is only available through \
     `it`. Rename the variable to keep both."
    wrong "pipeline p = range(9) |> flat_map [{ n: i } for i in 1..3]"
    right "pipeline p = range(9) |> flat_map [{ n: k } for k in 1..3]"

    "PC0405" CLASS_FIELD "class-field"
    "In Python the fields of a batch are attributes, and `class` is a Python keyword, so `batch.class` is a syntax error."
    wrong "pipeline p = range(9) |> map { class: i }"
    right "pipeline p = range(9) |> map { label: i }"

    "PC0406" RESIZE_CONVENTION "resize-convention"
    "The image is normalized with constants of weights that were trained with another library, and libraries resize \
     differently: in the alignment of pixel corners, and in antialiasing. A network loses a few tenths of a percent of \
     accuracy on images that are resized in another way than in training. `like:` selects the convention."
    wrong "fn f(image) = resize(image, 224, 224) |> normalize(mean: 127.5, std: 127.5)"
    right "fn f(image) = resize(image, 224, 224, like: tf) |> normalize(mean: 127.5, std: 127.5)"

    "PC0407" UNUSED_NAME "unused-name"
    "The name is never used. Perhaps another name was meant; names that begin with `_` are not reported."
    wrong "const SIZE = 224\n    pipeline p = range(9)"
    right "const SIZE = 224\n    pipeline p = range(SIZE)"

    "PC0408" ARGMAX_OF_EQUAL "argmax-of-equal"
    "If no element of the list is equal, all comparisons are false and `argmax` returns 0: a misspelled label becomes the \
     first class. `index_of` returns the position in the list, and a value that is not in it is a fault that names it \
     and the nearest element; handle it with `else skip` or `else -1`."
    wrong "pipeline p = range(3) |> map { label: argmax([i == c for c in [2, 0, 1]]) }"
    right "pipeline p = range(3) |> map { label: index_of(i, [2, 0, 1]) }"

    "PC0411" BIDI_CHARACTER "bidi-character"
    "An invisible character changes the direction of the text after it, so that an editor or a review shows the program \
     in another order than it is compiled in (CVE-2021-42574). If a string needs one, write it as an escape."
    wrong "pipeline p = range(9) |> map { text: \"a\u{202e}b\" }"
    right "pipeline p = range(9) |> map { text: \"ab\" }"
}

pub(crate) fn argmax_of_equal(value: &str, list: &str, at: Span) -> Diagnostic {
    let message = "a value that is not in the list silently becomes class 0";
    Diagnostic::warning(ARGMAX_OF_EQUAL.code(), at, message)
        .help(format!("use `index_of({value}, {list})`, which faults instead"))
        .fix(at, format!("index_of({value}, {list})"))
}

pub(crate) fn shuffle_after_decode(decodes: &str, at: Span) -> Diagnostic {
    let message = format!("this buffers the output of `{decodes}` for every record of the window");
    Diagnostic::warning(SHUFFLE_AFTER_DECODE.code(), at, message)
        .help("shuffle before the decoding step: the order does not depend on it")
}

pub(crate) fn missing_tail(sorts: bool, at: Span) -> Diagnostic {
    let message = match sorts {
        true => "the incomplete last batch of each bucket is silently dropped",
        false => "the incomplete last batch of an epoch is silently dropped",
    };
    Diagnostic::warning(MISSING_TAIL.code(), at, message)
        .help("use `tail: keep` or `tail: mask` to keep it, or `tail: drop` if this is intended")
}

pub(crate) fn sorted_source(source: &str, at: Span) -> Diagnostic {
    let message = format!("`{source}` sorts files by name, and a window only mixes neighbors");
    Diagnostic::warning(SORTED_SOURCE.code(), at, message)
        .help("`shuffle` without a window permutes all of them and buffers nothing")
}

pub(crate) fn hides_field(name: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` shadows a field of the record");
    Diagnostic::warning(HIDES_FIELD.code(), at, message)
        .help(format!("rename the loop variable `{name}`"))
}

pub(crate) fn class_field(at: Span) -> Diagnostic {
    Diagnostic::warning(CLASS_FIELD.code(), at, "`batch.class` is a syntax error in Python")
        .help("name the field `label`")
}

pub(crate) fn resize_convention(function: &str, like: &str, at: Span) -> Diagnostic {
    let message = format!(
        "`{function}` resizes as Pillow does, but these constants belong to weights of another library"
    );
    Diagnostic::warning(RESIZE_CONVENTION.code(), at, message)
        .help(format!("write `like: {like}`, or `like: pillow` if that is intended"))
}

pub(crate) fn unused_name(kind: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(UNUSED_NAME.code(), at, format!("unused {kind} `{name}`"))
        .help(format!("remove it, or name it `_{name}`"))
}

pub(crate) fn bidi_character(it: char, at: Span) -> Diagnostic {
    let message =
        format!("U+{:04X} changes the order in which the following text is shown", u32::from(it));
    Diagnostic::warning(BIDI_CHARACTER.code(), at, message).help("remove it")
}
