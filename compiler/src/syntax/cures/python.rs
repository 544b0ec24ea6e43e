//! What people write who come from Python.

use super::super::origin::Edit;
use super::super::pieces::ends_operand;
use super::super::tokens::TokenKind;
use super::{Cure, Slip};
use crate::errors::syntax as errors;
use crate::migration::{self, Change, Row};

/// What may stand before an expression of any strength.
static WEAK: [&str; 8] = ["|>", ",", "=", ":", "map", "flat_map", "with", "where"];

/// `def f(x): return x` for `fn f(x) = x`.
pub(super) fn def(slip: &Slip<'_>) -> Option<Cure> {
    if slip.word(0) != "def" || slip.at > 1 {
        return None;
    }
    let colon = slip.on_to(1, &[":"]);
    let end = if slip.word(colon + 1) == "return" { colon + 1 } else { colon };
    let header = format!("fn {} =", slip.says(1..colon));
    let message = errors::def(&header, slip.span(0));
    // What has more than one statement has no form here that a machine would find.
    let stated = slip.on_to((end + 1).min(slip.tokens.len()), &["=", "return", ":"]);
    if slip.word(colon) != ":" || stated < slip.tokens.len() {
        return Cure::told(message);
    }
    Cure::offered(message, Edit::new(slip.reach(0..end + 1), header))
}

/// `from common import train` for `use train from "common.pipe"`.
pub(super) fn import(slip: &Slip<'_>) -> Option<Cure> {
    let first = slip.word(0);
    if !matches!(first, "from" | "import") || slip.at > 1 {
        return None;
    }
    let names = slip.on_to(1, &["import"]);
    let whole = slip.reach(0..slip.tokens.len());
    if first == "import" || names + 1 >= slip.tokens.len() {
        return Cure::told(errors::import(None, slip.origin.span(whole)));
    }
    let file = slip.says(1..names).replace('.', "/");
    let meant = format!("use {} from \"{file}.pipe\"", slip.says(names + 1..slip.tokens.len()));
    Cure::offered(
        errors::import(Some(&meant), slip.origin.span(whole.clone())),
        Edit::new(whole, meant),
    )
}

/// `x = 3  // three of them`.
pub(super) fn slash_comment(slip: &Slip<'_>) -> Option<Cure> {
    let stop = slip.tokens.get(slip.at).map_or(slip.text.len(), |it| it.start);
    let divides = |at: &usize| {
        slip.word(*at) == "//" && !slip.text[slip.bytes(*at).start..stop].contains('\n')
    };
    let at = (0..=slip.at).find(divides)?;
    Cure::offered(errors::slash_comment(slip.span(at)), Edit::new(slip.bytes(at), "#"))
}

/// `p=0.5` in a call, `y = x` in a record.
pub(super) fn equals(slip: &Slip<'_>) -> Option<Cure> {
    let open = slip.open()?;
    let name = slip.at.checked_sub(1).filter(|it| slip.kind(*it) == Some(TokenKind::Word))?;
    if slip.here() != "=" || slip.at + 1 >= slip.tokens.len() {
        return None;
    }
    let at = slip.origin.span(slip.reach(name..slip.at + 1));
    let word = slip.word(name);
    let message = if slip.word(open) == "{" {
        errors::equals_field(word, at)
    } else {
        errors::equals_argument(word, at)
    };
    let change = slip.bytes(name).start..slip.bytes(slip.at + 1).start;
    Cure::offered(message, Edit::new(change, format!("{word}: ")))
}

/// `a < b < c`.
pub(super) fn comparison_chain(slip: &Slip<'_>) -> Option<Cure> {
    static SIGNS: [&str; 7] = ["==", "!=", "<", "<=", ">", ">=", "in"];
    let compares =
        SIGNS.contains(&slip.here()) || slip.here() == "not" && slip.word(slip.at + 1) == "in";
    let stops: Vec<&str> = [&SIGNS[..], &WEAK[..], &["and", "or", "if", "then", "else"]].concat();
    let middle = slip.back_to(slip.at, &stops);
    let first = middle.checked_sub(1).filter(|it| SIGNS.contains(&slip.word(*it)))?;
    if !compares || first + 1 >= slip.at {
        return None;
    }
    let between = slip.says(middle..slip.at);
    let here = slip.bytes(slip.at).start;
    let message = errors::comparison_chain(between, slip.span(slip.at));
    Cure::offered(message, Edit::new(here..here, format!("and {between} ")))
}

