//! A contact sheet: the pictures of some records side by side, with what is known of them, as a PNG.
//!
//! Every image field of a record is a tile, a stack of crops is a tile for each crop, and a class map
//! or mask is drawn in colour over the picture of the same height and width. Around things that boxes
//! name, there are lines. The tiles of a record stand together, above its caption.

mod canvas;
mod font;
mod levels;
mod mask;
mod tile;

use crate::{
    session::{
        compiled::Compiled,
        ours::{SHEET_KEYWORD, SHEET_MADE_BY},
        whole,
    },
    tools::{
        cut,
        peek::{FieldPeek, Looked, id_text, number},
    },
};
use canvas::Canvas;
use levels::Levels;
use mask::Mask;
use plan::{DType, Extent, Field, OpId, RaggedField, Type};
use runtime::{Chunk, Failure, Tensor};
use std::path::Path;
use tile::Tile;

/// Pictures of a sheet.
pub const PICTURES_MAX: usize = 64;
/// Pictures of one record.
pub const PICTURES_OF_RECORD_MAX: usize = 16;
/// Lines of a record's caption.
const CAPTION_LINES_MAX: usize = 6;
/// Letters of what counts as the extension of a file: `jpeg`, `webp`, `jsonl`.
const EXTENSION_LEN_MAX: usize = 5;
/// Boxes that are drawn in a picture.
const BOXES_MAX: usize = 256;
/// The least sides of a table of bytes without channels that is taken for a grey picture. Smaller
/// ones are more often numbers.
const GREY_SIDE_MIN: usize = 16;

/// The pictures of some records.
#[derive(Debug, Default)]
pub struct Sheet {
    records: Vec<Shown>,
    left_out: usize,
}

/// A record on a sheet.
#[derive(Debug)]
struct Shown {
    tiles: Vec<Tile>,
    caption: Vec<String>,
}

/// Whether some field of these records, or of these batches, looks like a picture.
pub fn has_picture(fields: &[Field], batched: bool) -> bool {
    fields.iter().any(|it| Axes::of(&it.ty, batched).is_some())
}

impl Sheet {
    /// The pictures of what has left a step, of at most `most` records; of batches, of their rows.
    pub fn of(compiled: &Compiled, looked: &Looked<'_>, most: usize) -> Self {
        let plan = &compiled.written;
        let mut steps = cut::shown_steps(plan).into_iter();
        let op = steps.find(|it| cut::shown_name(&plan.ops[*it]) == looked.peek.step);
        let pictures = Pictures::new(compiled, op, looked);
        let mut sheet = Self::default();
        let mut n_records = 0;
        for record in looked.records {
            for row in pictures.rows(record) {
                if n_records == most {
                    return sheet;
                }
                n_records += 1;
                sheet.take(pictures.shown(record, row));
            }
        }
        sheet
    }

    /// How many pictures it has.
    pub fn pictures(&self) -> usize {
        self.records.iter().map(|it| it.tiles.len()).sum()
    }

    /// How many records have pictures on it.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// How many pictures found no room: a sheet has at most [`PICTURES_MAX`], a record at most
    /// [`PICTURES_OF_RECORD_MAX`].
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Writes the sheet.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let canvas = Canvas::of(&self.records);
        let side = |it: usize| u32::try_from(it).expect("a sheet has few pictures of few pixels");
        whole::write(path, "the sheet", &mut |out| {
            let mut encoder = png::Encoder::new(out, side(canvas.width), side(canvas.height));
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            // By this it is known as one that may be replaced.
            encoder.add_text_chunk(SHEET_KEYWORD.to_owned(), SHEET_MADE_BY.to_owned())?;
            let mut image = encoder.write_header()?;
            image.write_image_data(&canvas.rgb)?;
            Ok(image.finish()?)
        })
    }

    /// Takes a record, as far as there is room: whole, so that the pictures of one stand together.
    fn take(&mut self, mut shown: Shown) {
        let n = shown.tiles.len();
        shown.tiles.truncate(PICTURES_OF_RECORD_MAX);
        if self.pictures() + shown.tiles.len() > PICTURES_MAX {
            shown.tiles.clear();
        }
        self.left_out += n - shown.tiles.len();
        if !shown.tiles.is_empty() {
            self.records.push(shown);
        }
    }
}

