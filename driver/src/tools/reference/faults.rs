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
    "The data do not fit the program as a whole: rows of a batch have different extents, a key is \
     duplicated, or no record of an endless stream passes."
    "The message names the step; `pipec peek` shows the records before it."

    "input"
    "A file or folder cannot be read or written, or has changed since the run began; one of its \
     rows may be damaged."
    "The message names the file and what to do. `else skip` skips failed records, not files that \
     cannot be listed."

    "memory"
    "The pipeline needs more memory than its limit (`--memory`, `memory=`), or than the system has."
    "Set the amount that the message names, make batches or windows smaller, or use fewer workers."

    "program"
    "The program or its built file does not fit this version of pipec, or it has no output that \
     could be measured."
    "Check the program with `pipec check`, and build it again."

    "state"
    "A checkpoint is damaged, or belongs to another program, seed, input, rank or set of classes."
    "Run the program as it was, or start again with another checkpoint."

    "stopped"
    "The run was interrupted, for example with Ctrl-C."
    "Run it again; with a checkpoint it resumes where it stopped."

    "too-many-lost"
    "More records failed than `else skip(most: …)`, `else another(most: …)` or `--max-errors` allows."
    "`pipec scan` lists every record that fails; fix the data, or allow the fraction that the \
     message names."
}

