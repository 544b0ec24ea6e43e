//! A folder of `.npy` files: `DIR/<field>/00000012.npy` is a field of batch 12.
//!
//! Batches are numbered over all epochs. What leaves a pipeline without `batch` is written in
//! pieces that depend on the records alone (`pieces.rs`). Text is JSON, a line a record
//! (`.jsonl`). Records of different extents are their elements one after the other, and
//! `DIR/<field>.shape/` says the extents of each (where a field has that name, the folder that
//! `pipec.json` names). `DIR/pipec.json` says what is there.
//!
//! A file is written under another name and renamed, so that what is there is whole. An earlier
//! output in the folder goes when the first batch comes, and only what its `pipec.json` names; a
//! folder that holds anything else is refused.

use super::{Sink, Written, npy, pieces::Pieces};
use crate::{
    state,
    whole::{self, failure},
};
use plan::{DType, Field, Program, Type};
use runtime::{Chunk, Column, Failure, Rank, Tensor};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    mem,
    path::{Component, Path, PathBuf},
};

/// What says that a folder is an output, and of what.
const MANIFEST: &str = "pipec.json";
/// Bytes of one that is read.
const MANIFEST_MAX: u64 = 64 << 20;
/// The number of this layout.
const FORMAT: u32 = 1;

/// Writes a folder of `.npy` files.
pub struct Folder {
    folder: PathBuf,
    fields: Vec<Field>,
    /// Where each record that leaves is a batch, none.
    pieces: Option<Pieces>,
    manifest: Manifest,
    begun: bool,
    /// The output that is in the folder already.
    earlier: Option<Manifest>,
    /// Outputs that are in whole files.
    outputs: u64,
    /// The folder itself, locked: nobody else writes there meanwhile.
    _lock: Option<File>,
}

/// What is in the folder; an identical run writes an identical one.
#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    pipeline: String,
    /// Whether a file holds a batch, or else a piece of the records.
    batched: bool,
    fields: Vec<FieldForm>,
    /// How many files each field has.
    files: u64,
    /// Whether the run came to its end.
    complete: bool,
    /// Which run it is of, of several that share the work; none of one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<Share>,
}

/// A run of several that share the work.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Share {
    rank: u32,
    world: u32,
}

/// How a field is written.
#[derive(PartialEq, Serialize, Deserialize)]
struct FieldForm {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    form: Form,
    /// Where the extents are, if not in `NAME.shape`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
}

/// What the files of a field are.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// One array a file.
    Array,
    /// The elements of all records, and their extents beside them.
    Ragged,
    /// JSON, a line a record.
    Lines,
}

impl Folder {
    /// The folder for what `program` gives; an earlier output in it goes when the first batch comes.
    ///
    /// # Errors
    /// The folder cannot be written, or holds what pipec did not write.
    pub fn open(folder: &Path, program: &Program, rank: Rank) -> Result<Self, Failure> {
        fs::create_dir_all(folder)
            .map_err(|it| failure(folder, "the folder cannot be made", &it))?;
        let lock = locked(folder)?;
        let earlier = earlier(folder)?;
        if let Some(field) = program.output.iter().find(|it| !is_usable(&it.name)) {
            return Err(Failure::Io {
                path: folder.display().to_string(),
                detail: format!(
                    "no folder in it can be called as the field `{}`; give the field another name \
                     with `map`",
                    field.name
                ),
            });
        }
        let share = (rank.world > 1).then_some(Share { rank: rank.rank, world: rank.world });
        let theirs = earlier.as_ref().and_then(|it| it.share);
        if let (Some(Share { rank: theirs, world }), Some(ours)) = (theirs, share)
            && theirs != ours.rank
        {
            return Err(Failure::Io {
                path: folder.display().to_string(),
                detail: format!(
                    "it holds the output of rank {theirs} of {world}, which is not replaced by that of \
                     another rank; give each rank a folder of its own"
                ),
            });
        }
        let manifest = Manifest {
            format: FORMAT,
            pipeline: program.name.clone(),
            batched: program.batched,
            fields: forms(program),
            files: 0,
            complete: false,
            share,
        };
        Ok(Self {
            folder: folder.to_owned(),
            fields: program.output.clone(),
            pieces: (!program.batched).then(|| Pieces::new(&program.output)),
            manifest,
            begun: false,
            earlier,
            outputs: 0,
            _lock: lock,
        })
    }