/// Where a field has its pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axes {
    /// Several pictures, one behind the other.
    stack: bool,
    channels: Channels,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channels {
    First,
    Last,
    /// Grey levels without an axis for channels.
    None,
}

impl Axes {
    /// Those of a type that may be pictures: bytes, 16 bits or floats with one, three or four
    /// channels, or a large table of bytes.
    fn of(ty: &Type, batched: bool) -> Option<Self> {
        let Type::Tensor { dtype, shape } = ty else { return None };
        let shape = if batched { shape.get(1..)? } else { shape };
        let is_large = |it: &Extent| match it {
            Extent::Known(it) => *it >= GREY_SIDE_MIN as u64,
            _ => true,
        };
        let (stack, axes) = match shape {
            [height, width] if *dtype == DType::U8 && is_large(height) && is_large(width) => {
                return Some(Self { stack: false, channels: Channels::None });
            }
            [_, _, _] => (false, shape),
            [_, axes @ ..] if axes.len() == 3 => (true, axes),
            _ => return None,
        };
        let channels = |it: &Extent| matches!(it, Extent::Known(1 | 3 | 4));
        let channels = match axes {
            [.., last] if channels(last) => Channels::Last,
            [first, ..] if channels(first) => Channels::First,
            _ => return None,
        };
        let is_level = matches!(dtype, DType::U8 | DType::U16) || dtype.is_float();
        is_level.then_some(Self { stack, channels })
    }

    /// The pictures of a value, channels last.
    fn pictures<'a>(self, value: &Tensor<'a>) -> Vec<Tensor<'a>> {
        let all = match self.stack {
            true => (0..value.shape()[0]).map(|it| value.element(it)).collect(),
            false => vec![*value],
        };
        let last = |it: Tensor<'a>| match self.channels {
            Channels::Last => it,
            Channels::First => it.permuted(&[1, 2, 0]),
            Channels::None => it.expanded(2),
        };
        all.into_iter().map(last).collect()
    }
}

/// The axes of the fields that hold pictures. Those of a ragged field are left out: only its offsets say of which row of
/// a batch they are.
fn axes_of(fields: &[Field], batched: bool) -> Vec<Option<Axes>> {
    let is_ragged = |it| batched && RaggedField::at(fields, it).is_some();
    let axes = |it: usize| Axes::of(&fields[it].ty, batched).filter(|_| !is_ragged(it));
    (0..fields.len()).map(axes).collect()
}

/// The boxes that a value holds, if these can be such: corners in pixels, in order, not fractions.
fn boxes_of(value: &Tensor<'_>) -> Option<Vec<[f32; 4]>> {
    let &[n, 4] = value.shape() else { return None };
    if value.dtype() != DType::F32 || n == 0 || n > BOXES_MAX {
        return None;
    }
    let row = |it: usize| [0, 1, 2, 3].map(|at| value.element(it).element(at).number() as f32);
    let all: Vec<[f32; 4]> = (0..n).map(row).collect();
    let are_in_order = all.iter().all(|it| it[0] <= it[2] && it[1] <= it[3]);
    let has_pixels = all.iter().any(|it| it[2] > 1.0 && it[3] > 1.0);
    (are_in_order && has_pixels).then_some(all)
}

/// How the pictures of a step's records are found and drawn.
struct Pictures<'a> {
    fields: &'a [Field],
    /// What is told of the fields.
    told: &'a [FieldPeek],
    batched: bool,
    axes: Vec<Option<Axes>>,
    levels: Vec<Levels>,
}

/// A picture of a record, before it is drawn.
struct Picture<'a> {
    field: usize,
    title: String,
    pixels: Tensor<'a>,
}

