//! What an outline in COCO's annotations says.

use crate::functions::text::json::{self, Scan};
use crate::{numbers, prelude::*};
use runtime::Skimmed;

/// An outline.
#[derive(Debug, PartialEq)]
pub(super) enum Outline {
    /// None is annotated.
    Nothing,
    /// Polygons, each with the coordinates of its points: x, y, x, y, …
    Polygons(Vec<Vec<f64>>),
    /// Lengths of runs of zeros and ones in turn, from the top of the first column down, for an image of this height and
    /// width.
    Runs { counts: Vec<u64>, size: [usize; 2] },
}

/// Coordinates of a polygon, at the least: three points.
const NUMBERS_MIN: usize = 6;
/// Pixels that a coordinate may be away from 0: COCO's own code counts fifths of pixels in 32 bits.
const COORDINATE_MAX: f64 = 4e8;
/// Bits of a character of a compressed run, and of the number in it.
const CHARACTER_BITS: u32 = 5;
/// Characters that a run can have.
const CHARACTERS_MAX: u32 = 12;

/// Calls `visit` with each outline of a list.
pub(super) fn each_outline(
    text: &[u8],
    mut visit: impl FnMut(Outline) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut failed = Ok(());
    json::elements(text, |it| {
        failed = outline(it).and_then(&mut visit);
        failed.is_ok()
    })?;
    failed
}

fn outline(text: &[u8]) -> Result<Outline, Fault> {
    match text.first() {
        Some(b'n') => Ok(Outline::Nothing),
        Some(b'{') => runs(text),
        _ => {
            let mut all = Vec::new();
            let mut failed = Ok(());
            json::elements(text, |it| {
                failed = polygon(it).map(|it| all.push(it));
                failed.is_ok()
            })?;
            failed?;
            Ok(if all.is_empty() { Outline::Nothing } else { Outline::Polygons(all) })
        }
    }
}

fn polygon(text: &[u8]) -> Result<Vec<f64>, Fault> {
    let all = list(text)?;
    if all.len() < NUMBERS_MIN || !all.len().is_multiple_of(2) {
        let n = all.len();
        return Err(fault(format!(
            "a polygon has {n} coordinates, expected x and y of at least 3 points"
        )));
    }
    match all.iter().find(|it| it.is_nan() || it.abs() > COORDINATE_MAX) {
        Some(far) => Err(fault(format!(
            "a polygon has the coordinate {far}, which is no position in an image"
        ))),
        None => Ok(all),
    }
}

/// The numbers of a list.
fn list(text: &[u8]) -> Result<Vec<f64>, Fault> {
    let mut scan = Scan::new(text);
    scan.begin(b'[', "a list of numbers")?;
    let mut all = Vec::new();
    let mut more = !scan.closes(b']');
    while more {
        if matches!(scan.peek(), Some(b'[' | b'{' | b'"')) {
            return Err(scan.other("a number"));
        }
        let word = scan.word()?;
        all.push(numbers::float(word).ok_or_else(|| fault("expected numbers".to_owned()))?);
        more = scan.goes_on(b']')?;
    }
    Ok(all)
}

fn runs(text: &[u8]) -> Result<Outline, Fault> {
    let mut known = Skimmed::default();
    let size = list(json::field(text, b"size", &mut known)?)?;
    let whole =
        |it: f64| (it >= 0.0 && it.fract() == 0.0 && it < 2_f64.powi(53)).then_some(it as u64);
    let wrong =
        || fault("the `size` of a run-length encoding must be `[height, width]`".to_owned());
    let &[height, width] = &size[..] else { return Err(wrong()) };
    let [height, width] = [height, width].map(|it| whole(it).ok_or_else(wrong));
    let size = [height? as usize, width? as usize];

    let counts = json::field(text, b"counts", &mut known)?;
    if counts.first() == Some(&b'"') {
        let counts = unpacked(&json::string(counts)?)?;
        return Ok(Outline::Runs { counts, size });
    }
    let counts = list(counts)?.into_iter().map(whole).collect::<Option<_>>();
    let counts = counts.ok_or_else(|| {
        fault("a run-length encoding has a run that is no number of pixels".to_owned())
    })?;
    Ok(Outline::Runs { counts, size })
}

