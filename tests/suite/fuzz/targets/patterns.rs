//! Patterns of paths: what a pattern takes is what its alternatives take, each written out by itself.

use stdlib::listing::{Pattern, natural_order};

/// Paths that are held against a pattern.
const PATHS_MAX: usize = 12;
/// Patterns that one is written out as.
const ALTERNATIVES_MAX: usize = 40;

/// Reads the first line as a pattern and holds the others against it.
pub(crate) fn patterns(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let wanted = lines.next().unwrap_or_default();
    let mut paths: Vec<&str> = lines.take(PATHS_MAX).collect();
    for path in &paths {
        literal(path);
    }
    match Pattern::parse(wanted) {
        Ok(pattern) => {
            assert_eq!(pattern.text(), wanted);
            paths.push(wanted);
            let alternatives = alternatives(wanted);
            for path in &paths {
                let taken = pattern.matches(path);
                if let Some(all) = &alternatives {
                    assert_eq!(
                        taken,
                        all.iter().any(|it| it.matches(path)),
                        "`{wanted}`, `{path}`"
                    );
                }
            }
        }
        Err(error) => {
            assert!(wanted.get(error.at..).is_some(), "{} of `{wanted}`: {error}", error.at);
        }
    }
    // It panics where the order is none.
    paths.sort_by(|a, b| natural_order(a, b));
}

/// A path whose every character is escaped is a pattern of itself, and of no other.
fn literal(path: &str) {
    let escaped = |c: char| if c == '/' { "/".to_owned() } else { format!("\\{c}") };
    let Ok(pattern) = Pattern::parse(&path.chars().map(escaped).collect::<String>()) else {
        return;
    };
    let plain = path.split('/').skip(usize::from(path.starts_with('/')));
    if plain.clone().all(|it| !matches!(it, "" | ".")) && path.len() < 1000 {
        assert!(pattern.matches(path), "`{path}` by itself");
    }
    assert!(
        !pattern.matches(&format!("{path}x")) && !pattern.matches(&format!("x{path}")),
        "`{path}`"
    );
}

/// What a pattern stands for, with one of its outermost sets written out; none where it has no set, or an
/// alternative by itself is no pattern.
fn alternatives(text: &str) -> Option<Vec<Pattern>> {
    let (mut open, mut depth, mut cuts) = (None, 0, Vec::new());
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => _ = characters.next(),
            // What stands in brackets may be a brace.
            '[' => return None,
            '{' => {
                depth += 1;
                open = open.or(Some(at));
            }
            ',' if depth == 1 => cuts.push(at),
            '}' => {
                depth -= 1;
                if depth == 0 {
                    cuts.push(at);
                    break;
                }
            }
            _ => {}
        }
    }
    let (open, end) = (open?, *cuts.last()?);
    if cuts.len() < 2 || cuts.len() > ALTERNATIVES_MAX {
        return None;
    }
    let mut from = open + 1;
    let each = cuts.into_iter().map(|to| {
        let one = format!("{}{}{}", &text[..open], &text[from..to], &text[end + 1..]);
        from = to + 1;
        // Two stars that come to stand beside each other are another wildcard.
        let is_same = one.matches("**").count() <= text.matches("**").count();
        if is_same { Pattern::parse(&one).ok() } else { None }
    });
    each.collect()
}

/// Patterns, each with paths that it takes or nearly takes.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let all = [
        "data/**/*.{jpg,jpeg}\ndata/a/b.JPG\ndata/x.jpeg\ndata/.a/b.jpg\ndata/a/.b.jpg",
        "shards/{000..099}.tar\nshards/007.tar\nshards/7.tar\nshards/100.tar",
        "{train,val/{a,b}}/[!a-c]?.txt\ntrain/dx.txt\nval/a/xx.txt\nval/ax.txt",
        "/a/{,b/}*\n/a/x\n/a/b/x\na/x",
        "a/{**/x,y/*}.{p,P}ng\na/b/c/x.png\na/y/z.PNG",
        "{a..e}{1..3}{x,{y,z}}\na1x\ne3z\nf1x",
        "\\*\\{a\\,b\\}.t?t\n*{a,b}.txt",
        "\u{e9}/*[\u{e9}-\u{ff}]\n\u{e9}/a\u{ea}\n\u{e9}/\u{e8}",
        "{a,b}{c,d}{e,f}/{g,h}/**\nace/g/x\nbdf/h/y/z",
        "../x/./y/*.csv\n../x/y/a.csv",
        "img10.png\nimg2.png\nimg010.png\nimg2\n2img\n10\n9\n09",
    ];
    all.iter().map(|it| it.as_bytes().to_vec()).collect()
}