impl<'a> Pictures<'a> {
    fn new(compiled: &Compiled, op: Option<OpId>, looked: &'a Looked<'a>) -> Self {
        let (fields, batched) = (looked.fields, looked.peek.batched);
        let normalised = |it| op.and_then(|op| levels::normalised(&compiled.written, op, it));
        Self {
            fields,
            told: &looked.peek.fields,
            batched,
            axes: axes_of(fields, batched),
            levels: (0..fields.len()).map(|it| Levels::after(normalised(it))).collect(),
        }
    }

    /// The rows of a batch; of a record that is none, the record.
    fn rows(&self, record: &Chunk) -> Vec<Option<usize>> {
        let first = self.axes.iter().position(Option::is_some);
        match first.filter(|_| self.batched) {
            Some(field) => (0..record.columns[field].row(0).shape()[0]).map(Some).collect(),
            None => vec![None],
        }
    }

    fn shown(&self, record: &Chunk, row: Option<usize>) -> Shown {
        let value = |field: usize| self.value(record, field, row);
        let mut pictures = Vec::new();
        for (field, axes) in self.axes.iter().enumerate() {
            let Some((axes, value)) = axes.zip(value(field)) else { continue };
            let name = &self.fields[field].name;
            for (i, pixels) in axes.pictures(&value).into_iter().enumerate() {
                let title = if axes.stack { format!("{name}[{i}]") } else { name.clone() };
                pictures.push(Picture { field, title, pixels });
            }
        }
        let fields = 0..self.fields.len();
        let values: Vec<Option<Tensor<'_>>> = fields.map(value).collect();
        let masks: Vec<Option<Mask<'_>>> =
            values.iter().map(|it| it.as_ref().and_then(Mask::of)).collect();
        let is_mask = |field: usize| masks[field].as_ref().is_some_and(Mask::is_dark);
        let is_colour = |it: &&Picture<'_>| it.pixels.shape()[2] >= 3;
        let sized = |size: (usize, usize), other: usize| {
            let same =
                |it: &&Picture<'_>| it.field != other && it.size() == size && !is_mask(it.field);
            pictures.iter().filter(same).find(is_colour).or(pictures.iter().find(same))
        };

        let mut tiles = Vec::new();
        for (field, it) in self.fields.iter().enumerate() {
            let Some(mask) = &masks[field] else { continue };
            let Some(under) = sized(mask.size(), field) else {
                if self.axes[field].is_some() && mask.is_dark() {
                    tiles.push((field, Tile::of_mask(mask, it.name.clone())));
                }
                continue;
            };
            let title = format!("{} + {}", under.title, it.name);
            tiles.extend(self.tile(under).map(|tile| (field, tile.with_mask(mask, title))));
        }
        let drawn: Vec<usize> = tiles.iter().map(|it| it.0).collect();
        for it in pictures.iter().filter(|it| !drawn.contains(&it.field)) {
            tiles.extend(self.tile(it).map(|tile| (it.field, tile)));
        }
        self.depths(&value, &pictures, &mut tiles);
        for (field, value) in values.iter().enumerate() {
            let Some(boxes) = value.as_ref().and_then(boxes_of) else { continue };
            let own = tiles.iter_mut().filter(|it| self.prefix(it.0) == self.prefix(field));
            own.for_each(|(_, tile)| tile.add_boxes(&boxes));
        }
        tiles.sort_by_key(|it| it.0);
        let tiles = tiles.into_iter().map(|it| it.1).collect();
        Shown { tiles, caption: self.caption(record, row) }
    }