/// `lambda x: x + 1`.
pub(super) fn lambda(slip: &Slip<'_>) -> Option<Cure> {
    let given_to = slip.open().and_then(|it| it.checked_sub(1)).map(|it| slip.word(it));
    if slip.here() == "=>" {
        return Cure::told(errors::lambda(given_to, slip.span(slip.at)));
    }
    let at =
        [slip.at.checked_sub(1)?, slip.at].into_iter().find(|it| slip.word(*it) == "lambda")?;
    (slip.kind(at + 1) == Some(TokenKind::Word))
        .then(|| Cure::told(errors::lambda(given_to, slip.span(at))))?
}

/// Whether the bracket `open` holds a lambda alone: `(lambda x: …`, `(x => …`.
fn lambda_at(slip: &Slip<'_>, open: usize) -> bool {
    slip.word(open + 1) == "lambda" && slip.kind(open + 2) == Some(TokenKind::Word)
        || slip.word(open + 2) == "=>"
}

/// `"{row["name"]}"`: the text ends at the second quote, which is not what anybody meant.
pub(super) fn quoted_hole(slip: &Slip<'_>) -> Option<Cure> {
    let first = slip.at.checked_sub(1).filter(|it| opens_hole(slip.word(*it)))?;
    let mut last = first;
    // Up to the text that closes the last hole: each one between closes a hole and opens the next.
    loop {
        let at =
            (last + 1..slip.tokens.len()).find(|it| slip.kind(*it) == Some(TokenKind::Text))?;
        let closing = slip.word(at);
        if !closing.starts_with('"') || !closing.contains('}') {
            return None;
        }
        last = at;
        if !opens_hole(closing) {
            break;
        }
    }
    let whole = slip.reach(first..last + 1);
    let text = &slip.text[whole.clone()];
    let hole = text.find('{').map(|it| &text[it..])?;
    let hole = &hole[..=hole.find('}')?];
    (!text.contains('\n')).then_some(())?;
    Cure::guessed(
        errors::quoted_hole(hole, slip.origin.span(whole.clone())),
        Edit::new(whole, "\"\""),
    )
}

/// Whether a text ends within `{` and a name.
fn opens_hole(text: &str) -> bool {
    let inner = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let hole = inner.and_then(|it| it.rfind('{').map(|at| &it[at + 1..]));
    hole.is_some_and(|it| {
        !it.contains('}') && it.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
    })
}

/// `&&`, `||`, `|`.
pub(super) fn signs(slip: &Slip<'_>) -> Option<Cure> {
    let instead = |text: &str| Edit::new(slip.bytes(slip.at), text);
    match slip.here() {
        "&&" => Cure::offered(errors::ampersands(slip.span(slip.at)), instead("and")),
        "||" => Cure::offered(errors::bars(slip.span(slip.at)), instead("or")),
        "|" => Cure::offered(errors::single_bar(slip.span(slip.at)), instead("|>")),
        _ => None,
    }
}

/// `!x`.
pub(super) fn exclamation(slip: &Slip<'_>) -> Option<Cure> {
    let after = slip.at + 1;
    if slip.here() != "!" || after >= slip.tokens.len() {
        return None;
    }
    let change = slip.bytes(slip.at).start..slip.bytes(after).start;
    Cure::offered(errors::exclamation(slip.span(slip.at)), Edit::new(change, "not "))
}

