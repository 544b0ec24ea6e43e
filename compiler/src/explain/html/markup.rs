//! Text as HTML and as XML: every tag is closed, and nothing in a text is taken for one.

/// A text as it stands between tags and in quotes; what nobody would see, or XML cannot hold, as its number.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push(c),
            c if plan::is_hidden(c) || c.is_control() => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A sentence whose names stand between backticks.
pub(super) fn prose(text: &str) -> String {
    let mut html = String::new();
    for (i, part) in text.split('`').enumerate() {
        match i % 2 {
            0 => html += &escaped(part),
            _ => html += &format!("<code>{}</code>", escaped(part)),
        }
    }
    html
}

/// An element around `inner`, which is markup already.
pub(super) fn element(tag: &str, class: &str, inner: &str) -> String {
    match class {
        "" => format!("<{tag}>{inner}</{tag}>\n"),
        class => format!("<{tag} class=\"{class}\">{inner}</{tag}>\n"),
    }
}

/// A drawing as wide as there is room, `width` by `height` in its own measure.
pub(super) fn svg(label: &str, (width, height): (f64, f64), inner: &str) -> String {
    let label = escaped(label);
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{label}\">\n\
         {inner}</svg>\n"
    )
}

/// A line of text in a drawing, from `at` on.
pub(super) fn label(class: &str, (x, y): (f64, f64), text: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escaped(text))
}

/// A straight line in a drawing.
pub(super) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    let ((x1, y1), (x2, y2)) = (from, to);
    format!(
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
    )
}

/// A box in a drawing, with a text that is shown where one points at it.
pub(super) fn rect(
    class: &str,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    hint: &str,
) -> String {
    let hint = match hint {
        "" => String::new(),
        hint => format!("<title>{}</title>", escaped(hint)),
    };
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" rx=\"3\">{hint}</rect>\n"
    )
}

/// The beginning of a text, so that it takes `chars` characters at most.
pub(super) fn clipped(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    text.chars().take(chars.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_markup() {
        assert_eq!(escaped("a<b>&\"'\u{0}"), "a&lt;b&gt;&amp;&quot;&#39;\\u{0}");
        assert_eq!(escaped("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(prose("`a<b` is"), "<code>a&lt;b</code> is");
        assert_eq!(clipped("abcdef", 4), "abc…");
    }
}
