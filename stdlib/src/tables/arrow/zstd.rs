//! Messages whose columns are compressed with Zstandard become others that are not compressed: the crate that decodes
//! them would need a C compiler for that.

use super::{Damage, damaged, message};
use crate::records::zstd;
use arrow_buffer::Buffer;
use arrow_ipc::{
    CompressionType, DictionaryBatchBuilder, FieldNode, MessageBuilder, MessageHeader, RecordBatch,
    RecordBatchBuilder, finish_message_buffer,
};
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use runtime::Counted;
use std::borrow::Cow;

/// Where a buffer may begin.
const ALIGN: usize = 64;
/// Bytes that memory is made for at a time, at the least: what a length claims need not be there.
const STEP: usize = 1 << 20;
/// The length of a buffer that is not compressed.
const PLAIN: i64 = -1;

/// The head and the body of a message as they would be without Zstandard.
pub(super) fn plain<'m>(
    head: &'m [u8],
    body: &'m Buffer,
) -> Result<(Cow<'m, [u8]>, Cow<'m, Buffer>), Damage> {
    let of = message(head)?;
    let dictionary = of.header_as_dictionary_batch();
    let data = match of.header_type() {
        MessageHeader::DictionaryBatch => dictionary.and_then(|it| it.data()),
        _ => of.header_as_record_batch(),
    };
    let is_zstd = |it: &RecordBatch<'_>| {
        it.compression().is_some_and(|it| it.codec() == CompressionType::ZSTD)
    };
    let Some(data) = data.filter(is_zstd) else {
        return Ok((Cow::Borrowed(head), Cow::Borrowed(body)));
    };
    let mut to = Counted::new();
    let mut buffers = Vec::new();
    for it in data.buffers().into_iter().flatten() {
        let start = to.len();
        decompress(*it, body, &mut to)?;
        buffers.push(arrow_ipc::Buffer::new(start as i64, (to.len() - start) as i64));
        to.resize(to.len().next_multiple_of(ALIGN), 0);
    }
    let mut made = FlatBufferBuilder::new();
    let batch = batch(data, &buffers, &mut made);
    let (kind, header) = match dictionary {
        Some(of) => {
            let mut dictionary = DictionaryBatchBuilder::new(&mut made);
            dictionary.add_id(of.id());
            dictionary.add_data(batch);
            dictionary.add_isDelta(of.isDelta());
            (MessageHeader::DictionaryBatch, dictionary.finish().as_union_value())
        }
        None => (MessageHeader::RecordBatch, batch.as_union_value()),
    };
    let mut root = MessageBuilder::new(&mut made);
    root.add_version(of.version());
    root.add_header_type(kind);
    root.add_header(header);
    root.add_bodyLength(to.len() as i64);
    let root = root.finish();
    finish_message_buffer(&mut made, root);
    let body = Buffer::from(super::super::owned(to));
    Ok((Cow::Owned(made.finished_data().to_vec()), Cow::Owned(body)))
}

/// The same record batch over these buffers.
fn batch<'b>(
    of: RecordBatch<'_>,
    buffers: &[arrow_ipc::Buffer],
    made: &mut FlatBufferBuilder<'b>,
) -> WIPOffset<RecordBatch<'b>> {
    let nodes: Vec<FieldNode> = of.nodes().into_iter().flatten().copied().collect();
    let nodes = made.create_vector(&nodes);
    let buffers = made.create_vector(buffers);
    let counts = of.variadicBufferCounts().map(|it| it.iter().collect::<Vec<i64>>());
    let counts = counts.map(|it| made.create_vector(&it));
    let mut batch = RecordBatchBuilder::new(made);
    batch.add_length(of.length());
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    if let Some(counts) = counts {
        batch.add_variadicBufferCounts(counts);
    }
    batch.finish()
}

/// Appends what a buffer becomes.
fn decompress(of: arrow_ipc::Buffer, body: &[u8], to: &mut Counted<u8>) -> Result<(), Damage> {
    let range = |start: i64, len: i64| {
        let start = usize::try_from(start).ok()?;
        body.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    };
    let bytes = range(of.offset(), of.length());
    let bytes = bytes.ok_or_else(|| damaged("a column ends beyond its record batch"))?;
    if bytes.is_empty() {
        return Ok(());
    }
    let short = || damaged("a column is shorter than it says");
    let (len, bytes) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let len = i64::from_le_bytes(*len);
    if len == PLAIN {
        to.extend_from_slice(bytes);
        return Ok(());
    }
    let mut left = usize::try_from(len).map_err(|_| short())?;
    let mut input = zstd(bytes);
    while left > 0 {
        let step = left.min(STEP.max(to.len()));
        let read = to.read(&mut input, step);
        let read = read.map_err(|it| damaged(format!("a column cannot be decompressed: {it}")))?;
        left -= if read == step { read } else { return Err(short()) };
    }
    Ok(())
}