/// `f"{x}"`, `r'\d'`.
pub(super) fn text_prefix(slip: &Slip<'_>) -> Option<Cure> {
    let before = slip.at.checked_sub(1).filter(|it| slip.touch(*it))?;
    let prefix = slip.word(before);
    let known = prefix.len() <= 2 && prefix.chars().all(|it| "fFrRbBuU".contains(it));
    if slip.kind(slip.at) != Some(TokenKind::Text) || !known {
        return None;
    }
    let change = slip.reach(before..slip.at + 1);
    let message = errors::text_prefix(prefix, slip.here(), slip.origin.span(change.clone()));
    Cure::offered(message, Edit::new(change, slip.here()))
}

/// `.5`.
pub(super) fn bare_point(slip: &Slip<'_>) -> Option<Cure> {
    let point = [Some(slip.at), slip.at.checked_sub(1)]
        .into_iter()
        .flatten()
        .find(|it| slip.word(*it) == ".")?;
    if slip.kind(point + 1) != Some(TokenKind::Number) || !slip.touch(point) {
        return None;
    }
    let change = slip.reach(point..point + 2);
    let meant = format!("0.{}", slip.word(point + 1));
    Cure::offered(
        errors::bare_point(&meant, slip.origin.span(change.clone())),
        Edit::new(change, meant),
    )
}

/// `1.`.
pub(super) fn trailing_point(slip: &Slip<'_>) -> Option<Cure> {
    let number = slip.at.checked_sub(2).filter(|it| slip.kind(*it) == Some(TokenKind::Number))?;
    if slip.back(1) != "." || !slip.touch(number) {
        return None;
    }
    let change = slip.reach(number..slip.at);
    let meant = format!("{}.0", slip.word(number));
    Cure::offered(
        errors::bare_point(&meant, slip.origin.span(change.clone())),
        Edit::new(change, meant),
    )
}

/// `{ "image": x }`.
pub(super) fn quoted_field(slip: &Slip<'_>) -> Option<Cure> {
    let open = slip.open()?;
    if slip.word(open) != "{"
        || slip.kind(slip.at) != Some(TokenKind::Text)
        || slip.word(slip.at + 1) != ":"
    {
        return None;
    }
    let name = slip.here().trim_matches(['"', '\'']);
    let named = name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
        && name.starts_with(|it: char| !it.is_ascii_digit());
    let message = errors::quoted_field(named.then_some(name), slip.span(slip.at));
    match named {
        true => Cure::offered(message, Edit::new(slip.bytes(slip.at), name)),
        false => Cure::guessed(message, Edit::new(slip.bytes(slip.at), "field")),
    }
}

/// `stream.map(…)`.
pub(super) fn method_stage(slip: &Slip<'_>) -> Option<Cure> {
    let point = slip.at.checked_sub(1).filter(|it| slip.word(*it) == ".")?;
    if !matches!(slip.here(), "map" | "flat_map" | "with" | "where")
        || slip.word(slip.at + 1) != "("
    {
        return None;
    }
    if lambda_at(slip, slip.at + 1) {
        return Cure::told(errors::method_lambda(slip.here(), slip.span(slip.at)));
    }
    let meant = format!(" |> {} ", slip.here());
    let message = errors::method_call(slip.here(), meant.trim(), slip.span(slip.at));
    Cure::offered(message, Edit::new(slip.reach(point..slip.at + 1), meant.trim_end()))
}

/// `tf.data.Dataset.range(9)`, `fn.readers.file(…)`, `np.float32(x)`.
pub(super) fn module_call(slip: &Slip<'_>) -> Option<Cure> {
    // Within a value the grammar stops at the bracket behind the names, behind `|>` at the first point, and
    // at once where the module is called `fn`.
    let mut base = if slip.here() == "fn" { slip.at } else { slip.at.checked_sub(1)? };
    while base >= 2 && slip.word(base - 1) == "." {
        base -= 2;
    }
    let mut last = base;
    while slip.word(last + 1) == "." && slip.kind(last + 2) == Some(TokenKind::Word) {
        last += 2;
    }
    if last == base || !migration::is_module(slip.word(base)) || slip.word(last + 1) != "(" {
        return None;
    }
    let change = slip.reach(base..last + 1);
    let (dotted, at) = (slip.says(base..last + 1), slip.origin.span(change.clone()));
    let name = slip.word(last);
    let ours = match migration::of_name(dotted) {
        Some(row) => match row.change {
            Change::Renamed(ours) => ours,
            // What ours is like is for a person to say: there is no way to read on.
            _ => return Cure::told(errors::module_call(dotted, row.help, at)),
        },
        None => migration::of_dtype(name).unwrap_or(name),
    };
    let message = errors::module_call(dotted, &format!("write `{ours}(…`"), at);
    Cure::offered(message, Edit::new(change, ours))
}