    /// Makes room: not before there is something to be written, so that a run which fails at once
    /// takes nothing away.
    fn begin(&mut self) -> Result<(), Failure> {
        if mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        for folder in self.earlier.take().iter().flat_map(|it| it.folders(&self.folder)) {
            clear(&folder)?;
        }
        // What says whose folder it is comes first, so that a run that is killed leaves one that
        // can be used again.
        self.manifest.write(&self.folder)?;
        for folder in self.manifest.folders(&self.folder) {
            make_folder(&folder)?;
        }
        Ok(())
    }
}

impl Folder {
    /// Sees to it that the files that a saved state counts on are there.
    fn check_earlier(&self, files: u64) -> Result<(), Failure> {
        let folder = self.folder.display();
        let lacks = |what: String| Err(Failure::State(format!("the folder `{folder}` {what}")));
        let Some(earlier) = &self.earlier else {
            return match files {
                0 => Ok(()),
                _ => lacks("holds no output: name the one that the run has begun".to_owned()),
            };
        };
        if earlier.share != self.manifest.share {
            return lacks(
                "holds the output of another rank: each needs a folder of its own".to_owned(),
            );
        }
        if earlier.fields != self.manifest.fields || earlier.pipeline != self.manifest.pipeline {
            return lacks("holds the output of another pipeline".to_owned());
        }
        let Some(last) = files.checked_sub(1) else { return Ok(()) };
        for FieldForm { name, form, .. } in &earlier.fields {
            let file = format!("{last:08}.{}", form.extension());
            if !self.folder.join(name).join(&file).exists() {
                return lacks(format!("lacks `{name}/{file}`, which the run has written"));
            }
        }
        Ok(())
    }
}

impl Sink for Folder {
    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        self.begin()?;
        let Self { folder, fields, pieces, manifest, outputs, .. } = self;
        let mut files = Files { folder, fields, manifest };
        match pieces {
            Some(pieces) => pieces.push(chunk, &mut |piece| {
                *outputs += piece.rows as u64;
                files.piece(piece)
            }),
            None => {
                *outputs += chunk.rows as u64;
                (0..chunk.rows).try_for_each(|row| files.batch(chunk, row))
            }
        }
    }

    fn written(&self) -> Written {
        Written { outputs: self.outputs, files: self.manifest.files }
    }

    fn resume(&mut self, written: Written) -> Result<(), Failure> {
        let Written { outputs, files } = written;
        self.check_earlier(files)?;
        // Where the run has written no file yet, what is in the folder is not of it.
        (self.begun, self.outputs, self.manifest.files) = (files > 0, outputs, files);
        if self.begun {
            safe_file::remove_left(&self.folder, |it| it == MANIFEST);
            let folders = self.manifest.folders(&self.folder);
            folders.iter().for_each(|it| safe_file::remove_left(it, is_ours));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.begin()?;
        let Self { folder, fields, pieces, manifest, outputs, .. } = self;
        let mut files = Files { folder, fields, manifest };
        if let Some(pieces) = pieces {
            pieces.finish(&mut |piece| {
                *outputs += piece.rows as u64;
                files.piece(piece)
            })?;
        }
        manifest.complete = true;
        manifest.write(folder)
    }
}

/// Writes the files of one number.
struct Files<'a> {
    folder: &'a Path,
    fields: &'a [Field],
    manifest: &'a mut Manifest,
}

