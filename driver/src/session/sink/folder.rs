//! A folder of files: of `.npy` files, `DIR/<field>/00000012.npy` being a field of batch 12, or of a format that holds
//! all fields (`data.rs`), `DIR/00000012.parquet` being its shard 12.
//!
//! Batches are numbered over all epochs. What leaves a pipeline without `batch` is written in
//! pieces that depend on the records alone (`pieces.rs`). Text is JSON, a line a record
//! (`.jsonl`); so are the texts of a batch, a line a row, and a list on a line where `flat_map` takes batches apart. Records of different extents are their elements one after the other, and
//! `DIR/<field>.shape/` says the extents of each (where a field has that name, the folder that
//! `pipec.json` names). `DIR/pipec.json` says what is there.
//!
//! A file is written under another name and renamed, so that what is there is whole. An earlier
//! output in the folder goes when the first batch comes, and only what its `pipec.json` names; a
//! folder that holds anything else is refused, and so is the finished output of another run.
//!
//! `DIR/pipec.files.jsonl` has the size and the checksum of every file (`list.rs`). What is written
//! is brought to the disk beside the run (`disk.rs`). A run that goes on looks at every file that its
//! checkpoint counts; where some are damaged or missing it goes back to the begin of their epoch.

mod files;
mod manifest;

pub use manifest::Provenance;

use super::{
    Resumed, Sink, Written,
    data::{DataFormat, Format, SHARD_MAX, ShardSize},
    disk::{Group, Syncer},
    list::{self, List, Place},
    pieces::Pieces,
};
use crate::session::{
    state,
    whole::{self, failure},
};
use files::Files;
use manifest::{MANIFEST, Manifest, earlier, is_usable};
use plan::{DType, Field, Program};
use runtime::{Chunk, Failure};
use std::{
    fs::{self, File},
    io, mem,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Writes a folder of files.
pub struct Folder {
    folder: PathBuf,
    fields: Vec<Field>,
    /// Where each record that leaves is a batch, none.
    pieces: Option<Pieces>,
    /// What writes files of all fields; none, where each field has its own.
    data: Option<Box<dyn Format>>,
    manifest: Manifest,
    begun: bool,
    /// The output that is in the folder already, and what becomes of it.
    earlier: Option<Manifest>,
    existing: Existing,
    /// Outputs that are in whole files.
    outputs: u64,
    /// Where an earlier run has left the output that this one goes on with.
    from: Place,
    /// The list of the files; none before the first is written.
    list: Option<List>,
    /// Files that nobody has brought to the disk yet, and who does.
    unsynced: Group,
    syncer: Option<Syncer>,
    /// The folder itself, locked: nobody else writes there meanwhile.
    lock: Option<Arc<File>>,
}

/// What becomes of a finished output of another run, which is in the folder already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The run is refused.
    Keep,
    /// It goes when the first batch comes.
    Replace,
}

impl Folder {
    /// The folder for what `program` gives; an earlier output in it goes when the first batch comes.
    ///
    /// # Errors
    /// The folder cannot be written, or holds what pipec did not write, or what is to be kept.
    pub fn open(
        folder: &Path,
        program: &Program,
        of: &Provenance,
        existing: Existing,
    ) -> Result<Self, Failure> {
        let are_bytes = |it: &&Field| it.ty.is_texts() && it.ty.dtype() == Some(DType::Bytes);
        if let (Some(field), false) = (program.output.iter().find(are_bytes), program.batched) {
            return Err(Failure::Program(format!(
                "`{field}` is not batched, and bytes of single records cannot be written to a \
                 folder: write it as Arrow with `--out -`, or drop it with `map`"
            )));
        }
        let pieces = (!program.batched).then(|| Pieces::new(&program.output));
        Self::begun(
            (folder, program),
            Manifest::new(program, of, None),
            (of, existing),
            (pieces, None),
        )
    }

    /// The same for files of `format`, of so many bytes or records each.
    ///
    /// # Errors
    /// Those of [`Folder::open`]; the pipeline ends in `batch`, or has a field that the format has no place for.
    pub fn open_data(
        folder: &Path,
        program: &Program,
        of: &Provenance,
        existing: Existing,
        (format, size): (&DataFormat, ShardSize),
    ) -> Result<Self, Failure> {
        if program.batched {
            return Err(Failure::Program(format!(
                "`{}` ends in `batch`, but `--format {}` writes records: remove `batch`, or write the \
                 batches as they are with `--format npy`",
                program.name, format.name
            )));
        }
        let data = format.open(&program.output).map_err(Failure::Program)?;
        let (records, bytes) = match size {
            ShardSize::Bytes(n) => (usize::MAX, n as usize),
            ShardSize::Records(n) => (n as usize, usize::MAX),
        };
        let pieces = Some(Pieces::sized(&program.output, records, bytes));
        let manifest = Manifest::new(program, of, Some((*format, size)));
        Self::begun((folder, program), manifest, (of, existing), (pieces, Some(data)))
    }

