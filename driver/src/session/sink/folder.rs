//! A folder of files: of `.npy` files, `DIR/<field>/00000012.npy` being a field of batch 12, or of a format that holds
//! all fields (`data.rs`), `DIR/00000012.parquet` being its shard 12.
//!
//! Batches are numbered over all epochs. What leaves a pipeline without `batch` is written in
//! pieces that depend on the records alone (`pieces.rs`). Text is JSON, a line a record
//! (`.jsonl`); so are the texts of a batch, a line a row, and a list on a line where `flat_map` takes batches apart. Records of different extents are their elements one after the other, and
//! `DIR/<field>.shape/` says the extents of each (where a field has that name, the folder that
//! `pipec.json` names). `DIR/pipec.json` says what is there.
//!
//! Where the folder is (`location.rs`), on this machine or in an object store, makes no difference to
//! what is in it. A file is there as a whole, or not at all. An earlier output in the folder is
//! replaced from the first batch on, and only what its `pipec.json` names: on this machine its files go then, in a
//! store those of other names go at the end. A folder that holds anything else is refused, and so is the finished
//! output of another run.
//!
//! `DIR/pipec.files.jsonl` has the size and the checksum of every file (`list.rs`). A run that goes on
//! looks at every file that its checkpoint counts; where some are damaged or missing it goes back to the
//! begin of their epoch.

mod files;
mod manifest;

pub use manifest::Provenance;

use super::{
    Resumed, RunConfig, Sink, Written,
    data::{DataFormat, Format, Opened, SHARD_MAX, ShardSize},
    line::{Flaw, LIST, Place},
    list::{self, Checked},
    location::{self, Location, MANIFEST},
    pieces::Pieces,
};
use files::Files;
use manifest::{Manifest, earlier, is_usable};
use plan::{DType, Field, Program};
use runtime::{Chunk, Failure};
use std::{mem, path::Path};

/// Writes a folder of files.
pub struct Folder {
    location: Box<dyn Location>,
    fields: Vec<Field>,
    /// Where each record that leaves is a batch, none.
    pieces: Option<Pieces>,
    /// What writes files of all fields; none, where each field has its own.
    data: Option<Box<dyn Format>>,
    manifest: Manifest,
    /// Whether it goes on with what an earlier run has written.
    goes_on: bool,
    /// Whether there is room for files.
    is_open: bool,
    /// The output that is in the folder already, and what becomes of it.
    earlier: Option<Manifest>,
    existing: Existing,
    /// Outputs that are in whole files.
    outputs: u64,
    /// Where an earlier run has left the output that this one goes on with.
    from: Place,
}

/// Files that tell of an output, in its folder.
pub const OUTPUT_FILES: [&str; 2] = [MANIFEST, LIST];

/// What becomes of a finished output of another run, which is in the folder already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The run is refused.
    Keep,
    /// It is replaced from the first batch on.
    Replace,
}