impl Files<'_> {
    /// A batch: one record of `chunk`.
    fn batch(&mut self, chunk: &Chunk, row: usize) -> Result<(), Failure> {
        for (field, column) in self.fields.iter().zip(&chunk.columns) {
            let value = column.row(row);
            if column.dtype().is_text() {
                self.write(&field.name, "jsonl", &mut |out| line(out, field, &value))?;
            } else {
                self.write(&field.name, "npy", &mut |out| {
                    out.write_all(&npy::header(value.dtype(), value.shape()))?;
                    elements(out, &value)
                })?;
            }
        }
        self.manifest.files += 1;
        Ok(())
    }

    /// Some records.
    fn piece(&mut self, piece: &Chunk) -> Result<(), Failure> {
        let forms = &self.manifest.fields;
        for ((field, column), of) in self.fields.iter().zip(&piece.columns).zip(forms) {
            match of.form {
                Form::Array => self.write(&field.name, "npy", &mut |out| array(out, column))?,
                Form::Ragged => {
                    self.write(&field.name, "npy", &mut |out| values(out, column))?;
                    let shape = of.shape_folder();
                    self.write(&shape, "npy", &mut |out| shapes(out, column))?;
                }
                Form::Lines => self.write(&field.name, "jsonl", &mut |out| {
                    (0..column.rows()).try_for_each(|it| line(out, field, &column.row(it)))
                })?,
            }
        }
        self.manifest.files += 1;
        Ok(())
    }

    fn write(
        &self,
        folder: &str,
        extension: &str,
        content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let name = format!("{:08}.{extension}", self.manifest.files);
        whole::write(&self.folder.join(folder).join(name), "it", content)
    }
}

impl Form {
    fn extension(self) -> &'static str {
        match self {
            Self::Array | Self::Ragged => "npy",
            Self::Lines => "jsonl",
        }
    }

    fn of(ty: &Type, batched: bool) -> Self {
        match ty.dtype() {
            Some(DType::Str) => Self::Lines,
            Some(DType::Bytes) => Self::Ragged,
            _ if batched || ty.fixed().is_some() => Self::Array,
            _ => Self::Ragged,
        }
    }
}

impl Manifest {
    /// The folders of the fields.
    fn folders(&self, folder: &Path) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for field in &self.fields {
            folders.push(folder.join(&field.name));
            if field.form == Form::Ragged {
                folders.push(folder.join(field.shape_folder()));
            }
        }
        folders
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        whole::write(&folder.join(MANIFEST), "it", &mut |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            out.write_all(b"\n")
        })
    }
}

impl FieldForm {
    /// The folder of the extents.
    fn shape_folder(&self) -> String {
        self.shape.clone().unwrap_or_else(|| format!("{}.shape", self.name))
    }
}

/// How each field is written; the folders of extents have names that no field has.
fn forms(program: &Program) -> Vec<FieldForm> {
    let mut taken: BTreeSet<String> = program.output.iter().map(|it| it.name.clone()).collect();
    let mut form = |field: &Field| {
        let form = Form::of(&field.ty, program.batched);
        let usual = format!("{}.shape", field.name);
        let shape = (form == Form::Ragged && !taken.insert(usual.clone())).then(|| {
            let mut others = (2..).map(|n| format!("{usual}{n}"));
            others.find(|it| taken.insert(it.clone())).expect("fields are few")
        });
        FieldForm { name: field.name.clone(), ty: field.ty.to_string(), form, shape }
    };
    program.output.iter().map(&mut form).collect()
}

/// All rows, of the same extents, as one array.
fn array(out: &mut dyn Write, column: &Column) -> io::Result<()> {
    let mut shape = vec![column.rows()];
    shape.extend(column.shape().into_iter().flat_map(|it| it.iter()));
    out.write_all(&npy::header(column.dtype(), &shape))?;
    match column.stacked() {
        Some(all) => elements(out, &all),
        None => (0..column.rows()).try_for_each(|it| elements(out, &column.row(it))),
    }
}

