//! A part of a picture of random size, proportion and place: what `draw_resized_crop` and `draw_erase` share.

use runtime::Philox;

/// How often a part is drawn.
const TRIES: usize = 10;

/// The squares of height and width of a part of so many pixels and this proportion.
type SidesOf = fn(f64, f64) -> [f64; 2];

/// Draws a part of a picture with these sides: row, column, height and width. Its share of the area is uniform in `area`,
/// its proportion log-uniform in `aspect`. None after ten of which none `fits`; one that does is no larger than the picture.
pub(super) fn drawn_part(
    sides: [i64; 2],
    (area, aspect): ((f64, f64), (f64, f64)),
    sides_of: SidesOf,
    fits: impl Fn([i64; 2]) -> bool,
    random: &mut Philox,
) -> Option<[i64; 4]> {
    let logs = (libm::log(aspect.0), libm::log(aspect.1));
    (0..TRIES).find_map(|_| {
        let share = random.uniform(area.0, area.1);
        let proportion = libm::exp(random.uniform(logs.0, logs.1));
        let [height, width] = sized(sides, share, proportion, sides_of);
        fits([height, width]).then(|| {
            let mut start = |side: i64, size: i64| random.below((side - size) as u64 + 1) as i64;
            [start(sides[0], height), start(sides[1], width), height, width]
        })
    })
}

/// Height and width of a part of this share of the area and this proportion.
pub(super) fn sized(sides: [i64; 2], share: f64, proportion: f64, sides_of: SidesOf) -> [i64; 2] {
    let area = sides[0] as f64 * sides[1] as f64 * share;
    sides_of(area, proportion).map(|it| it.max(0.0).sqrt().round_ties_even() as i64)
}
