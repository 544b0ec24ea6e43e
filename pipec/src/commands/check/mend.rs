//! `pipec check --fix`: writes what the messages say should be written.

use driver::{Loaded, Reach};
use plan::{Diagnostic, FileId, Fix};
use std::path::Path;

/// Rounds: what one mends may show what stood behind it.
const ROUNDS_MAX: usize = 8;

/// The text with all that can be mended, and how many places that were; none where nothing can be.
pub(super) fn mended(
    (path, reach): (&Path, Reach),
    text: &str,
    look: &dyn Fn(&Loaded) -> Vec<Diagnostic>,
) -> Option<(String, u64)> {
    let (mut text, mut n_mended) = (text.to_owned(), 0);
    for _ in 0..ROUNDS_MAX {
        let found = look(&Loaded::from_text_within(path, text.clone(), reach));
        let mut fixes: Vec<&Fix> = found.iter().filter_map(|it| it.fix.as_ref()).collect();
        fixes.retain(|it| {
            it.span.file == FileId::default() && it.span.text(&text) != it.replacement
        });
        fixes.sort_by_key(|it| (it.span.start, it.span.end));
        fixes.dedup();
        if fixes.is_empty() {
            break;
        }
        let mut end = usize::MAX;
        let mut mended = text.clone();
        // From the last to the first, so that each stands where it stood; of those that overlap one.
        for fix in fixes.into_iter().rev().filter(|it| text.get(it.span.range()).is_some()) {
            if fix.span.range().end <= end {
                mended.replace_range(fix.span.range(), &fix.replacement);
                (end, n_mended) = (fix.span.range().start, n_mended + 1);
            }
        }
        text = mended;
    }
    (n_mended > 0).then_some((text, n_mended))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(loaded: &Loaded) -> Vec<Diagnostic> {
        let mut found = driver::check(loaded, &driver::Settings::default());
        found.extend(driver::lint(loaded, &driver::Settings::default()));
        found
    }

    fn text(of: &str) -> Option<String> {
        mended((Path::new("mended.pipe"), Reach::Project), of, &look).map(|it| it.0)
    }

    #[test]
    fn what_can_be_mended_is() {
        let broken = "edition 2026\nconst N = 3\n\npipeline p = range(9) |> shufle |> map { class: i } |> batch(3)\n";
        let fine = "edition 2026\n\npipeline p = range(9) |> shuffle |> map { label: i } |> batch(3, tail: drop)\n";
        assert_eq!(text(broken).as_deref(), Some(fine));
        assert_eq!(text(fine), None);
    }

    #[test]
    fn a_shuffle_moves_before_what_decodes() {
        let late = "pipeline p(source) =\n    source\n    |> with { image: decode_jpeg(bytes) }\n    \
                    |> shuffle(window: 100)\n    |> map { image }\n";
        let early = "pipeline p(source) =\n    source\n    |> shuffle(window: 100)\n    \
                     |> with { image: decode_jpeg(bytes) }\n    |> map { image }\n";
        assert_eq!(text(late).as_deref(), Some(early));
    }
}
