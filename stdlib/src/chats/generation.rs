//! The tag `{% generation %}`, with which templates mark what a model has said: transformers adds it to Jinja. Here, the text
//! of a template is changed before it is compiled: the tag becomes a block with a filter of its own, in a scope of its own.

/// The filter that gets what stands between the tags.
pub(super) const FILTER: &str = "generation";

/// A template with the tags replaced, and how many there were.
pub(super) fn replaced(template: &str) -> (String, usize) {
    let mut text = String::with_capacity(template.len() + 64);
    let (mut rest, mut tags) = (template, 0);
    while let Some(at) = opening(rest) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let len = match &from.as_bytes()[..2] {
            b"{#" => from.find("#}").map_or(from.len(), |it| it + 2),
            b"{{" => end_of_code(from, "}}"),
            _ => block(from, &mut text, &mut tags),
        };
        // A tag that was replaced has been written already.
        if len > 0 {
            text.push_str(&from[..len]);
            rest = &from[len..];
        } else {
            rest = &from[end_of_code(from, "%}")..];
        }
    }
    text.push_str(rest);
    (text, tags)
}

/// Where the next expression, block or comment begins.
fn opening(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('{')?;
        if matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// How long a block is that is copied, with all that is `raw` in it; 0 where it was a tag, which is written as another one.
fn block(from: &str, to: &mut String, tags: &mut usize) -> usize {
    let end = end_of_code(from, "%}");
    let Some(inner) = from[..end].strip_prefix("{%").and_then(|it| it.strip_suffix("%}")) else {
        return end;
    };
    let [before, inner] = sign(inner, inner.chars().next(), |it, sign| it.strip_prefix(sign));
    let [after, inner] = sign(inner, inner.chars().next_back(), |it, sign| it.strip_suffix(sign));
    match inner.trim() {
        "generation" => {
            to.push_str(&format!("{{%{before} with %}}{{% filter {FILTER} {after}%}}"));
            *tags += 1;
            0
        }
        "endgeneration" => {
            to.push_str(&format!("{{%{before} endfilter %}}{{% endwith {after}%}}"));
            0
        }
        "raw" => end + end_of_raw(&from[end..]),
        _ => end,
    }
}

/// What says at an end of a block whether white space around it is kept, and what is left without it.
fn sign<'a>(
    inner: &'a str,
    at_end: Option<char>,
    without: impl Fn(&'a str, char) -> Option<&'a str>,
) -> [&'a str; 2] {
    let found = at_end.filter(|it| matches!(it, '-' | '+'));
    let Some(rest) = found.and_then(|it| without(inner, it)) else { return ["", inner] };
    [if found == Some('-') { "-" } else { "+" }, rest]
}

/// How long an expression or a block is, up to the sign that ends it, which may also stand in strings, and in objects.
fn end_of_code(from: &str, sign: &str) -> usize {
    let (mut quote, mut depth, mut at) = (None, 0_usize, 2);
    let bytes = from.as_bytes();
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(open), it) if open == it => quote = None,
            (Some(_), _) => {}
            (None, _) if depth == 0 && bytes[at..].starts_with(sign.as_bytes()) => return at + 2,
            (None, it @ (b'\'' | b'"')) => quote = Some(it),
            (None, b'{') => depth += 1,
            (None, b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Where what is written as it stands ends, with the tag behind it.
fn end_of_raw(text: &str) -> usize {
    let is_end = |from: &str| {
        let inner = from.split_once("%}").map_or("", |it| it.0);
        inner.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim() == "endraw"
    };
    let mut tags = text.match_indices("{%");
    let end = tags.find(|it| is_end(&text[it.0 + 2..]));
    end.map_or(text.len(), |it| it.0 + end_of_code(&text[it.0..], "%}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_a_block() {
        let begin = "{%- with %}{% filter generation %}";
        let end = "{% endfilter %}{% endwith -%}";
        assert_eq!(
            replaced("a {%- generation %}{{ b }}{%endgeneration-%}"),
            (format!("a {begin}{{{{ b }}}}{end}"), 1)
        );
        let same = [
            "",
            "{",
            "{%",
            "{{ '{% generation %}' }}",
            "{# {% generation %} #}",
            "{% raw %}{% generation %}{% endraw %}",
            "{%- raw -%} {% generation %} {%- endraw -%}",
            "{% raw %}{% generation %}",
            "{{ {'a': {'b': '}}'}} }}",
            "{% set generation = 1 %}",
            "{% if a == \"%}{% generation %}\" %}",
            "{# {{ #}",
        ];
        for it in same {
            assert_eq!(replaced(it), (it.to_owned(), 0));
        }
        let twice = replaced("{% raw %}{{{% endraw %}{%+ generation +%}{% generation%}");
        let all = "{%+ with %}{% filter generation +%}{% with %}{% filter generation %}";
        assert_eq!(twice, (format!("{{% raw %}}{{{{{{% endraw %}}{all}"), 2));
    }
}