impl Folder {
    /// The folder for what `program` gives; an earlier output in it is replaced from the first batch on.
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
        let pieces = || Pieces::new(&program.output).held_by(2, "");
        let pieces = (!program.batched).then(pieces);
        Self::begun(
            (folder, program),
            Manifest::new(program, of, None),
            (of, existing),
            (pieces, None),
        )
    }

    /// The same for files of `format`: of records, of so many bytes or records each; of batches, a file each.
    ///
    /// # Errors
    /// Those of [`Folder::open`]; the format has no place for batches, or for one of the fields.
    pub fn open_data(
        folder: &Path,
        program: &Program,
        of: &Provenance,
        existing: Existing,
        (format, size): (&DataFormat, Option<ShardSize>),
    ) -> Result<Self, Failure> {
        let (data, pieces, size) = match program.batched {
            true => (batches(program, format, size)?, None, None),
            false => {
                let size = size.unwrap_or_default();
                let (records, bytes) = match size {
                    ShardSize::Bytes(n) => (usize::MAX, n as usize),
                    ShardSize::Records(n) => (n as usize, usize::MAX),
                };
                let pieces = Pieces::sized(&program.output, records, bytes)
                    .held_by(format.copies, ", or make shards smaller (`--shard`)");
                (format.open(&program.output), Some(pieces), Some(size))
            }
        };
        let data = data.map_err(Failure::Program)?;
        let manifest = Manifest::new(program, of, Some((*format, size)));
        Self::begun((folder, program), manifest, (of, existing), (pieces, Some(data)))
    }

    fn begun(
        (folder, program): (&Path, &Program),
        manifest: Manifest,
        (of, existing): (&Provenance, Existing),
        (pieces, data): (Option<Pieces>, Option<Box<dyn Format>>),
    ) -> Result<Self, Failure> {
        let location = location::open(folder)?;
        let earlier = earlier(&*location)?;
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
            location,
            fields: program.output.clone(),
            pieces,
            data,
            manifest,
            goes_on: false,
            is_open: false,
            earlier,
            existing,
            outputs: 0,
            from: Place::default(),
        })
    }

    /// Makes room: not before there is something to be written, so that a run which fails at once
    /// takes nothing away.
    fn open_folder(&mut self) -> Result<(), Failure> {
        if mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        let Self { location, manifest, goes_on, earlier, from, .. } = self;
        let location = &mut **location;
        let mut earlier = earlier.take();
        // Of a run that was killed before it had written any file.
        location.remove_drafts("", &|it| it == MANIFEST);
        // What stands beside the files tells of all of them; it is there where they are complete.
        let has_index = |it: &&Manifest| it.complete || location.removes_at_once();
        if let Some(index) = earlier.as_ref().filter(has_index).and_then(|it| it.data()?.index) {
            location.clear("", &|it| it == index)?;
        }
        // While it is written, or its files go, an output is not complete.
        if let Some(earlier) = earlier.as_mut().filter(|it| it.complete) {
            earlier.complete = false;
            earlier.write(location)?;
        }
        // What was written and not counted is written again, perhaps less of it.
        let first = if *goes_on { from.files } else { 0 };
        // Files of these names are written anew; what is left of the others goes at the end.
        let goes_now = |it: &Manifest| location.removes_at_once() || !it.has_names_of(manifest);
        if let Some(earlier) = earlier.filter(goes_now) {
            clear(location, &earlier, first)?;
        }
        // What says whose folder it is comes first, so that a run that is killed leaves one that
        // can be used again.
        if !*goes_on {
            manifest.write(location)?;
        }
        location.prepare(&manifest.folders())?;
        location.open_list(goes_on.then_some(&*from))
    }

    /// Sees to it that the output that a saved state counts on is here, and is its own.
    fn check_earlier(&self) -> Result<(), Failure> {
        let folder = self.location.path().display();
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
    fn write_index(&mut self) -> Result<(), Failure> {
        let index = self.manifest.data().and_then(|it| it.index);
        let (Some(data), Some(index)) = (&self.data, index) else { return Ok(()) };
        let files = match list::files(&*self.location, self.manifest.files) {
            Ok(files) => files,
            Err(Flaw::Failure(failure)) => return Err(failure),
            Err(Flaw::Damage(found)) => {
                return Err(Failure::Io {
                    path: self.location.path().display().to_string(),
                    detail: format!("{found}; write the output again with `--overwrite`"),
                });
            }
        };
        self.location.put(index, &mut |out| data.write_index(&files, out))
    }

    /// What was written so far.
    fn so_far(&self) -> Written {
        Written { outputs: self.outputs, files: self.manifest.files }
    }
}

impl Sink for Folder {
    fn wants(&self, memory: u64) -> u64 {
        let of_pieces = self.pieces.as_ref().map_or(0, Pieces::wants);
        of_pieces.saturating_add(self.location.wants(memory))
    }

    fn begin(&mut self, config: &RunConfig) {
        self.location.begin(config);
        let room = config.room.saturating_sub(self.location.wants(config.memory));
        self.pieces.iter_mut().for_each(|it| it.begin(room));
    }