    fn begun(
        (folder, program): (&Path, &Program),
        manifest: Manifest,
        (of, existing): (&Provenance, Existing),
        (pieces, data): (Option<Pieces>, Option<Box<dyn Format>>),
    ) -> Result<Self, Failure> {
        fs::create_dir_all(folder)
            .map_err(|it| failure(folder, "cannot create the folder", &it))?;
        let lock = locked(folder)?;
        let earlier = earlier(folder)?;
        let unusable = |it: &&Field| data.is_none() && !is_usable(&it.name);
        if let Some(field) = program.output.iter().find(unusable) {
            return Err(Failure::Io {
                path: folder.display().to_string(),
                detail: format!(
                    "the name of the field `{}` is not a valid folder name; rename the field with \
                     `map`",
                    field.name
                ),
            });
        }
        if let (Some(earlier), Existing::Keep) = (&earlier, existing) {
            // What a checkpoint goes on with may have had another limit; whether it does is known later.
            match of.resumes {
                true => may_go(folder, earlier, &manifest.of_any_seed_and_extent())?,
                false => may_go(folder, earlier, &manifest)?,
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            fields: program.output.clone(),
            pieces,
            data,
            manifest,
            begun: false,
            earlier,
            existing,
            outputs: 0,
            from: Place::default(),
            list: None,
            unsynced: Group::default(),
            syncer: None,
            lock: lock.map(Arc::new),
        })
    }

    /// Makes room: not before there is something to be written, so that a run which fails at once
    /// takes nothing away.
    fn begin(&mut self) -> Result<(), Failure> {
        if self.list.is_some() {
            return Ok(());
        }
        let mut earlier = self.earlier.take();
        // Of a run that was killed before it had written any file.
        safe_file::remove_left(&self.folder, |it| it == MANIFEST);
        // What stands beside the files tells of all of them.
        if let Some(index) = earlier.as_ref().and_then(|it| it.data()?.index) {
            remove(&self.folder.join(index))?;
        }
        // While it is written, or its files go, an output is not complete.
        if let Some(earlier) = earlier.as_mut().filter(|it| it.complete) {
            earlier.complete = false;
            earlier.write(&self.folder)?;
        }
        let goes_on = mem::replace(&mut self.begun, true);
        if !goes_on {
            for folder in earlier.iter().flat_map(|it| it.folders(&self.folder)) {
                clear(&folder, &["npy", "jsonl"])?;
                // It fails where something else is in it, which stays.
                let _ = fs::remove_dir(folder);
            }
            if let Some(format) = earlier.as_ref().and_then(Manifest::data) {
                clear(&self.folder, &[format.extension])?;
            }
            // What says whose folder it is comes first, so that a run that is killed leaves one that
            // can be used again.
            self.manifest.write(&self.folder)?;
        }
        for folder in self.manifest.folders(&self.folder) {
            make_folder(&folder)?;
        }
        self.list = Some(match goes_on {
            true => List::go_on(&self.folder, &self.from)?,
            false => List::create(&self.folder)?,
        });
        Ok(())
    }

    /// Sees to it that the output that a saved state counts on is here, and is its own.
    fn check_earlier(&self) -> Result<(), Failure> {
        let folder = self.folder.display();
        let why = match &self.earlier {
            None => "contains no output".to_owned(),
            Some(earlier) => match earlier.differs_from(&self.manifest) {
                None => return Ok(()),
                Some(why) => why,
            },
        };
        Err(Failure::State(format!(
            "the folder `{folder}` {why}; use the folder that the run has started with, or start \
             again with another checkpoint file"
        )))
    }

    /// Writes what stands beside the files, if the format has that.
    fn write_index(&self) -> Result<(), Failure> {
        let index = self.manifest.data().and_then(|it| it.index);
        let (Some(data), Some(index)) = (&self.data, index) else { return Ok(()) };
        let files = list::files(&self.folder, self.manifest.files).map_err(|it| Failure::Io {
            path: self.folder.display().to_string(),
            detail: format!("{}; write the output again with `--overwrite`", it.found),
        })?;
        whole::write(&self.folder.join(index), "the file", &mut |out| data.write_index(&files, out))
    }