/// The lengths that a text of COCO says: each a number of 5 bits a character, the lowest first, of which the last one has
/// the sign; from the fourth on, what is to be added to the one before the last.
fn unpacked(text: &[u8]) -> Result<Vec<u64>, Fault> {
    let wrong = || fault("a compressed run-length encoding is damaged".to_owned());
    let mut counts: Vec<i64> = Vec::new();
    let mut characters = text.iter();
    while let Some(first) = characters.next() {
        let (mut number, mut place, mut next) = (0_i64, 0, first);
        loop {
            let bits = next.checked_sub(b'0').filter(|it| *it < 64).ok_or_else(wrong)?;
            number |= i64::from(bits & 31) << (CHARACTER_BITS * place);
            place += 1;
            if bits & 32 == 0 {
                if bits & 16 != 0 {
                    number |= -1 << (CHARACTER_BITS * place);
                }
                break;
            }
            if place == CHARACTERS_MAX {
                return Err(wrong());
            }
            next = characters.next().ok_or_else(wrong)?;
        }
        let before = if counts.len() > 2 { counts[counts.len() - 2] } else { 0 };
        counts.push(number.checked_add(before).filter(|it| *it >= 0).ok_or_else(wrong)?);
    }
    Ok(counts.into_iter().map(|it| it as u64).collect())
}

fn fault(detail: String) -> Fault {
    Fault::new("outline", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Outline>, Fault> {
        let mut all = Vec::new();
        each_outline(text.as_bytes(), |it| {
            all.push(it);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn every_form_is_read() {
        let text = r#"[null, [], [[1, 2, 3.5, 4, -5e0, 6]], {"size": [2, 3], "counts": [1, 0, 5]},
            { "counts": "3222O", "size": [ 3 , 4 ] }]"#;
        let expected = [
            Outline::Nothing,
            Outline::Nothing,
            Outline::Polygons(vec![vec![1.0, 2.0, 3.5, 4.0, -5.0, 6.0]]),
            Outline::Runs { counts: vec![1, 0, 5], size: [2, 3] },
            // As pycocotools writes these runs.
            Outline::Runs { counts: vec![3, 2, 2, 4, 1], size: [3, 4] },
        ];
        assert_eq!(read(text).as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn what_is_no_outline_is_a_fault() {
        for (text, code) in [
            ("{}", "json-type"),
            ("[3]", "json-type"),
            ("[[3]]", "json-type"),
            ("[[[1, 2, 3, 4]]]", "outline"),
            ("[[[1, 2, 3, 4, 5, 6, 7]]]", "outline"),
            ("[[[1, 2, 3, 4, 5, true]]]", "outline"),
            ("[[[1, 2, 3, 4, 5, [6]]]]", "json-type"),
            ("[[[1, 2, 3, 4, 5, NaN]]]", "outline"),
            ("[[[1, 2, 3, 4, 5, 1e9]]]", "outline"),
            ("[{\"size\": [1, 2]}]", "field-missing"),
            ("[{\"size\": [1], \"counts\": []}]", "outline"),
            ("[{\"size\": [1, -1], \"counts\": []}]", "outline"),
            ("[{\"size\": [1, 2], \"counts\": [0.5]}]", "outline"),
            ("[{\"size\": [1, 2], \"counts\": \"P\"}]", "outline"),
            ("[{\"size\": [1, 2], \"counts\": \"~\"}]", "outline"),
            ("[{\"size\": [1, 2], \"counts\": \"O\"}]", "outline"),
            ("[{\"size\": [1, 2], \"counts\": \"oooooooooooooooooooo0\"}]", "outline"),
            ("[[[1, 2,", "json-syntax"),
        ] {
            assert_eq!(read(text).map_err(|it| it.code), Err(code), "{text}");
        }
    }
}
