//! The sheet as pixels: blocks of equal size, one for each record, each with its tiles and a caption.

use super::{
    CAPTION_LINES_MAX, Shown, font,
    mask::Rgb,
    tile::{SIDE_MIN, Tile},
};

/// Pictures beside each other.
const COLUMNS_MAX: usize = 8;
/// Pixels between pictures.
const GAP: usize = 6;
/// Pixels from a line of text to the next.
const LINE: usize = font::HEIGHT + 3;
/// Pixels from a letter to the next.
const LETTER: usize = font::WIDTH + 1;
const PAPER: u8 = 255;
const INK: Rgb = [0, 0, 0];
/// The ink of what names a picture, apart from what is said of the record.
const FAINT: Rgb = [110, 110, 110];

/// A sheet.
pub(super) struct Canvas {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) rgb: Vec<u8>,
}

/// Where things stand, in pixels; every record has a block of the same size.
struct Layout {
    /// The tops of the rows of tiles within a block, and what is below the last.
    tops: Vec<usize>,
    /// The height and width of a block.
    block: (usize, usize),
    /// Blocks beside each other.
    across: usize,
}

impl Layout {
    fn of(records: &[Shown]) -> Self {
        let has_legend = records.iter().flat_map(|it| &it.tiles).any(|it| !it.legend.is_empty());
        let titles = LINE * (1 + usize::from(has_legend));
        let most = records.iter().map(|it| it.tiles.len()).fold(1, usize::max);
        let mut tops = vec![0];
        for row in 0..most.div_ceil(COLUMNS_MAX) {
            let tiles = records.iter().filter_map(|it| it.tiles.chunks(COLUMNS_MAX).nth(row));
            let tallest = tiles.flatten().map(|it| it.height).fold(1, usize::max);
            tops.push(tops[row] + tallest + titles + GAP);
        }

        let abreast = most.min(COLUMNS_MAX);
        // Records with several pictures stand further apart than the pictures of one.
        let apart = if most > 1 { 2 * GAP } else { 0 };
        let rows = records.iter().flat_map(|it| it.tiles.chunks(COLUMNS_MAX));
        let widths = rows.map(|it| it.iter().map(width).sum());
        let width = widths.fold(SIDE_MIN + GAP, usize::max) + apart;
        let lines = records.iter().map(|it| wrapped(&it.caption, (width - GAP) / LETTER).len());
        let below = tops[tops.len() - 1];
        let height = below + lines.max().unwrap_or(0) * LINE + GAP + apart;

        let is_square = |it: &usize| it * it * abreast >= records.len();
        let room = (COLUMNS_MAX / abreast).max(1);
        let across = (1..=room).find(is_square).unwrap_or(room);
        Self { tops, block: (height, width), across }
    }
}

/// Pixels from the left of a tile to the next: it is no narrower than its title needs.
fn width(tile: &Tile) -> usize {
    tile.width.max(SIDE_MIN) + GAP
}

impl Canvas {
    pub(super) fn of(records: &[Shown]) -> Self {
        let layout = Layout::of(records);
        let (height, width) = (
            records.len().div_ceil(layout.across) * layout.block.0 + GAP,
            layout.across.min(records.len().max(1)) * layout.block.1 + GAP,
        );
        let mut canvas = Self { height, width, rgb: vec![PAPER; height * width * 3] };
        for (i, record) in records.iter().enumerate() {
            let (down, right) = (i / layout.across, i % layout.across);
            canvas.block(
                record,
                (GAP + down * layout.block.0, GAP + right * layout.block.1),
                &layout,
            );
        }
        canvas
    }