/// The elements of all rows, one after the other.
fn values(out: &mut dyn Write, column: &Column) -> io::Result<()> {
    let n_elements = column.bytes() / column.dtype().size();
    out.write_all(&npy::header(column.dtype(), &[n_elements]))?;
    (0..column.rows()).try_for_each(|it| elements(out, &column.row(it)))
}

/// The extents of each row: `i64[rows, axes]`.
fn shapes(out: &mut dyn Write, column: &Column) -> io::Result<()> {
    let axes = if column.rows() == 0 { 0 } else { column.row(0).shape().len() };
    out.write_all(&npy::header(DType::I64, &[column.rows(), axes]))?;
    for row in 0..column.rows() {
        for &extent in column.row(row).shape() {
            out.write_all(&(extent as i64).to_le_bytes())?;
        }
    }
    Ok(())
}

fn elements(out: &mut dyn Write, value: &Tensor<'_>) -> io::Result<()> {
    if let Some(bytes) = value.as_bytes() {
        return out.write_all(bytes);
    }
    let mut bytes = vec![0; value.bytes()];
    value.copy_to(&mut bytes);
    out.write_all(&bytes)
}

/// A text as a line of JSON; what came as JSON is there already.
fn line(out: &mut dyn Write, field: &Field, value: &Tensor<'_>) -> io::Result<()> {
    match field.ty {
        Type::Untyped => out.write_all(value.as_text())?,
        _ => serde_json::to_writer(&mut *out, value.as_str())?,
    }
    out.write_all(b"\n")
}

/// The folder, locked; none where folders cannot be locked.
fn locked(folder: &Path) -> Result<Option<File>, Failure> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    if !state::is_locked(&file) {
        return Ok(Some(file));
    }
    Err(Failure::Io {
        path: folder.display().to_string(),
        detail:
            "another run writes into this folder; wait until it has ended, or name another one \
                 (each rank needs its own)"
                .to_owned(),
    })
}

/// The output that is in `folder`; fails where something else is.
fn earlier(folder: &Path) -> Result<Option<Manifest>, Failure> {
    let unreadable = |it: io::Error| failure(folder, "the folder cannot be read", &it);
    match safe_file::read_here(&folder.join(MANIFEST), MANIFEST_MAX) {
        Ok(text) => {
            let manifest: Manifest = serde_json::from_slice(&text).map_err(|_| occupied(folder))?;
            let folders = manifest.fields.iter();
            let plain = folders.clone().all(|it| is_usable(&it.name))
                && folders.flat_map(|it| &it.shape).all(|it| is_usable(it));
            if plain { Ok(Some(manifest)) } else { Err(occupied(folder)) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A draft of what says whose folder it is may be left of a run that was killed.
            let is_draft = |it: &fs::DirEntry| {
                it.file_name().to_str().and_then(safe_file::is_draft_of) == Some(MANIFEST)
            };
            let mut entries = fs::read_dir(folder).map_err(unreadable)?.flatten();
            if entries.all(|it| is_draft(&it)) { Ok(None) } else { Err(occupied(folder)) }
        }
        Err(error) => Err(unreadable(error)),
    }
}

/// Whether a name names a folder right here, whoever has written it down, and not the manifest.
fn is_usable(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    is_one && !name.contains(['/', '\0']) && name != MANIFEST
}

/// Makes the folder of a field. A link in its place would lead the output somewhere else.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder);
    made.map_err(|it| failure(folder, "the folder cannot be made", &it))?;
    if safe_file::is_real_folder(folder) {
        return Ok(());
    }
    Err(Failure::Io {
        path: folder.display().to_string(),
        detail:
            "it is a link, and output is not written through links; remove it, or name another \
                 folder with `--out`"
                .to_owned(),
    })
}

/// Removes the numbered files of a field, and its folder where nothing else is in it.
fn clear(folder: &Path) -> Result<(), Failure> {
    if !safe_file::is_real_folder(folder) {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_ours) {
            fs::remove_file(entry.path()).map_err(|it| {
                failure(&entry.path(), "the earlier output cannot be removed", &it)
            })?;
        }
    }
    // It fails where something else is in it, which stays.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// Whether a file in a field's folder is of an output: `00000012.npy`, perhaps broken off.