    fn take(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        self.open_folder()?;
        let Self { location, fields, pieces, data, manifest, outputs, .. } = self;
        let mut files = Files { location: &mut **location, fields, data, manifest };
        match pieces {
            Some(pieces) => {
                pieces.push(chunk, &mut |piece| {
                    let before = *outputs;
                    *outputs += piece.rows as u64;
                    files.piece(piece, before)
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
                let before = *outputs;
                *outputs += chunk.rows as u64;
                (0..chunk.rows).try_for_each(|row| files.batch(chunk, row, before + row as u64))
            }
        }
    }

    fn written(&self) -> Written {
        self.so_far()
    }

    fn sync(&mut self) -> Result<(), Failure> {
        let written = self.so_far();
        if self.is_open { self.location.sync(written) } else { Ok(()) }
    }

    fn synced(&self) -> Result<Written, Failure> {
        if self.is_open { self.location.synced() } else { Ok(self.from.written()) }
    }

    fn settle(&mut self) -> Result<(), Failure> {
        let written = self.so_far();
        if self.is_open { self.location.settle(written) } else { Ok(()) }
    }

    fn resume(&mut self, written: Written) -> Result<Resumed, Failure> {
        let Written { outputs, files } = written;
        self.outputs = outputs;
        // Where the run has written no file yet, what is in the folder is not of it.
        if files == 0 {
            if let (Some(earlier), Existing::Keep) = (&self.earlier, self.existing) {
                may_go(self.location.path(), earlier, &self.manifest)?;
            }
            return Ok(Resumed::There);
        }
        self.check_earlier()?;
        self.location.remove_drafts("", &|it| it == MANIFEST);
        for folder in self.manifest.folders() {
            self.location.remove_drafts(&folder, &|it| number_of(it, &["npy", "jsonl"]).is_some());
        }
        if let Some(format) = self.manifest.data() {
            self.location.remove_drafts("", &|it| {
                number_of(it, &[format.extension]).is_some() || format.index == Some(it)
            });
        }
        let checked = list::check(&*self.location, files, &|it| self.manifest.names(it))?;
        let Checked { sound: place, found } = checked;
        if found.is_none() && place.outputs != outputs {
            return Err(Failure::State(format!(
                "the folder `{}` contains the output of another run; start again with another \
                 checkpoint file",
                self.location.path().display()
            )));
        }
        (self.goes_on, self.from) = (true, place);
        (self.outputs, self.manifest.files) = (place.outputs, place.files);
        Ok(match found {
            None => Resumed::There,
            Some(found) => Resumed::Back { epoch: place.epoch, outputs: place.outputs, found },
        })
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.open_folder()?;
        let Self { location, fields, pieces, data, manifest, outputs, .. } = self;
        let mut files = Files { location: &mut **location, fields, data, manifest };
        if let Some(pieces) = pieces {
            pieces.finish(&mut |piece| {
                let before = *outputs;
                *outputs += piece.rows as u64;
                files.piece(piece, before)
            })?;
        }
        self.settle()?;
        if !self.location.removes_at_once() {
            clear(&mut *self.location, &self.manifest, self.manifest.files)?;
        }
        self.write_index()?;
        self.manifest.complete = true;
        self.manifest.write(&mut *self.location)
    }
}

/// What writes the batches of `program` in `format`.
fn batches(
    program: &Program,
    format: &DataFormat,
    size: Option<ShardSize>,
) -> Result<Opened, Failure> {
    let (name, written) = (&program.name, format.name);
    match format.open_batches(&program.output) {
        None => Err(Failure::Program(format!(
            "`{name}` ends in `batch`, but `--format {written}` writes records: remove `batch`, or write the \
             batches as they are with `--format npy` or `--format safetensors`"
        ))),
        Some(_) if size.is_some() => Err(Failure::Program(format!(
            "`{name}` ends in `batch`, and `--format {written}` writes each batch to a file of its own: remove \
             `--shard`"
        ))),
        Some(opened) => Ok(opened),
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

/// Removes the files of an output from a number on, and the folders that are empty then.
fn clear(location: &mut dyn Location, of: &Manifest, first: u64) -> Result<(), Failure> {
    for folder in of.folders() {
        location
            .clear(&folder, &|it| number_of(it, &["npy", "jsonl"]).is_some_and(|it| it >= first))?;
    }
    let Some(format) = of.data() else { return Ok(()) };
    location.clear("", &|it| number_of(it, &[format.extension]).is_some_and(|it| it >= first))
}

/// The number of a file of an output: 12 is that of `00000012.npy`.
fn number_of(name: &str, extensions: &[&str]) -> Option<u64> {
    let (number, extension) = name.split_once('.')?;
    let is_number = number.len() >= 8 && number.bytes().all(|it| it.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_number)?;
    extensions.contains(&extension).then_some(number)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{
        manifest::{FieldForm, forms},
        *,
    };
    use plan::{Extent, FORMAT, IdVec, Type};
    use runtime::{ChunkBuilder, Pool, Tensor};
    use std::{fs, path::PathBuf};

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
            once: Vec::new(),
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