/// `image.resize(8, 8)`.
pub(super) fn method_call(slip: &Slip<'_>) -> Option<Cure> {
    // Behind a stage the grammar stops at the point, behind a value at the bracket.
    let behind = if slip.here() == "(" { slip.at.checked_sub(2)? } else { slip.at };
    let point = Some(behind).filter(|it| slip.word(*it) == "." && slip.word(it + 2) == "(")?;
    let (name, open) = (slip.word(point + 1), point + 2);
    if lambda_at(slip, open) {
        return Cure::told(errors::method_lambda(name, slip.span(point + 1)));
    }
    let base = postfixed(slip, point);
    let row = migration::of_name(name);
    let told = |row: Row| errors::foreign_method(name, row.help, slip.span(point + 1));
    let ours = match row.map(|it| (it, it.change)) {
        None => name,
        Some((_, Change::Renamed(ours))) => ours,
        Some((row, Change::Gone)) => {
            let close = slip.on_to(open + 1, &[]);
            return Cure::offered(told(row), Edit::new(slip.reach(point..close + 1), ""));
        }
        Some((row, _)) => return Cure::told(told(row)),
    };
    let message = |meant: &str| match row {
        Some(row) => told(row),
        None => errors::method_call(name, meant, slip.span(point + 1)),
    };

    let before = base.checked_sub(1).map_or("", |it| slip.word(it));
    let chained = slip.word(base) == "(" && matches!(before, "map" | "flat_map" | "with" | "where");
    let after = slip.word(slip.on_to(open + 1, &[]) + 1);
    let alone = matches!(before, "" | "(" | "[" | "{" | "," | "=" | ":" | "|>")
        && matches!(after, "" | ")" | "]" | "}" | "," | "|>" | "else" | ".");
    if chained || alone {
        let meant = format!(" |> {ours}(");
        return Cure::offered(message(&meant), Edit::new(slip.reach(point..open + 1), &meant));
    }
    let comma = if slip.word(open + 1) == ")" { "" } else { ", " };
    let meant = format!("{ours}({}{comma}", slip.says(base..point));
    Cure::offered(message(&meant), Edit::new(slip.reach(base..open + 1), &meant))
}

/// The first token of the value that ends before `end`: a word with its brackets and fields.
fn postfixed(slip: &Slip<'_>, end: usize) -> usize {
    let mut at = end;
    while let Some(last) = at.checked_sub(1) {
        at = match slip.word(last) {
            ")" | "]" | "}" => slip.back_to(last, &[]).saturating_sub(1),
            _ if ends_operand(slip.text, &slip.tokens[last]) => last,
            _ => break,
        };
        let called = matches!(slip.word(at), "(" | "[")
            && at > 0
            && slip.kind(at - 1) == Some(TokenKind::Word);
        let indexed =
            slip.word(at) == "[" && at > 0 && ends_operand(slip.text, &slip.tokens[at - 1]);
        match at.checked_sub(1).map(|it| slip.word(it)) {
            Some(".") => at -= 1,
            _ if called || indexed => {}
            _ => break,
        }
    }
    at
}

/// `[x for x in xs if c]`.
pub(super) fn comprehension_filter(slip: &Slip<'_>) -> Option<Cure> {
    let open = slip.open()?;
    if slip.here() != "if" || slip.word(open) != "[" {
        return None;
    }
    slip.last_in(open + 1..slip.at, "for")?;
    let end = slip.on_to(slip.at, &[]);
    let edit = Edit::new(slip.reach(slip.at..end), "");
    Cure::guessed(errors::comprehension_filter(slip.span(slip.at)), edit)
}