fn is_ours(name: &str) -> bool {
    let name = safe_file::is_draft_of(name).unwrap_or(name);
    let number = name.strip_suffix(".npy").or_else(|| name.strip_suffix(".jsonl"));
    number.is_some_and(|it| it.len() >= 8 && it.bytes().all(|it| it.is_ascii_digit()))
}

fn occupied(folder: &Path) -> Failure {
    Failure::Io {
        path: folder.display().to_string(),
        detail: "the folder holds files that are not the output of a run; \
                 name one that is new or empty"
            .to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use plan::{Extent, FORMAT, IdVec};
    use runtime::{ChunkBuilder, Pool};

    /// Records with a text, and that text's length as a scalar.
    pub(in crate::sink) fn texts(all: &[&str], epoch: u32) -> (Vec<Field>, Chunk) {
        let fields = vec![
            Field { name: "text".into(), ty: Type::scalar(DType::Str) },
            Field { name: "len".into(), ty: Type::scalar(DType::I32) },
        ];
        let mut chunk = ChunkBuilder::new(&fields, all.len(), epoch, &Pool::default());
        for text in all {
            chunk.ids.push_scalar(0_u64);
            chunk.columns[0].push_text(text.as_bytes());
            chunk.columns[1].push_scalar(text.len() as i32);
        }
        (fields, chunk.finish())
    }

    pub(in crate::sink) fn program(output: &[Field], batched: bool) -> Program {
        let (name, output) = ("main".to_owned(), output.to_vec());
        let deal = plan::Deal::each(plan::StageId(0));
        Program {
            format: FORMAT,
            name,
            stages: IdVec::new(),
            output,
            batched,
            deal,
            lanes: Vec::new(),
            jit: true,
        }
    }

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("pipec-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn files(&self) -> Vec<String> {
            let mut files = Vec::new();
            for field in fs::read_dir(&self.0).unwrap().flatten() {
                let name = field.file_name().into_string().unwrap();
                match fs::read_dir(field.path()) {
                    Ok(all) => files.extend(
                        all.flatten().map(|it| format!("{name}/{}", it.file_name().display())),
                    ),
                    Err(_) => files.push(name),
                }
            }
            files.sort();
            files
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn extents_have_a_folder_that_no_field_has() {
        let fields = vec![
            Field { name: "v".into(), ty: Type::scalar(DType::Bytes) },
            Field { name: "v.shape".into(), ty: Type::scalar(DType::I64) },
            Field { name: "v.shape2".into(), ty: Type::scalar(DType::Bytes) },
        ];
        let of = program(&fields, false);
        let shapes: Vec<_> = forms(&of).iter().map(FieldForm::shape_folder).collect();
        assert_eq!(shapes, ["v.shape3", "v.shape.shape", "v.shape2.shape"]);

        let scratch = Scratch::new("shape");
        let mut chunk = ChunkBuilder::new(&fields, 2, 0, &Pool::default());
        for (bytes, n) in [(&b"a"[..], 7_i64), (b"bc", 8)] {
            chunk.columns[0].push_text(bytes);
            chunk.columns[1].push_scalar(n);
            chunk.columns[2].push_text(bytes);
            chunk.ids.push_scalar(0_u64);
        }
        let mut sink = Folder::open(&scratch.0, &of, Rank::default()).unwrap();
        sink.take(&chunk.finish()).unwrap();
        sink.finish().unwrap();
        let numbers = |folder: &str| -> Vec<i64> {
            let file = fs::read(scratch.0.join(folder).join("00000000.npy")).unwrap();
            file[128..].chunks(8).map(|it| i64::from_le_bytes(it.try_into().unwrap())).collect()
        };
        assert_eq!((numbers("v.shape"), numbers("v.shape3")), (vec![7, 8], vec![1, 2]));
        let text = fs::read_to_string(scratch.0.join(MANIFEST)).unwrap();
        assert!(text.contains("\"shape\": \"v.shape3\""), "{text}");
        drop(sink);
        for name in ["../x", "a/b", "..", "", MANIFEST, "a/"] {
            let fields = vec![Field { name: name.into(), ty: Type::scalar(DType::I64) }];
            let refused = Folder::open(&scratch.0, &program(&fields, false), Rank::default());
            assert!(refused.is_err_and(|it| it.to_string().contains("another name")), "{name}");
        }
    }

    #[test]
    fn records_become_pieces_and_a_shorter_run_leaves_no_rest() {
        let scratch = Scratch::new("pieces");
        let many = vec!["a \"b\"\n"; 5000];
        for (all, expected) in [(&many[..], 2), (&many[..3], 1)] {
            let (fields, chunk) = texts(all, 0);
            let mut sink =
                Folder::open(&scratch.0, &program(&fields, false), Rank::default()).unwrap();
            sink.take(&chunk).unwrap();
            sink.finish().unwrap();
            assert_eq!(scratch.files().len(), 1 + 2 * expected, "{:?}", scratch.files());
        }
        let lines = fs::read_to_string(scratch.0.join("text/00000000.jsonl")).unwrap();
        assert_eq!(lines, "\"a \\\"b\\\"\\n\"\n".repeat(3));
        let array = fs::read(scratch.0.join("len/00000000.npy")).unwrap();
        assert_eq!(array[128..], [6, 0, 0, 0, 6, 0, 0, 0, 6, 0, 0, 0]);
        assert!(
            fs::read_to_string(scratch.0.join(MANIFEST)).unwrap().contains("\"complete\": true")
        );
    }

    #[test]
    fn records_of_different_extents_say_their_extents() {
        let scratch = Scratch::new("ragged");
        let ty = Type::Tensor { dtype: DType::U16, shape: vec![Extent::Unknown] };
        let fields = [Field { name: "x".into(), ty }];
        let mut chunk = ChunkBuilder::new(&fields, 2, 0, &Pool::default());
        for row in [&[1_u16, 2][..], &[3]] {
            chunk.ids.push_scalar(0_u64);
            chunk.columns[0].push(&Tensor::new(&[row.len()], row));
        }
        let mut sink = Folder::open(&scratch.0, &program(&fields, false), Rank::default()).unwrap();
        sink.take(&chunk.finish()).unwrap();
        sink.finish().unwrap();
        let elements = |path: &str| fs::read(scratch.0.join(path)).unwrap()[128..].to_vec();
        assert_eq!(elements("x/00000000.npy"), [1, 0, 2, 0, 3, 0]);
        assert_eq!(
            elements("x.shape/00000000.npy"),
            [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn a_run_that_has_written_nothing_goes_on_in_any_folder() {
        let scratch = Scratch::new("elsewhere");
        let (fields, chunk) = texts(&["a", "b", "c"], 0);
        for (from, expected) in [(0, 3), (2, 1)] {
            let mut sink =
                Folder::open(&scratch.0, &program(&fields, true), Rank::default()).unwrap();
            sink.resume(Written { outputs: from, files: 0 }).unwrap();
            sink.take(&chunk.cut(from as usize..3)).unwrap();
            sink.finish().unwrap();
            assert_eq!(scratch.files().len(), 1 + 2 * expected, "{:?}", scratch.files());
        }
    }

    #[test]
    fn a_folder_of_other_files_is_refused() {
        let scratch = Scratch::new("refused");
        fs::create_dir_all(&scratch.0).unwrap();
        fs::write(scratch.0.join("thesis.txt"), "").unwrap();
        let (fields, _) = texts(&[], 0);
        let Err(error) = Folder::open(&scratch.0, &program(&fields, true), Rank::default()) else {
            panic!("taken")
        };
        assert!(error.to_string().contains("new or empty"), "{error}");
        assert_eq!(scratch.files(), ["thesis.txt"]);
    }
}
