//! `draw_iou_crop`: a part of an image that some box overlaps enough.

use super::corners::{Corners, boxes, has_centre_in, of_part, overlap, sides};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws a random crop by its overlap with boxes: row, column, height and width.
    ///
    /// This is the crop of SSD (Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016), as torchvision's
    /// `RandomIoUCrop` draws it. One of `ious` is drawn first. Then up to `tries` parts are drawn: their height and width are
    /// fractions of the image's, uniform in `scale`, and their position is uniform. The first part with an aspect ratio
    /// (width to height) in `aspect` is taken that contains the centre of a box, and of such boxes one with an intersection
    /// over union with the part of at least the drawn number. If there is none, another of `ious` is drawn. 1 stands for the
    /// whole image, which is also the result if there are no boxes, or after 100 draws.
    ///
    /// `ssd_random_crop` uses it, with `keep_boxes(boxes, within: part, centre: true)` and `crop_boxes`.
    ///
    /// ```pipe
    /// range(2) |> map { part: draw_iou_crop([300, 400, 3], f32([[20, 30, 120, 150]])) }    # { part: i64[4] }
    /// ```
    "draw_iou_crop(shape: integer[r], boxes: f32[n, 4], ious: floats = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0], scale: interval = 0.3..1.0, aspect: interval = 0.5..2.0, tries: int = 40) random fails -> i64[4]",
    // Assumed: some twenty tries of four draws.
    cost: Cost::call(1_500.0),
    result: Some(result),
}

/// How often one of `ious` is drawn. Where the whole image is among the seven, a hundred draws without it occur once in
/// five million.
const ROUNDS: usize = 100;
/// Tries that a program can ask for.
const TRIES_MAX: i64 = 10_000;
/// The parameter of the numbers that are drawn from.
const IOUS: usize = 2;
const TRIES: usize = 5;

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    if ious(&applied.args[IOUS]).is_empty() {
        return Err("`ious` must have at least one number".to_owned());
    }
    match applied.int(TRIES) {
        Some(it) if !(1..=TRIES_MAX).contains(&it) => {
            Err(format!("`tries` must be from 1 to {TRIES_MAX}, found {it}"))
        }
        _ => Ok(Type::tensor(DType::I64, &[4])),
    }
}

fn ious(arg: &Arg) -> Vec<f64> {
    match arg {
        Arg::Int(it) => vec![*it as f64],
        Arg::Float(it) => vec![*it],
        Arg::List(all) => all.iter().flat_map(ious).collect(),
        _ => Vec::new(),
    }
}

/// What a part must fulfil.
struct Terms<'a> {
    ious: &'a [f64],
    scale: (f64, f64),
    aspect: (f64, f64),
    tries: usize,
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let ious = ious(&call.args[IOUS]);
    Ok(Kernel::draw(move |random, args, out| {
        let terms = Terms {
            ious: &ious,
            scale: args.interval(3),
            aspect: args.interval(4),
            tries: args.size(TRIES, TRIES_MAX as usize)?,
        };
        let sides = sides(&args.tensor(0));
        let part = boxes(&args.tensor(1), |all| Ok(drawn(sides, all, &terms, random)))?;
        out.tensor::<i64>(&[4])?.copy_from_slice(&part);
        Ok(())
    }))
}

fn drawn(sides: [i64; 2], boxes: &[Corners], terms: &Terms<'_>, random: &mut Philox) -> [i64; 4] {
    let whole = [0, 0, sides[0], sides[1]];
    if boxes.is_empty() {
        return whole;
    }
    for _ in 0..ROUNDS {
        let least = terms.ious[random.below(terms.ious.len() as u64) as usize];
        if least >= 1.0 {
            break;
        }
        for _ in 0..terms.tries {
            let part = proposed(sides, terms, random);
            if let Some(part) = part.filter(|it| fulfils(*it, boxes, least)) {
                return part;
            }
        }
    }
    whole
}

/// A part of the drawn size, unless its aspect ratio is another.
fn proposed([rows, columns]: [i64; 2], terms: &Terms<'_>, random: &mut Philox) -> Option<[i64; 4]> {
    let mut share =
        |side: i64, (low, high): (f64, f64)| (side as f64 * random.uniform(low, high)) as i64;
    let (width, height) = (share(columns, terms.scale), share(rows, terms.scale));
    let aspect = width as f64 / height as f64;
    let fits = (1..=columns).contains(&width) && (1..=rows).contains(&height);
    if !fits || aspect < terms.aspect.0 || aspect > terms.aspect.1 {
        return None;
    }
    let (x, y) = (share(columns - width, (0.0, 1.0)), share(rows - height, (0.0, 1.0)));
    Some([y, x, height, width])
}

