//! A contact sheet: pictures side by side with what is known of them, as a PNG.

mod font;

use crate::{
    peek::{id_text, number},
    whole,
};
use plan::{DType, Field, Type};
use runtime::{Chunk, Failure, Tensor};
use std::path::Path;

/// The longest side of a picture on a sheet, in pixels.
const SIDE_MAX: usize = 224;
/// The least that a small picture's longest side is enlarged to, where that is a whole factor.
const SIDE_MIN: usize = 96;
/// Pictures of a sheet.
pub const PICTURES_MAX: usize = 64;
/// Pictures beside each other.
const COLUMNS_MAX: usize = 8;
/// Pixels between pictures.
const GAP: usize = 6;
/// Pixels from a line of a caption to the next.
const LINE: usize = font::HEIGHT + 3;
/// Pixels from a letter to the next.
const LETTER: usize = font::WIDTH + 1;
/// Lines of a caption.
const LINES_MAX: usize = 5;
const PAPER: u8 = 255;
const INK: u8 = 0;

/// A picture on a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    height: usize,
    width: usize,
    /// Three bytes a pixel, row after row.
    rgb: Vec<u8>,
    caption: Vec<String>,
}

/// Whether some field of these records, or of these batches, looks like a picture.
pub fn has_picture(fields: &[Field], batched: bool) -> bool {
    fields.iter().any(|it| picture_axes(&it.ty, batched))
}

/// The pictures of `records`, at most `most` of them; of a batch, those of its rows.
pub fn tiles(fields: &[Field], records: &[Chunk], batched: bool, most: usize) -> Vec<Tile> {
    let most = most.min(PICTURES_MAX);
    let Some(picture) = fields.iter().position(|it| picture_axes(&it.ty, batched)) else {
        return Vec::new();
    };
    let mut tiles = Vec::new();
    for record in records {
        let value = record.columns[picture].row(0);
        let rows = if batched { value.shape()[0] } else { 1 };
        for row in (0..rows).take(most - tiles.len()) {
            let image = if batched { value.element(row) } else { value };
            let caption = caption(fields, record, batched.then_some(row));
            tiles.extend(Tile::of(&image, caption));
        }
    }
    tiles
}