kinds! {
    /// Every kind, by name.
    FAULT_KINDS:

    "axis"
    "`jpeg_extent` was called with an axis that an image does not have."
    "An image has the axes 0 (height), 1 (width) and 2 (channels)."

    "bad-row"
    "A row of a CSV file, or a record of a tar, TFRecord or other binary file is damaged, truncated, \
     or does not match its columns. The message names file, line and value."
    "Repair the file, give a value for empty fields (`missing:`), or skip such rows: `field else \
     skip`."

    "channels"
    "An image has a number of channels that the function does not support, such as RGBA for \
     `encode_jpeg`."
    "Convert it first: `grayscale(image)`, or `image[:, :, :3]` drops the alpha channel."

    "chat"
    "The messages that `chat` was given are no list of objects with `role` and `content`, or an empty list."
    "Bring them into that form, or skip such records: `chat(…) else skip`."

    "chat-template"
    "The template of a model refuses the messages, such as a system message, or fails on them; or it writes a message otherwise \
     once more follow, so that nothing tells which part of it counts for the loss."
    "Skip such records, or change the template: `{% generation %}` … `{% endgeneration %}` around what the assistant says tells \
     what counts."

    "class"
    "`class_of` found a file in a folder that is not among the classes."
    "Add the folder to `classes:`, or drop such files with `where`."

    "compressed-damaged"
    "Compressed bytes are damaged, truncated, or expand beyond what `decompress` allows."
    "Repair the file, or skip such records: `decompress(bytes) else skip`."

    "compression-unknown"
    "`decompress` found bytes that are not compressed in a form it knows, or not in the one that `kind` says."
    "Use the bytes as they are, or state another `kind:` (gzip, zstd, xz or bzip2)."

    "crop-outside"
    "A crop lies outside its image."
    "Clamp the position or the size, or enlarge small images first with `pad` or `resize_short`."

    "dataset-shape"
    "A dataset of an HDF5 file has other extents than its type."
    "Check the extents after `as`; `?` stands for any: `as f32[?, 3]`. `pipec inspect` shows those of the file."

    "dataset-type"
    "A dataset of an HDF5 file holds something else than its type, such as floats instead of integers, or a number that does not \
     fit into its type."
    "Write the type that the dataset has, as `pipec inspect` shows it: `row[\"x\"] as f32[?]`."

    "division-by-zero"
    "An integer division or remainder by zero."
    "Guard the divisor (`if n == 0 then 0 else x // n`), or divide floats, which results in \
     infinity."

    "earlier"
    "The record failed before the run was resumed; a checkpoint keeps the count, not the reasons."
    "See the quarantine file of the earlier run (`--quarantine FILE`)."

    "empty"
    "An empty list or tensor has no element to choose, for example in `maximum`, and no extents."
    "Drop such records: `where len(ids) > 0`."

    "encode"
    "An image cannot be encoded in the format, for example because a side is too long for it."
    "Resize it first, or choose another format."

    "example-shape"
    "A feature of a TFRecord has a different number of values than its type."
    "Check the extents after `as`; `?` stands for any number of values: `as f32[?]`."

    "example-syntax"
    "The bytes of a record are not a `tf.train.Example`."
    "Check that the file contains Examples. If it contains something else, use the bytes of the \
     record."

    "example-type"
    "A feature of a TFRecord has values of a different kind than its type, such as strings instead \
     of numbers, or a number that does not fit into its type."
    "Write the type that the feature has: `row[\"label\"] as i64`."

    "extents"
    "The extents of two values, or the number of elements, are incompatible in this record."
    "See the record with `pipec peek`; resize, crop or pad to the same extents first."

    "field-missing"
    "A JSON object, an Example or a record of a tar file does not have the requested field. The \
     message lists the fields that it has."
    "Check the spelling; for optional fields, give a default: `row[\"name\"] as str else \"\"`."

    "file-missing"
    "A file that the program names, as in `read_file(path)`, does not exist."
    "Check how the path is computed (`pipec peek` shows it), or skip the record: `else skip`."

    "file-too-large"
    "A file is larger than the limit for a single value (1 GiB)."
    "Split it, or read it as a stream with `lines`, `jsonl`, `csv` or `tar`."

    "file-unreadable"
    "A file exists but cannot be read: missing permissions, a folder or device instead of a file, \
     or a disk error."
    "Check the permissions and the disk. If it is a network disk, try again."

    "foreign"
    "The program calls a Python function, but it is only inspected, without Python."
    "Run the program from Python with `pipec.load`."

    "foreign-result"
    "A Python function returned a value with a different dtype or shape than its `extern fn` \
     declares, or a record of a Python source lacks a field that its `extern pipeline` declares."
    "Change the declaration, or convert the value, for example with `np.asarray(x, np.int64)`."

    "html-limit"
    "`html_text` was given a page that would take unbounded time or memory: elements nested deeper than 512, more than a \
     million of them, or a tag of more than 1,024 attributes."
    "Skip the page: `else skip`. Such pages are damaged, or made to be a burden."

    "image-damaged"
    "The file is a JPEG, PNG or WebP, but its contents are invalid: bytes were changed or lost."
    "Download the file again, or skip it: `decode_jpeg(bytes) else skip`. `pipec scan` lists all \
     such files."

    "image-empty"
    "An image without pixels cannot be resized, warped or extended at its border."
    "Drop such images, or check the crop before this step."

    "image-too-large"
    "An image has more pixels than the limit, or decoding it would need too much memory; the \
     message names the limit."
    "Resize the file beforehand, or skip it: `else skip`."

    "image-truncated"
    "An image file is truncated before its last row: a download or a copy was interrupted."
    "Download the file again, or skip it: `decode_jpeg(bytes) else skip`. `pipec scan` lists all \
     such files."

    "image-unknown"
    "The bytes are not an image in the format that the function decodes; the message says what \
     they are."
    "`decode_image` decodes JPEG, PNG and WebP whatever the file's extension; a narrower pattern \
     excludes other files."

    "image-unsupported"
    "The image is of a kind that is not supported, such as a lossless JPEG or an animated WebP."
    "Convert the file beforehand, or skip it: `else skip`."

    "index"
    "An index is out of range for its list or tensor."
    "Elements are counted from 0, and from the end with negative numbers; `len(x)` is their number."

    "json-depth"
    "JSON is nested too deeply."
    "Flatten the data."

    "json-shape"
    "A JSON list has different extents than its type, or its rows differ in length."
    "Check the extents after `as`; `?` stands for any number of elements: `as f32[?]`."

    "json-syntax"
    "A string is not valid JSON."
    "The message shows where. Check the line of the file, or skip it: `else skip`."

    "json-type"
    "A JSON value does not have the type after `as`, such as `null` instead of a string, or is too \
     large for it; or a field or element of something that is not an object or list is accessed."
    "Write the type that the data has, or convert: `parse_int(row[\"n\"] as str)`."

    "label"
    "`one_hot` found a label outside the range from 0 to its number of classes."
    "Use the number of classes of the whole data set; labels are counted from 0."

    "matrix"
    "A matrix has no inverse, or none moves the given points to the others: `warp_points`, `perspective_matrix`."
    "Check the points: no three of them may lie on a line. Or skip the record: `else skip`."

    "no-article"
    "`html_text(html, keep: article)` found nothing on the page that looks like an article, as on a page of links."
    "Skip the page (`else skip`), or take all of its text: `else html_text(html)`."

    "no-partner"
    "A record of the first stream of a `join` has a key that no record of the second one has; the message names \
     the key."
    "Skip such records (`missing: skip`, or `else skip`), or give them a value: `caption else \"\"`, or \
     `missing: keep, fill: { … }`."

    "not-listed"
    "`index_of` found a value that is not in its list, and the message names the nearest entry; or `lookup` found a key \
     that is not a line of its table, or `word_ids` such a word."
    "Correct the data or the list, skip the record with `else skip`, or give `lookup` or `word_ids` a number with `unknown:`."

    "npy-shape"
    "An array of NumPy has other axes than its type."
    "Check the extents after `as`; `?` stands for any: `x as f32[?, 3]`."

    "npy-syntax"
    "The bytes are not a `.npy` file, or one of a kind that is not read, such as an array of Python objects."
    "Write the array with `np.save`, as numbers or booleans."

    "npy-type"
    "An array of NumPy holds something else than its type, such as floats instead of integers, or a number that does \
     not fit into its type."
    "Write the type that the array has, and convert after that: `i32(x as f32[n])`."

    "number"
    "A string is not a number that `parse_int` or `parse_float` can parse."
    "Remove other characters (`strip`, `replace`), or give a default: `parse_int(text) else -1`."

    "python"
    "A Python function or source raised an exception, which the message names, or Python is \
     shutting down."
    "Fix the function or the source, or skip the record: `else skip`."

    "quality"
    "`encode_jpeg` was called with a quality that is not from 1 to 100."
    "Clamp it: `clamp(q, 1, 100)`."

    "shape"
    "`beta` was called with a shape parameter that is not greater than 0 and finite."
    "Check how the parameter is computed, or bound it with `clamp`."

    "size"
    "A size, a width or a number of elements is out of range, such as a side that is not from 1 \
     to 65,536."
    "The message names the value and the range; bound a computed size with `clamp`."

    "stopped"
    "The run was stopped while a long list was being computed; nothing is wrong with the record."
    "Nothing: a run that continues computes the record again."

    "table-columns"
    "A line of a text that `parse_table` reads has another number of values than `columns`. The message names the line."
    "Repair the file, or give `columns:` as the file has them."

    "text-encoding"
    "The bytes are not text in the encoding of `decode_text`."
    "State the encoding that the data has: `decode_text(bytes, encoding: \"latin1\")`."

    "time"
    "The time given to `busy` is negative, not finite or too long."
    "Give it in seconds."

    "token"
    "`detokenize` found a number that is not the id of a token of its model, such as -100 for positions that are ignored; \
     or `tokenize` a text for which its model has no token."
    "Use the model that the ids are of, and leave out other numbers: `ids[ids >= 0]`; skip texts without tokens: \
     `else skip`."

    "too-large"
    "A value would take more memory than the limit for a single value (1 GiB)."
    "Check how its extents are computed, and bound them with `clamp` or `where`."

    "too-long"
    "`tokenize` found a word of more than 16 MiB, such as a file of one letter, or `html_text` a page of more than 16 MiB."
    "Skip the record (`else skip`), or cut the text: `substring(text, 0, 1_000_000)`."

    "utf-8"
    "The bytes of a string are not valid UTF-8, or those of tokens: `detokenize` was given ids that were cut off within a \
     character."
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