    /// The tiles of a record, row after row, and its caption.
    fn block(&mut self, record: &Shown, (top, left): (usize, usize), layout: &Layout) {
        for (row, tiles) in record.tiles.chunks(COLUMNS_MAX).enumerate() {
            let mut at = left;
            for tile in tiles {
                self.place(tile, (top + layout.tops[row], at));
                at += width(tile);
            }
        }
        let below = top + layout.tops[layout.tops.len() - 1];
        let room = (layout.block.1 - GAP) / LETTER;
        for (i, line) in wrapped(&record.caption, room).iter().enumerate() {
            self.write(line, (below + i * LINE, left), INK);
        }
    }

    fn place(&mut self, tile: &Tile, (top, left): (usize, usize)) {
        for (y, row) in tile.rgb.chunks_exact(tile.width * 3).enumerate() {
            let at = ((top + y) * self.width + left) * 3;
            self.rgb[at..at + row.len()].copy_from_slice(row);
        }
        let room = (width(tile) - GAP) / LETTER;
        let below = top + tile.height + GAP / 2;
        self.write(&cut(&tile.title, room), (below, left), FAINT);
        let mut used = 0;
        for (name, colour) in &tile.legend {
            let letters = name.chars().count();
            if used + letters > room {
                break;
            }
            self.write(name, (below + LINE, left + used * LETTER), *colour);
            used += letters + 1;
        }
    }

    fn write(&mut self, line: &str, (top, left): (usize, usize), ink: Rgb) {
        for (i, letter) in line.chars().enumerate() {
            for y in 0..font::HEIGHT {
                for x in (0..font::WIDTH).filter(|&it| font::is_ink(letter, y, it)) {
                    let at = ((top + y) * self.width + left + i * LETTER + x) * 3;
                    self.rgb[at..at + 3].copy_from_slice(&ink);
                }
            }
        }
    }
}

/// The lines of a caption, none longer than `room` letters.
fn wrapped(caption: &[String], room: usize) -> Vec<String> {
    let lines = caption.iter().flat_map(|it| {
        let letters: Vec<char> = it.chars().collect();
        letters.chunks(room.max(1)).map(|it| it.iter().collect()).collect::<Vec<String>>()
    });
    lines.take(CAPTION_LINES_MAX).collect()
}

/// The beginning of `text`, where all of it has no room.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(2)).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::sheet::levels::Levels;
    use runtime::Tensor;

    fn shown(tiles: usize, caption: &[&str]) -> Shown {
        let grey = [9_u8];
        let tile = || Tile::of(&Tensor::new(&[1, 1, 1], &grey), &Levels::after(None), "T".into());
        let tiles = (0..tiles).filter_map(|_| tile()).collect();
        Shown { tiles, caption: caption.iter().map(|it| (*it).to_owned()).collect() }
    }

    #[test]
    fn titles_and_captions_stand_below() {
        let canvas = Canvas::of(&[shown(1, &["T"])]);
        let count = |of: Rgb| canvas.rgb.chunks_exact(3).filter(|it| **it == of).count();
        assert_eq!((count(INK), count(FAINT)), (11, 11), "a T has eleven pixels");
    }

    #[test]
    fn pictures_of_a_record_stand_beside_each_other() {
        let size = |it: &[Shown]| {
            let canvas = Canvas::of(it);
            (canvas.height, canvas.width)
        };
        let [one, two, twelve] = [1, 2, 12].map(|it| size(&[shown(it, &["x"])]));
        assert_eq!(two.1 - one.1, 102 + 2 * GAP);
        assert_eq!(two.0 - one.0, 2 * GAP);
        assert_eq!(twelve.1, 8 * 102 + 3 * GAP, "eight beside each other, four below");
        let many: Vec<Shown> = (0..64).map(|_| shown(1, &["x"])).collect();
        assert_eq!(size(&many).1, 8 * 102 + GAP);
    }

    #[test]
    fn what_has_no_room_is_cut() {
        assert_eq!(cut("a_long_name", 8), "a_long..");
        assert_eq!(cut("name", 8), "name");
        assert_eq!(wrapped(&["abcdefgh".to_owned()], 3), ["abc", "def", "gh"]);
    }
}