/// Whether a box whose centre lies in the part overlaps with it by `least`.
fn fulfils(part: [i64; 4], boxes: &[Corners], least: f64) -> bool {
    let corners = of_part(part);
    let inside = boxes.iter().filter(|it| has_centre_in(it, corners));
    inside.map(|it| f64::from(overlap(it, &corners))).any(|it| it >= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDES: [i64; 2] = [300, 400];
    const BOXES: [Corners; 3] =
        [[20., 30., 120., 150.], [200., 40., 260., 90.], [150., 120., 390., 290.]];
    const IOUS: [f64; 7] = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0];
    const N: u64 = 100_000;
    /// The share of whole images, and of the other parts' numbers the mean and the standard deviation.
    const WHOLE: f64 = 0.191_3;
    const MOMENTS: [(f64, f64); 4] =
        [(54.220, 43.586), (94.057, 64.137), (212.575, 50.588), (250.961, 70.855)];

    fn terms(ious: &[f64]) -> Terms<'_> {
        Terms { ious, scale: (0.3, 1.0), aspect: (0.5, 2.0), tries: 40 }
    }

    /// Mean and standard deviation.
    fn moments(of: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let n = of.clone().count() as f64;
        let mean = of.clone().sum::<f64>() / n;
        (mean, (of.map(|it| (it - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    /// 100,000 draws of torchvision 0.29.2 with `torch.manual_seed(0)`:
    /// `v2.RandomIoUCrop().make_params([image, BoundingBoxes(BOXES, canvas_size=SIDES)])`. Each mean is of as many draws,
    /// so two of them differ by at most five times its standard deviation, in all of so few.
    #[test]
    fn statistics_are_those_of_torchvision() {
        let parts: Vec<[i64; 4]> = (0..N)
            .map(|id| drawn(SIDES, &BOXES, &terms(&IOUS), &mut Philox::new(5, id, 0)))
            .collect();
        let is_whole = |it: &&[i64; 4]| **it == [0, 0, 300, 400];
        let whole = parts.iter().filter(is_whole).count() as f64 / N as f64;
        let sure = |deviation: f64| 5.0 * deviation * (2.0 / N as f64).sqrt();
        assert!((whole - WHOLE).abs() < sure((WHOLE * (1.0 - WHOLE)).sqrt()), "{whole}");
        for (at, (mean, deviation)) in MOMENTS.into_iter().enumerate() {
            let found = moments(parts.iter().filter(|it| !is_whole(it)).map(|it| it[at] as f64));
            assert!((found.0 - mean).abs() < sure(deviation) * 1.2, "{at}: {found:?}");
            assert!((found.1 / deviation - 1.0).abs() < 0.02, "{at}: {found:?}");
        }
    }

    /// What the crop is for, by integer pixels: the share of its own and of the box's pixels that both have.
    #[test]
    fn each_crop_fulfils_its_iou() {
        for least in IOUS.into_iter().filter(|it| *it < 1.0) {
            for id in 0..300 {
                let part = drawn(SIDES, &BOXES, &terms(&[least]), &mut Philox::new(9, id, 1));
                let [y, x, height, width] = part;
                assert!(y >= 0 && x >= 0 && y + height <= 300 && x + width <= 400);
                if part == [0, 0, 300, 400] {
                    continue;
                }
                let within = |side: i64, of: f64| (0.299..=1.0).contains(&(side as f64 / of));
                assert!(within(height, 301.0) && within(width, 401.0));
                assert!((0.5..=2.0).contains(&(width as f64 / height as f64)));
                let fulfils = BOXES.iter().any(|it| pixels(part, it) >= least - 1e-6);
                assert!(fulfils, "{part:?} {least}");
            }
        }
    }

    /// The IoU of a part and a box of whole pixels whose centre lies in it, pixel by pixel.
    fn pixels([y, x, height, width]: [i64; 4], it: &Corners) -> f64 {
        let [x0, y0, x1, y1] = it.map(|it| it as i64);
        let centre = ((x0 + x1) as f64 / 2.0, (y0 + y1) as f64 / 2.0);
        let is_in = x as f64 <= centre.0 && centre.0 <= (x + width) as f64 && y as f64 <= centre.1;
        if !is_in || centre.1 > (y + height) as f64 {
            return -1.0;
        }
        let rows = (y..y + height).filter(|it| (y0..y1).contains(it)).count() as f64;
        let columns = (x..x + width).filter(|it| (x0..x1).contains(it)).count() as f64;
        let all = (height * width) as f64 + ((x1 - x0) * (y1 - y0)) as f64;
        rows * columns / (all - rows * columns)
    }

    #[test]
    fn without_a_box_it_is_the_whole_image() {
        let mut random = Philox::new(1, 2, 3);
        assert_eq!(drawn(SIDES, &[], &terms(&IOUS), &mut random), [0, 0, 300, 400]);
        // No part overlaps with what lies outside, nor is there one of an image without pixels.
        let far = [[900_f32, 900., 950., 950.]];
        assert_eq!(drawn(SIDES, &far, &terms(&[0.5]), &mut random), [0, 0, 300, 400]);
        assert_eq!(drawn([0, 7], &BOXES, &terms(&[0.0]), &mut random), [0, 0, 0, 7]);
    }
}