    /// What was written so far.
    fn so_far(&self) -> Written {
        Written { outputs: self.outputs, files: self.manifest.files }
    }
}

impl Sink for Folder {
    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        self.begin()?;
        let Self { folder, fields, pieces, data, manifest, outputs, list, unsynced, .. } = self;
        let mut files = Files { folder, fields, data, manifest, list, unsynced };
        match pieces {
            Some(pieces) => {
                pieces.push(chunk, &mut |piece| {
                    *outputs += piece.rows as u64;
                    files.piece(piece, *outputs)
                })?;
                if pieces.held_bytes() as u64 <= SHARD_MAX {
                    return Ok(());
                }
                Err(Failure::Data {
                    label: String::new(),
                    detail: "the records of a shard take more than 1 GiB: make shards smaller \
                             (`--shard`)"
                        .to_owned(),
                })
            }
            None => {
                *outputs += chunk.rows as u64;
                (0..chunk.rows).try_for_each(|row| files.batch(chunk, row))
            }
        }
    }

    fn written(&self) -> Written {
        self.so_far()
    }

    fn sync(&mut self) -> Result<(), Failure> {
        let written = self.so_far();
        let Some(list) = &mut self.list else { return Ok(()) };
        let syncer = match &self.syncer {
            Some(syncer) => syncer,
            None => {
                let started = Syncer::begin(self.lock.clone(), self.from.written());
                let refused = |it| failure(&self.folder, "cannot start a thread to sync it", &it);
                self.syncer.insert(started.map_err(refused)?)
            }
        };
        if syncer.done()?.files < written.files && syncer.is_idle() {
            list.flush()?;
            syncer.give(self.unsynced.taken(list.path(), written));
        }
        Ok(())
    }

    fn synced(&self) -> Result<Written, Failure> {
        self.syncer.as_ref().map_or(Ok(self.from.written()), Syncer::done)
    }

    fn settle(&mut self) -> Result<(), Failure> {
        // What is being brought to the disk, and then what has come since.
        for _ in 0..2 {
            self.sync()?;
            if let Some(syncer) = &self.syncer {
                syncer.wait()?;
            }
        }
        Ok(())
    }

    fn resume(&mut self, written: Written) -> Result<Resumed, Failure> {
        let Written { outputs, files } = written;
        self.outputs = outputs;
        // Where the run has written no file yet, what is in the folder is not of it.
        if files == 0 {
            if let (Some(earlier), Existing::Keep) = (&self.earlier, self.existing) {
                may_go(&self.folder, earlier, &self.manifest)?;
            }
            return Ok(Resumed::There);
        }
        self.check_earlier()?;
        safe_file::remove_left(&self.folder, |it| it == MANIFEST);
        let folders = self.manifest.folders(&self.folder);
        folders
            .iter()
            .for_each(|it| safe_file::remove_left(it, |it| is_ours(it, &["npy", "jsonl"])));
        if let Some(format) = self.manifest.data() {
            let is_left = |it: &str| is_ours(it, &[format.extension]) || format.index == Some(it);
            safe_file::remove_left(&self.folder, is_left);
        }
        let (place, damage) = match list::check(&self.folder, files, &|it| self.manifest.names(it))
        {
            Ok(place) => (place, None),
            Err(damage) => (damage.from, Some(damage.found)),
        };
        if damage.is_none() && place.outputs != outputs {
            return Err(Failure::State(format!(
                "the folder `{}` contains the output of another run; start again with another \
                 checkpoint file",
                self.folder.display()
            )));
        }
        (self.begun, self.from) = (true, place);
        (self.outputs, self.manifest.files) = (place.outputs, place.files);
        Ok(match damage {
            None => Resumed::There,
            Some(found) => Resumed::Back { epoch: place.epoch, outputs: place.outputs, found },
        })
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.begin()?;
        let Self { folder, fields, pieces, data, manifest, outputs, list, unsynced, .. } = self;
        let mut files = Files { folder, fields, data, manifest, list, unsynced };
        if let Some(pieces) = pieces {
            pieces.finish(&mut |piece| {
                *outputs += piece.rows as u64;
                files.piece(piece, *outputs)
            })?;
        }
        self.settle()?;
        self.write_index()?;
        self.manifest.complete = true;
        self.manifest.write(&self.folder)
    }
}

