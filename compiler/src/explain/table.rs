//! A table of text: columns as wide as their widest cell.

/// One cell of a table.
pub(super) struct Cell {
    text: String,
    /// Numbers stand on the right.
    right: bool,
}

impl Cell {
    pub(super) fn left(text: impl Into<String>) -> Self {
        Self { text: text.into(), right: false }
    }

    pub(super) fn right(text: impl Into<String>) -> Self {
        Self { text: text.into(), right: true }
    }

    /// What stands in it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is a number.
    pub(super) fn is_right(&self) -> bool {
        self.right
    }
}

/// The rows under each other, two spaces between columns, none at the end of a line. A row of one
/// cell is as long as it is.
pub(super) fn lines(rows: &[Vec<Cell>]) -> Vec<String> {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let table = || rows.iter().filter(|it| it.len() > 1);
    let width = |i: usize| table().filter_map(|it| it.get(i)).map(len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn len(cell: &Cell) -> usize {
    cell.text.chars().count()
}

fn line(row: &[Cell], widths: &[usize]) -> String {
    let cell = |(cell, &width): (&Cell, &usize)| {
        let space = " ".repeat(width.saturating_sub(len(cell)));
        if cell.right { space + &cell.text } else { cell.text.clone() + &space }
    };
    let cells: Vec<String> = row.iter().zip(widths).map(cell).collect();
    cells.join("  ").trim_end().to_owned()
}
