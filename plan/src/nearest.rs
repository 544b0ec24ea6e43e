//! Which name was probably meant: what "did you mean" says, in messages about programs, files and steps.

/// Names longer than this are never compared: nobody misspells them, and comparing takes their product.
const LONGEST: usize = 64;

/// The one of `names` that was probably meant by `wanted`, if one is near enough.
#[must_use]
pub fn nearest<'n>(wanted: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = names.iter().filter_map(|name| Some((unlike(wanted, name)?, *name)));
    near.min().map(|(_, name)| name)
}

/// How unlike two different names are, in letters; nothing where they are too far apart for a slip.
///
/// Words are told apart at `_`. What both names begin or end with is left out, so that a long common part
/// lends no likeness to what differs: `random_erasing` is not `random_sign`. Of what is left a letter may
/// be wrong, and another one for every four letters more.
#[must_use]
pub fn unlike(wanted: &str, name: &str) -> Option<usize> {
    let (written, meant) = (wanted.to_lowercase(), name.to_lowercase());
    if wanted == name || written.chars().count().max(meant.chars().count()) > LONGEST {
        return None;
    }
    if joined(&written) == joined(&meant) || sorted(&written) == sorted(&meant) {
        return Some(0);
    }
    let (a, b) = differing(&written, &meant);
    let length = a.chars().count();
    // Nearly every two short names are a letter apart; who misspells one gets its first letter right.
    let (short, start) =
        if length <= 2 { (true, (&a, &b)) } else { (written.len() <= 4, (&written, &meant)) };
    if short && start.0.chars().next() != start.1.chars().next() {
        return None;
    }
    let allowed = (length / 4).max(1);
    Some(strsim::osa_distance(&a, &b)).filter(|it| *it <= allowed)
}

/// The letters alone: `CenterCrop` is `center_crop`.
fn joined(name: &str) -> String {
    name.replace(['_', '-'], "")
}

/// The words in order: `crop_center` is `center_crop`.
fn sorted(name: &str) -> Vec<&str> {
    let mut words: Vec<&str> = name.split('_').collect();
    words.sort_unstable();
    words
}

/// Both names without the words that both begin and end with.
fn differing(a: &str, b: &str) -> (String, String) {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('_').collect(), b.split('_').collect());
    let shorter = a.len().min(b.len());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let ends = a.iter().rev().zip(b.iter().rev());
    let tail = ends.take_while(|(a, b)| a == b).count().min(shorter - head);
    let rest = |words: &[&str]| words[head..words.len() - tail].join("_");
    (rest(&a), rest(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, names: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(wanted, names), expected, "{wanted}");
    }

    #[test]
    fn slips_are_found() {
        check("shufle", &["shuffle", "take"], Some("shuffle"));
        check("bacth", &["batch", "match"], Some("batch"));
        check("kep", &["drop", "keep", "mask"], Some("keep"));
        check("dta", &["data", "size"], Some("data"));
        check("flip_xx", &["flip_x", "flip_y"], Some("flip_x"));
        check(
            "random_resized_corp",
            &["random_crop", "random_resized_crop"],
            Some("random_resized_crop"),
        );
        check("normlaise", &["normal", "normalize"], Some("normalize"));
    }

    #[test]
    fn other_spellings_are_the_same_name() {
        check("CenterCrop", &["center_crop", "crop"], Some("center_crop"));
        check("crop_center", &["center_crop", "crop"], Some("center_crop"));
        check("gray_scale", &["grayscale"], Some("grayscale"));
        check("Train", &["test", "train"], Some("train"));
    }

    #[test]
    fn what_is_far_is_not_suggested() {
        check("resize", &["normalize", "resize"], None);
        check("filter", &["files", "flip_x"], None);
        check("random_erasing", &["random_sign", "random_index", "random_crop"], None);
        check("flip_z", &["flip_x", "flip_y"], None);
        check("x", &["y", "z"], None);
        check("random_solarize", &["random_resized_crop", "random_gaussian_blur"], None);
        check("prefetch", &["pad", "permutation"], None);
    }
}