/// Whether an earlier output may be replaced by that of `manifest`: one that is not finished may, and
/// so may one of the same run.
fn may_go(folder: &Path, earlier: &Manifest, manifest: &Manifest) -> Result<(), Failure> {
    let of_another_rank = earlier.share.zip(manifest.share).is_some_and(|(a, b)| a.rank != b.rank);
    let why = earlier.differs_from(manifest).or_else(|| earlier.differs_in_extent(manifest));
    let Some(why) = why.filter(|_| earlier.complete || of_another_rank) else { return Ok(()) };
    let help = match earlier.share.is_some() || manifest.share.is_some() {
        true => "give each rank its own folder, or add `--overwrite`",
        false => "use another folder, or add `--overwrite`",
    };
    Err(Failure::Io {
        path: folder.display().to_string(),
        detail: format!("it {why}, which will not be overwritten; {help}"),
    })
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
            "another run is writing to this folder; wait until it has ended, or use another one \
             (each rank needs its own)"
                .to_owned(),
    })
}

/// Makes the folder of a field. A link in its place would lead the output somewhere else.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder);
    made.map_err(|it| failure(folder, "cannot create the folder", &it))?;
    if safe_file::is_real_folder(folder) {
        return Ok(());
    }
    Err(Failure::Io {
        path: folder.display().to_string(),
        detail: "it is a link, and output is not written through links; remove it, or use another \
             folder with `--out`"
            .to_owned(),
    })
}

/// Removes the numbered files of a folder.
fn clear(folder: &Path, extensions: &[&str]) -> Result<(), Failure> {
    if !safe_file::is_real_folder(folder) {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|it| is_ours(it, extensions)) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file of an earlier output, if it is there.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            Err(failure(path, "cannot remove the earlier output", &why))
        }
        _ => Ok(()),
    }
}

