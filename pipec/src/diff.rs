//! The difference of two texts, line by line, in the unified form.

use std::fmt::Write;

/// Lines around a change that are shown.
const CONTEXT: usize = 3;
/// Pairs of lines that are compared; texts that differ in more are shown as all replaced.
const PAIRS_MAX: usize = 4_000_000;

/// A line of both texts, of the old one, or of the new one.
#[derive(Clone, Copy, PartialEq)]
enum Line<'a> {
    Kept(&'a str),
    Gone(&'a str),
    Added(&'a str),
}

/// What turns `old` into `new`; nothing where they are the same.
pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    let lines = lines(&split(old), &split(new));
    let mut text = String::new();
    for (start, end) in hunks(&lines) {
        if text.is_empty() {
            let _ = writeln!(text, "--- {path}\n+++ {path}");
        }
        hunk(&mut text, &lines, start..end);
    }
    text
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The lines of both, those that are the same found by their longest common subsequence.
fn lines<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tails = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tails.take_while(|(a, b)| a == b).count();
    let (old_rest, kept) = old_rest.split_at(old_rest.len() - tail);
    let new_rest = &new_rest[..new_rest.len() - tail];

    let mut lines: Vec<Line> = old[..head].iter().map(|it| Line::Kept(it)).collect();
    changed(old_rest, new_rest, &mut lines);
    lines.extend(kept.iter().map(|it| Line::Kept(it)));
    lines
}

fn changed<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<Line<'a>>) {
    let width = new.len() + 1;
    let (mut i, mut j) = (0, 0);
    if old.len() * width <= PAIRS_MAX {
        // The longest common subsequence of what follows line i of the old and j of the new text.
        let mut common = vec![0_u32; (old.len() + 1) * width];
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                common[i * width + j] = if old[i] == new[j] {
                    common[(i + 1) * width + j + 1] + 1
                } else {
                    common[(i + 1) * width + j].max(common[i * width + j + 1])
                };
            }
        }
        while i < old.len() && j < new.len() {
            if old[i] == new[j] {
                lines.push(Line::Kept(old[i]));
                (i, j) = (i + 1, j + 1);
            } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
                lines.push(Line::Gone(old[i]));
                i += 1;
            } else {
                lines.push(Line::Added(new[j]));
                j += 1;
            }
        }
    }
    lines.extend(old[i..].iter().map(|it| Line::Gone(it)));
    lines.extend(new[j..].iter().map(|it| Line::Added(it)));
}

/// The stretches of lines that are shown: changes with what is around them.
fn hunks(lines: &[Line<'_>]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for (i, _) in lines.iter().enumerate().filter(|(_, it)| !matches!(it, Line::Kept(_))) {
        let (start, end) = (i.saturating_sub(CONTEXT), (i + 1 + CONTEXT).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => hunks.push((start, end)),
        }
    }
    hunks
}

fn hunk(text: &mut String, lines: &[Line<'_>], shown: std::ops::Range<usize>) {
    let in_old = |lines: &[Line]| lines.iter().filter(|it| !matches!(it, Line::Added(_))).count();
    let in_new = |lines: &[Line]| lines.iter().filter(|it| !matches!(it, Line::Gone(_))).count();
    let (before, inside) = (&lines[..shown.start], &lines[shown]);
    let place = |before: usize, n: usize| format!("{},{n}", before + usize::from(n > 0));
    let (old, new) = (place(in_old(before), in_old(inside)), place(in_new(before), in_new(inside)));
    let _ = writeln!(text, "@@ -{old} +{new} @@");
    for line in inside {
        let (sign, line) = match line {
            Line::Kept(it) => (' ', it),
            Line::Gone(it) => ('-', it),
            Line::Added(it) => ('+', it),
        };
        let _ = write!(text, "{sign}{line}");
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_shown_with_its_surroundings() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14";
        let expected = "--- x\n+++ x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
                        @@ -11,3 +11,4 @@\n 11\n 12\n 13\n+14\n\\ No newline at end of file\n";
        assert_eq!(unified("x", old, new), expected);
        assert_eq!(unified("x", old, old), "");
        assert_eq!(unified("x", "", "a\n"), "--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n");
    }
}