/// Writes a sheet of `tiles`.
///
/// # Errors
/// The file cannot be written.
pub fn save(tiles: &[Tile], path: &Path) -> Result<(), Failure> {
    let sheet = Sheet::of(tiles);
    let side = |it: usize| u32::try_from(it).expect("a sheet has few pictures of few pixels");
    whole::write(path, "the sheet", &mut |out| {
        let mut encoder = png::Encoder::new(out, side(sheet.width), side(sheet.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut image = encoder.write_header()?;
        image.write_image_data(&sheet.rgb)?;
        Ok(image.finish()?)
    })
}

/// Whether a type may be that of a picture: bytes or floats, three axes, one or three channels.
fn picture_axes(ty: &Type, batched: bool) -> bool {
    let Type::Tensor { dtype, shape } = ty else { return false };
    let shape = if batched { shape.get(1..).unwrap_or_default() } else { shape };
    let channels = |it: &plan::Extent| matches!(it, plan::Extent::Known(1 | 3 | 4));
    let [first, _, last] = shape else { return false };
    (*dtype == DType::U8 || dtype.is_float()) && (channels(first) || channels(last))
}

/// The scalars of a record, and its id; of a batch, those of a row.
fn caption(fields: &[Field], record: &Chunk, row: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    for (field, column) in fields.iter().zip(&record.columns) {
        let value = column.row(0);
        let value = match (row, value.shape()) {
            _ if value.dtype() == DType::Bytes => continue,
            _ if value.dtype() == DType::Str && row.is_none() => {
                // The end of a path says more than its beginning.
                let text = value.as_str();
                lines.push(format!("{}={}", field.name, text.rsplit('/').next().unwrap_or(text)));
                continue;
            }
            (Some(row), [_]) => value.element(row),
            (None, []) => value,
            _ => continue,
        };
        lines.push(format!("{}={}", field.name, number(&value)));
    }
    lines.truncate(LINES_MAX - 1);
    lines.push(match row {
        Some(row) => format!("row {row}"),
        None => id_text(record.ids()[0]),
    });
    lines
}

impl Tile {
    fn of(image: &Tensor<'_>, caption: Vec<String>) -> Option<Self> {
        let last = |it: usize| matches!(image.shape()[it], 1 | 3 | 4);
        let image = if last(2) { *image } else { image.permuted(&[1, 2, 0]) };
        let &[height, width, _] = image.shape() else { return None };
        if height == 0 || width == 0 {
            return None;
        }
        let bright = Brightness::of(&image);
        let scale = Scale::of(height, width);
        let (tall, wide) = (scale.apply(height), scale.apply(width));
        let mut rgb = Vec::with_capacity(tall * wide * 3);
        for y in 0..tall {
            for x in 0..wide {
                rgb.extend(scale.pixel(&image, (y, x)).map(|it| bright.byte(it)));
            }
        }
        Some(Self { height: tall, width: wide, rgb, caption })
    }
}

/// How numbers become bytes: floats from the least to the most of their picture.
struct Brightness {
    least: f64,
    factor: f64,
}

impl Brightness {
    fn of(image: &Tensor<'_>) -> Self {
        if image.dtype() == DType::U8 {
            return Self { least: 0.0, factor: 1.0 };
        }
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        each_number(image, &mut |it| {
            if it.is_finite() {
                (least, most) = (least.min(it), most.max(it));
            }
        });
        let span = most - least;
        Self { least, factor: if span > 0.0 { 255.0 / span } else { 0.0 } }
    }

    fn byte(&self, number: f64) -> u8 {
        ((number - self.least) * self.factor + 0.5) as u8
    }
}

fn each_number(image: &Tensor<'_>, visit: &mut dyn FnMut(f64)) {
    for y in 0..image.shape()[0] {
        let row = image.element(y);
        for x in 0..row.shape()[0] {
            let pixel = row.element(x);
            (0..pixel.elements()).for_each(|it| visit(pixel.element(it).number()));
        }
    }
}

/// By what whole number a picture is made smaller or larger.
#[derive(Clone, Copy)]
enum Scale {
    Down(usize),
    Up(usize),
}

impl Scale {
    fn of(height: usize, width: usize) -> Self {
        match height.max(width) {
            side if side > SIDE_MAX => Self::Down(side.div_ceil(SIDE_MAX)),
            side => Self::Up((SIDE_MIN / side).max(1)),
        }
    }

    fn apply(self, side: usize) -> usize {
        match self {
            Self::Down(by) => (side / by).max(1),
            Self::Up(by) => side * by,
        }
    }

    /// Red, green, blue at a place of the result: the mean of what falls on it.
    fn pixel(self, image: &Tensor<'_>, (y, x): (usize, usize)) -> [f64; 3] {
        let by = match self {
            Self::Up(by) => return colour(image, y / by, x / by),
            Self::Down(by) => by,
        };
        let ends = [(y + 1) * by, (x + 1) * by];
        let (bottom, right) = (ends[0].min(image.shape()[0]), ends[1].min(image.shape()[1]));
        let (mut sum, mut n) = ([0.0; 3], 0.0);
        for row in y * by..bottom {
            for column in x * by..right {
                let one = colour(image, row, column);
                (0..3).for_each(|it| sum[it] += one[it]);
                n += 1.0;
            }
        }
        sum.map(|it| it / n)
    }
}

fn colour(image: &Tensor<'_>, y: usize, x: usize) -> [f64; 3] {
    let pixel = image.element(y).element(x);
    let channel = |it: usize| pixel.element(it).number();
    if pixel.elements() >= 3 { [channel(0), channel(1), channel(2)] } else { [channel(0); 3] }
}

struct Sheet {
    height: usize,
    width: usize,
    rgb: Vec<u8>,
}

impl Sheet {
    fn of(tiles: &[Tile]) -> Self {
        let tiles = &tiles[..tiles.len().min(PICTURES_MAX)];
        let columns = (1..=COLUMNS_MAX).find(|it| it * it >= tiles.len()).unwrap_or(COLUMNS_MAX);
        let most = |side: fn(&Tile) -> usize, least| tiles.iter().map(side).fold(least, usize::max);
        let wide = most(|it| it.width, SIDE_MIN) + GAP;
        let tall = most(|it| it.height, 1) + most(|it| it.lines().len(), 0) * LINE + 2 * GAP;
        let (height, width) = (tiles.len().div_ceil(columns) * tall + GAP, columns * wide + GAP);
        let mut sheet = Self { height, width, rgb: vec![PAPER; height * width * 3] };
        for (i, tile) in tiles.iter().enumerate() {
            sheet.place(tile, (GAP + i / columns * tall, GAP + i % columns * wide));
        }
        sheet
    }

    fn place(&mut self, tile: &Tile, (top, left): (usize, usize)) {
        for (y, row) in tile.rgb.chunks_exact(tile.width * 3).enumerate() {
            let at = ((top + y) * self.width + left) * 3;
            self.rgb[at..at + row.len()].copy_from_slice(row);
        }
        for (i, line) in tile.lines().iter().enumerate() {
            self.write(line, (top + tile.height + GAP / 2 + i * LINE, left));
        }
    }

    fn write(&mut self, line: &str, (top, left): (usize, usize)) {
        for (i, letter) in line.chars().enumerate() {
            for y in 0..font::HEIGHT {
                for x in (0..font::WIDTH).filter(|&it| font::is_ink(letter, y, it)) {
                    let at = ((top + y) * self.width + left + i * LETTER + x) * 3;
                    self.rgb[at..at + 3].fill(INK);
                }
            }
        }
    }
}

impl Tile {
    /// The caption in lines that are no wider than the picture, or than the narrowest one.
    fn lines(&self) -> Vec<String> {
        let room = self.width.max(SIDE_MIN) / LETTER;
        let lines = self.caption.iter().flat_map(|it| {
            let letters: Vec<char> = it.chars().collect();
            letters.chunks(room).map(|it| it.iter().collect()).collect::<Vec<String>>()
        });
        lines.take(LINES_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_by_their_axes() {
        let ty = |shape: &[u64]| Type::tensor(DType::F32, shape);
        assert!(picture_axes(&ty(&[3, 8, 8]), false) && picture_axes(&ty(&[4, 8, 8, 1]), true));
        assert!(!picture_axes(&ty(&[8, 8]), false) && !picture_axes(&ty(&[3, 8, 8]), true));
        assert!(!picture_axes(&Type::tensor(DType::I64, &[3, 8, 8]), false));
    }

    #[test]
    fn floats_are_stretched_and_channels_come_last() {
        let planes: Vec<f32> = (0..12).map(|it| it as f32 - 5.0).collect();
        let tile = Tile::of(&Tensor::new(&[3, 2, 2], &planes), Vec::new()).unwrap();
        assert_eq!((tile.height, tile.width), (96, 96));
        assert_eq!(&tile.rgb[..3], [0, 93, 185]);
        assert_eq!(&tile.rgb[tile.rgb.len() - 3..], [70, 162, 255]);
    }

    #[test]
    fn large_pictures_are_averaged() {
        let grey: Vec<u8> = (0..450 * 2).map(|it| if it % 3 == 0 { 90 } else { 0 }).collect();
        let tile = Tile::of(&Tensor::new(&[450, 2, 1], &grey), Vec::new()).unwrap();
        assert_eq!((tile.height, tile.width), (150, 1));
        assert_eq!(&tile.rgb[..3], [30, 30, 30]);
    }

    #[test]
    fn captions_stand_below() {
        let tile = Tile { height: 1, width: 1, rgb: vec![9; 3], caption: vec!["T".to_owned()] };
        let sheet = Sheet::of(&[tile]);
        let ink = (0..sheet.height * sheet.width).filter(|it| sheet.rgb[it * 3] == INK).count();
        assert_eq!(ink, 11, "a T has eleven pixels");
    }
}