/// Whether a file is of an output: `00000012.npy`, perhaps broken off.
fn is_ours(name: &str, extensions: &[&str]) -> bool {
    let name = safe_file::is_draft_of(name).unwrap_or(name);
    let Some((number, extension)) = name.split_once('.') else { return false };
    let is_number = number.len() >= 8 && number.bytes().all(|it| it.is_ascii_digit());
    is_number && extensions.contains(&extension)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{
        manifest::{FieldForm, forms},
        *,
    };
    use plan::{Extent, FORMAT, IdVec, Type};
    use runtime::{ChunkBuilder, Pool, Tensor};

    /// Records with a text, and that text's length as a scalar.
    pub(in crate::session::sink) fn texts(all: &[&str], epoch: u32) -> (Vec<Field>, Chunk) {
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

    /// A batch: three texts, as many bytes, and bytes that are one value.
    pub(in crate::session::sink) fn batch_of_texts(fields: &[Field]) -> Chunk {
        let column = |dtype, all: [&[u8]; 3]| {
            let mut column = runtime::Builder::new(&Type::scalar(dtype), 3, &Pool::default());
            all.into_iter().for_each(|it| column.push_text(it));
            column.finish()
        };
        let mut chunk = ChunkBuilder::new(fields, 1, 0, &Pool::default());
        chunk.ids.push_scalar(0_u64);
        let names = column(DType::Str, [b"a \"b\"\n", "žluť".as_bytes(), b""]);
        chunk.columns[0].push_texts(&names, 3);
        chunk.columns[1].push_texts(&column(DType::Bytes, [&[0, 255], &[7], &[]]), 3);
        chunk.columns[2].push_text(&[9]);
        chunk.finish()
    }

    pub(in crate::session::sink) fn program(output: &[Field], batched: bool) -> Program {
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
            beside: Vec::new(),
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
        let shapes: Vec<_> = forms(&of, false).iter().map(FieldForm::shape_folder).collect();
        assert_eq!(shapes, ["v.shape3", "v.shape.shape", "v.shape2.shape"]);

        let scratch = Scratch::new("shape");
        let mut chunk = ChunkBuilder::new(&fields, 2, 0, &Pool::default());
        for (bytes, n) in [(&b"a"[..], 7_i64), (b"bc", 8)] {
            chunk.columns[0].push_text(bytes);
            chunk.columns[1].push_scalar(n);
            chunk.columns[2].push_text(bytes);
            chunk.ids.push_scalar(0_u64);
        }
        let mut sink =
            Folder::open(&scratch.0, &of, &Provenance::default(), Existing::Keep).unwrap();
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
            let refused = Folder::open(
                &scratch.0,
                &program(&fields, false),
                &Provenance::default(),
                Existing::Keep,
            );
            assert!(refused.is_err_and(|it| it.to_string().contains("rename the field")), "{name}");
        }
    }

    #[test]
    fn records_become_pieces_and_a_shorter_run_leaves_no_rest() {
        let scratch = Scratch::new("pieces");
        let many = vec!["a \"b\"\n"; 5000];
        for (all, expected) in [(&many[..], 2), (&many[..3], 1)] {
            let (fields, chunk) = texts(all, 0);
            let mut sink = Folder::open(
                &scratch.0,
                &program(&fields, false),
                &Provenance::default(),
                Existing::Keep,
            )
            .unwrap();
            sink.take(&chunk).unwrap();
            sink.finish().unwrap();
            assert_eq!(scratch.files().len(), 2 + 2 * expected, "{:?}", scratch.files());
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
    fn texts_of_a_batch_are_a_line_each() {
        let scratch = Scratch::new("texts");
        let fields = [
            Field { name: "name".into(), ty: Type::tensor(DType::Str, &[3]) },
            Field { name: "raw".into(), ty: Type::tensor(DType::Bytes, &[3]) },
            Field { name: "note".into(), ty: Type::scalar(DType::Bytes) },
        ];
        let chunk = batch_of_texts(&fields);
        let open = || {
            let (of, from) = (program(&fields, true), Provenance::default());
            Folder::open(&scratch.0, &of, &from, Existing::Keep).unwrap()
        };
        let mut sink = open();
        sink.take(&chunk).unwrap();
        sink.finish().unwrap();
        let lines = fs::read_to_string(scratch.0.join("name/00000000.jsonl")).unwrap();
        assert_eq!(lines, "\"a \\\"b\\\"\\n\"\n\"žluť\"\n\"\"\n");
        let elements = |path: &str| fs::read(scratch.0.join(path)).unwrap()[128..].to_vec();
        assert_eq!(elements("raw/00000000.npy"), [0, 255, 7]);
        let lengths: Vec<u8> = [2_i64, 1, 0].iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(elements("raw.shape/00000000.npy"), lengths);
        assert_eq!(elements("note/00000000.npy"), [9]);
        drop(sink);
        let resumed = open().resume(Written { outputs: 1, files: 1 }).unwrap();
        assert!(matches!(resumed, Resumed::There));
    }

    #[test]
    fn texts_of_records_that_are_no_batches_are_lists() {
        let scratch = Scratch::new("lists");
        let names = [Field { name: "name".into(), ty: Type::tensor(DType::Str, &[3]) }];
        let raw = [Field { name: "raw".into(), ty: Type::tensor(DType::Bytes, &[3]) }];
        let open = |fields: &[Field]| {
            let (of, from) = (program(fields, false), Provenance::default());
            Folder::open(&scratch.0, &of, &from, Existing::Keep)
        };
        let Err(refused) = open(&raw) else { panic!("taken") };
        assert!(refused.to_string().contains("`raw: bytes[3]` is not batched"), "{refused}");
        let fields =
            [&names[..], &raw, &[Field { name: "note".into(), ty: Type::scalar(DType::Bytes) }]];
        let batch = batch_of_texts(&fields.concat());
        let mut sink = open(&names).unwrap();
        sink.take(&Chunk { columns: batch.columns[..1].to_vec(), ..batch }).unwrap();
        sink.finish().unwrap();
        let lines = fs::read_to_string(scratch.0.join("name/00000000.jsonl")).unwrap();
        assert_eq!(lines, "[\"a \\\"b\\\"\\n\",\"žluť\",\"\"]\n");
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
        let mut sink = Folder::open(
            &scratch.0,
            &program(&fields, false),
            &Provenance::default(),
            Existing::Keep,
        )
        .unwrap();
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
            let mut sink = Folder::open(
                &scratch.0,
                &program(&fields, true),
                &Provenance::default(),
                Existing::Keep,
            )
            .unwrap();
            // Left of a run that was killed while it wrote the manifest.
            fs::write(scratch.0.join(format!(".{MANIFEST}.abcd1234.part")), "{").unwrap();
            sink.resume(Written { outputs: from, files: 0 }).unwrap();
            sink.take(&chunk.cut(from as usize..3)).unwrap();
            sink.finish().unwrap();
            assert_eq!(scratch.files().len(), 2 + 2 * expected, "{:?}", scratch.files());
        }
    }

    #[test]
    fn a_folder_of_other_files_is_refused() {
        let scratch = Scratch::new("refused");
        fs::create_dir_all(&scratch.0).unwrap();
        fs::write(scratch.0.join("thesis.txt"), "").unwrap();
        let (fields, _) = texts(&[], 0);
        let Err(error) = Folder::open(
            &scratch.0,
            &program(&fields, true),
            &Provenance::default(),
            Existing::Keep,
        ) else {
            panic!("taken")
        };
        assert!(error.to_string().contains("new or empty"), "{error}");
        assert_eq!(scratch.files(), ["thesis.txt"]);
    }
}
