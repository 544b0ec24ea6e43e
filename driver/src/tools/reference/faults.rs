//! The kinds of faults: what causes each, and what to do about it. `scan`, the quarantine and the end of a run name
//! them, and `pipec explain KIND` looks here. A test holds the table against every `Fault` that the code makes.

use serde::Serialize;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FaultKind {
    /// Its name, such as `image-truncated`.
    pub name: &'static str,
    /// What causes it.
    pub cause: &'static str,
    /// What to do about it.
    pub cure: &'static str,
}

macro_rules! kinds {
    ($(#[$doc:meta])* $all:ident: $($name:literal $cause:literal $cure:literal)*) => {
        $(#[$doc])*
        pub static $all: &[FaultKind] =
            &[$(FaultKind { name: $name, cause: $cause, cure: $cure }),*];
    };
}

kinds! {
    /// Why a run ends that is no fault of a record, by the name that exceptions in Python have as their `code`.
    FAILURE_KINDS:

    "data"
    "The data do not fit the program as a whole: rows of a batch have different extents, a key comes twice, or none of \
     the records of an endless stream is left."
    "The message names the step; `pipec peek` shows the records in front of it."

    "input"
    "A file or folder cannot be read or written, or has changed since the run began; a row of it may be damaged."
    "The message names the file and what to do. `else skip` skips records that fail, not files that cannot be listed."

    "memory"
    "The pipeline needs more memory than it was given (`--memory`, `memory=`), or than the system has."
    "Give the amount that the message names, make batches or windows smaller, or use fewer workers."

    "program"
    "The program or its built file does not fit this version of pipec, or it gives nothing that could be measured."
    "Check the program with `pipec check`, and build it again."

    "state"
    "A checkpoint is damaged, or of another program, seed, input, rank or set of classes."
    "Run the program as it was, or start again with another checkpoint."

    "stopped"
    "The run was interrupted, as by Ctrl-C."
    "Run it again; with a checkpoint it goes on where it stopped."

    "too-many-lost"
    "More records failed than `else skip(most: …)`, `else another(most: …)` or `--max-errors` allows."
    "`pipec scan` lists every record that fails; mend the data, or allow the share that the message names."
}

kinds! {
    /// Every kind, by name.
    FAULT_KINDS:

    "axis"
    "`jpeg_extent` was asked for an axis that a picture does not have."
    "A picture has the axes 0 (height), 1 (width) and 2 (channels)."

    "bad-row"
    "A row of a CSV file or a record of a tar or TFRecord file is damaged, cut off, or does not fit its columns. The \
     message names file, line and value."
    "Repair the file, say what empty fields stand for (`missing:`), or skip such rows: `field else skip`."

    "channels"
    "A picture has a number of channels that the function does not take, such as RGBA for `encode_jpeg`."
    "Convert it first: `grayscale(image)`, or `image[:, :, :3]` drops the alpha channel."

    "class"
    "`class_of` found a file in a folder that is not among the classes."
    "Add the folder to `classes:`, or leave such files out with `where`."

    "crop-outside"
    "A crop does not lie within its picture."
    "Clamp the position or the size, or enlarge small pictures first with `pad` or `resize_short`."

    "division-by-zero"
    "A whole number is divided by zero, or its remainder is taken."
    "Guard the divisor (`if n == 0 then 0 else x // n`), or divide floats, which give infinity."

    "earlier"
    "The record failed before the run was resumed; a checkpoint keeps the count, not the reasons."
    "Look into the quarantine file of the earlier run (`--quarantine FILE`)."

    "empty"
    "An empty list or tensor has no element to choose, as for `maximum`, and no extents of its own."
    "Leave such records out: `where len(ids) > 0`."

    "encode"
    "A picture cannot be written in the format, for example because a side is too long for it."
    "Resize it first, or choose another format."

    "example-shape"
    "A feature of a TFRecord has another number of values than its type says."
    "Check the extents behind `as`; `?` stands for any number of values: `as f32[?]`."

    "example-syntax"
    "The bytes of a record are not a `tf.train.Example`."
    "Check that the file holds Examples. Where it holds something else, use the record's bytes."

    "example-type"
    "A feature of a TFRecord holds values of another kind than its type says, such as texts instead of numbers, or a \
     number that its type cannot hold."
    "Write the type that the feature has: `row[\"label\"] as i64`."

    "extents"
    "The extents of two values, or the number of elements, do not fit each other in this record."
    "`pipec peek` shows the record; resize, crop or pad to the same extents first."

    "field-missing"
    "A JSON object, an Example or a record of a tar file lacks the member that is asked for. The message lists those \
     that it has."
    "Check the spelling; for optional members, give another value: `row[\"name\"] as str else \"\"`."

    "file-missing"
    "A file that the program names, as in `read_file(path)`, does not exist."
    "Check how the path is made, `pipec peek` shows it; or skip the record: `else skip`."

    "file-too-large"
    "A file is larger than a single value may be (1 GiB)."
    "Split it, or read it as a stream with `lines`, `jsonl`, `csv` or `tar`."

    "file-unreadable"
    "A file exists and cannot be read: permissions, a folder or device where a file is wanted, or a disk error."
    "Check permissions and disk. If it is a network disk, try again."

    "foreign"
    "The program calls a function in Python where only the program is looked at, without Python."
    "Run the program from Python with `pipec.load`."

    "foreign-result"
    "A function in Python returned a value of another dtype or shape than its `extern fn` declares."
    "Change the declaration, or convert the result, as with `np.asarray(x, np.int64)`."

    "image-damaged"
    "The file is a JPEG, PNG or WebP, and its contents contradict the format: bytes were changed or lost."
    "Fetch the file again, or leave it out: `decode_jpeg(bytes) else skip`. `pipec scan` lists all such files."

    "image-empty"
    "A picture without pixels cannot be resized or continued at its border."
    "Leave such pictures out, or check the crop before this step."

    "image-too-large"
    "A picture has more pixels than may be decoded, or its decoder would need too much memory; the message names the \
     limit."
    "Resize the file beforehand, or leave it out: `else skip`."

    "image-truncated"
    "A picture's file ends before its last row: a download or a copy was interrupted."
    "Fetch the file again, or leave it out: `decode_jpeg(bytes) else skip`. `pipec scan` lists all such files."

    "image-unknown"
    "The bytes are not a picture in the format that the function decodes; the message says what they are."
    "`decode_image` decodes JPEG, PNG and WebP whatever the file's extension; a narrower pattern leaves other files out."

    "image-unsupported"
    "The picture is of a kind that is not decoded, such as a lossless JPEG or an animated WebP."
    "Convert the file beforehand, or leave it out: `else skip`."

    "index"
    "An index lies outside of the list or tensor that it is used on."
    "Elements are counted from 0, and from the end with negative numbers; `len(x)` is how many there are."

    "json-depth"
    "A JSON text is nested more deeply than is read."
    "Flatten the data."

    "json-shape"
    "A JSON list has other extents than its type says, or its rows differ in length."
    "Check the extents behind `as`; `?` stands for any number of elements: `as f32[?]`."

    "json-syntax"
    "A text is not JSON."
    "The message shows where. Check the line of the file, or skip it: `else skip`."

    "json-type"
    "A JSON value is not of the type behind `as`, such as `null` where a text is wanted, or too large for it; or a member \
     or element is asked of a value that is no object or list."
    "Write the type that the data have, or convert: `parse_int(row[\"n\"] as str)`."

    "label"
    "`one_hot` met a label that is not from 0 up to its number of classes."
    "Give the number of classes of the whole data set; labels are counted from 0."

    "not-listed"
    "`index_of` met a value that is not in its list; the message names the nearest entry."
    "Correct the data or the list, or skip the record: `else skip`."

    "number"
    "A text is not a number that `parse_int` or `parse_float` reads."
    "Remove what does not belong to it (`strip`, `replace`), or give another value: `parse_int(text) else -1`."

    "python"
    "A function in Python raised an exception, which the message names, or Python is shutting down."
    "Correct the function, or skip the record: `else skip`."

    "quality"
    "`encode_jpeg` was given a quality that is not from 1 to 100."
    "Clamp it: `clamp(q, 1, 100)`."

    "shape"
    "`beta` was given a shape parameter that is not above 0 and finite."
    "Check how the parameter is computed; `clamp` bounds it."

    "size"
    "A size, a width or a number of elements is out of its range, such as a side that is not from 1 to 65,536."
    "The message names value and range; `clamp` bounds a computed size."

    "time"
    "The time that `busy` is told to take is negative, not finite or too long."
    "Give it in seconds."

    "too-large"
    "A value would take more memory than a single value may (1 GiB)."
    "Check how its extents are computed, and bound them with `clamp` or `where`."

    "utf-8"
    "The bytes of a text are not UTF-8."
    "Convert the file (`iconv -f latin1 -t utf-8`), or skip the record: `else skip`."
}

/// The kind of fault or failure of this name.
#[must_use]
pub fn fault_kind(name: &str) -> Option<&'static FaultKind> {
    let mut all = FAULT_KINDS.iter().chain(FAILURE_KINDS);
    all.find(|it| it.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_order_and_say_something() {
        assert!(FAULT_KINDS.windows(2).all(|it| it[0].name < it[1].name));
        assert!(FAILURE_KINDS.windows(2).all(|it| it[0].name < it[1].name));
        for it in FAULT_KINDS.iter().chain(FAILURE_KINDS) {
            assert!(it.cause.ends_with('.') && it.cure.ends_with('.'), "{it:?}");
        }
    }
}