    /// What is of a record, or of a row of a batch. A mask may be one for all rows.
    fn value<'r>(&self, record: &'r Chunk, field: usize, row: Option<usize>) -> Option<Tensor<'r>> {
        let value = record.columns[field].row(0);
        let Some(row) = row else { return Some(value) };
        let is_of_all = value.dtype() == DType::Bool && value.shape().len() == 2;
        if is_of_all {
            return Some(value);
        }
        let n_rows = *value.shape().first()?;
        (row < n_rows && !value.dtype().is_text()).then(|| value.element(row))
    }

    /// What stands before the last dot of a field's name: the boxes of `other1.image` are `other1.boxes`.
    fn prefix(&self, field: usize) -> &str {
        self.fields[field].name.rsplit_once('.').map_or("", |it| it.0)
    }

    fn tile(&self, it: &Picture<'_>) -> Option<Tile> {
        Tile::of(&it.pixels, &self.levels[it.field], it.title.clone())
    }

    /// Tables of numbers of the height and width of a picture, such as depths: grey.
    fn depths<'r>(
        &self,
        value: &dyn Fn(usize) -> Option<Tensor<'r>>,
        pictures: &[Picture<'_>],
        tiles: &mut Vec<(usize, Tile)>,
    ) {
        for (field, axes) in self.axes.iter().enumerate() {
            let is_drawn = tiles.iter().any(|it| it.0 == field);
            let Some(table) =
                value(field).filter(|it| axes.is_none() && !is_drawn && it.shape().len() == 2)
            else {
                continue;
            };
            let size = (table.shape()[0], table.shape()[1]);
            if table.dtype() != DType::Bool && pictures.iter().any(|it| it.size() == size) {
                let title = self.fields[field].name.clone();
                let tile = Tile::of(&table.expanded(2), &self.levels[field], title);
                tiles.extend(tile.map(|it| (field, it)));
            }
        }
    }

    /// The scalars of a record, and its id; of a batch, those of a row.
    fn caption(&self, record: &Chunk, row: Option<usize>) -> Vec<String> {
        let mut lines = Vec::new();
        for ((field, told), column) in self.fields.iter().zip(self.told).zip(&record.columns) {
            let value = column.row(0);
            let text = match (row, value.texts()) {
                (Some(row), Some(texts)) => {
                    Some(row).filter(|it| *it < texts.len()).map(|it| texts.get(it))
                }
                (None, None) => Some(value),
                _ => None,
            };
            let value = match (row, value.shape()) {
                _ if value.dtype() == DType::Bytes => continue,
                _ if value.dtype() == DType::Str => {
                    let Some(text) = text else { continue };
                    lines.push(format!("{}={}", field.name, shortened(text.as_str())));
                    continue;
                }
                (Some(row), [n]) if row < *n => value.element(row),
                (None, []) => value,
                _ => continue,
            };
            lines.push(scalar(told, &value));
        }
        lines.truncate(CAPTION_LINES_MAX - 1);
        lines.push(match row {
            Some(row) => format!("row {row}"),
            None => id_text(record.ids()[0]),
        });
        lines
    }
}

/// The name of the file of a path, which says more than the folders before it; any other text as it is. No
/// type says what a text is: a path ends with an extension, or begins at the root.
fn shortened(text: &str) -> &str {
    let name = text.rsplit('/').next().unwrap_or(text);
    // A fraction such as `1/2.5` has none.
    let is_extension = |it: &str| {
        (1..=EXTENSION_LEN_MAX).contains(&it.len())
            && it.bytes().all(|it| it.is_ascii_alphanumeric())
            && it.bytes().any(|it| it.is_ascii_alphabetic())
    };
    let is_file = name.rsplit_once('.').is_some_and(|(_, it)| is_extension(it));
    let is_absolute = text.starts_with('/') && !text.contains(char::is_whitespace);
    let is_path = !name.is_empty() && !text.contains("://") && (is_file || is_absolute);
    if is_path { name } else { text }
}

/// A number under the name of its field; of a label, the name of its class beside it.
fn scalar(field: &FieldPeek, value: &Tensor<'_>) -> String {
    let class = usize::try_from(value.int()).ok().and_then(|it| field.classes.get(it));
    let class = class.map_or(String::new(), |it| format!(" ({it})"));
    format!("{}={}{class}", field.name, number(value))
}

impl Picture<'_> {
    fn size(&self) -> (usize, usize) {
        (self.pixels.shape()[0], self.pixels.shape()[1])
    }
}

#[cfg(test)]
mod tests;