/// `x if c else y`.
pub(super) fn choice(slip: &Slip<'_>) -> Option<Cure> {
    if slip.here() != "if"
        || !slip.at.checked_sub(1).is_some_and(|it| ends_operand(slip.text, &slip.tokens[it]))
    {
        return None;
    }
    let start = slip.back_to(slip.at, &WEAK);
    let other = slip.on_to(slip.at, &["else", ",", "|>"]);
    let (value, cond) = (slip.says(start..slip.at), slip.says(slip.at + 1..other));
    if value.is_empty() || cond.is_empty() {
        return None;
    }
    if slip.word(other) != "else" {
        return Cure::told(errors::missing_else(slip.span(slip.at)));
    }
    let head = format!("if {cond} then {value} else");
    let at = slip.origin.span(slip.reach(start..other + 1));
    Cure::offered(
        errors::python_if(&format!("{head} …"), at),
        Edit::new(slip.reach(start..other + 1), head),
    )
}

/// `if c: a else: b`, `c ? a : b`.
pub(super) fn choice_signs(slip: &Slip<'_>) -> Option<Cure> {
    let message = |meant: &str| errors::python_if(meant, slip.span(slip.at));
    if slip.here() == "?" {
        return Cure::told(message("if c then a else b"));
    }
    let start = slip.back_to(slip.at, &[",", "|>", "="]);
    let choice = slip.last_in(start..slip.at, "if").filter(|_| slip.here() == ":")?;
    let (meant, sign) = match slip.back(1) {
        "else" => ("else", ""),
        _ if slip.last_in(choice..slip.at, "then").is_none() => ("then", " then"),
        _ => return None,
    };
    Cure::offered(message(meant), Edit::new(slip.bytes(slip.at), sign))
}

/// `x is None`.
pub(super) fn is_none(slip: &Slip<'_>) -> Option<Cure> {
    let none = if slip.word(slip.at + 1) == "not" { slip.at + 2 } else { slip.at + 1 };
    let told = slip.here() == "is" && slip.word(none) == "None";
    told.then(|| Cure::told(errors::none(slip.span(none))))?
}

/// `x[::2]`.
pub(super) fn slice_step(slip: &Slip<'_>) -> Option<Cure> {
    let open = slip.open().filter(|it| slip.word(*it) == "[" && *it > 0)?;
    let start = slip.back_to(slip.at, &[","]);
    if slip.here() != ":" || !ends_operand(slip.text, &slip.tokens[open - 1]) {
        return None;
    }
    slip.last_in(start..slip.at, ":")?;
    let end = slip.on_to(slip.at, &[","]);
    let change = slip.reach(slip.at..end);
    Cure::offered(errors::slice_step(slip.origin.span(change.clone())), Edit::new(change, ""))
}

/// `(224, 224)`.
pub(super) fn tuple(slip: &Slip<'_>) -> Option<Cure> {
    let open = slip.open().filter(|it| slip.word(*it) == "(")?;
    if !matches!(slip.here(), "," | ")") {
        return None;
    }
    let close = slip.on_to(slip.at, &[]);
    let change = slip.reach(open..close + 1);
    let meant = format!("[{}]", slip.says(open + 1..close));
    Cure::offered(errors::tuple(&meant, slip.origin.span(change.clone())), Edit::new(change, meant))
}

/// `len(x) in 1:256`.
pub(super) fn colon_interval(slip: &Slip<'_>) -> Option<Cure> {
    let ends = |at: usize| ends_operand(slip.text, &slip.tokens[at]);
    if slip.here() != ":" || !slip.at.checked_sub(1).is_some_and(ends) {
        return None;
    }
    let after = slip.tokens.get(slip.at + 1)?;
    let change = slip.bytes(slip.at - 1).end..after.start;
    Cure::offered(errors::colon_interval(slip.span(slip.at)), Edit::new(change, ".."))
}
