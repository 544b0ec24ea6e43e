//! The matcher against a slow, obvious one: every way through the pattern by itself, then every way
//! through the name.

use super::*;

/// A generator of patterns: numbers from a shift register (Marsaglia 2003, 13 7 17).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn letter(&mut self) -> char {
        ['a', 'b', 'A', '1', '0', '.', 'é', 'a', '1', 'b'][self.below(10)]
    }

    fn tree(&mut self, depth: usize) -> Vec<Tree> {
        (0..=self.below(4)).map(|_| self.leaf(depth)).collect()
    }

    fn leaf(&mut self, depth: usize) -> Tree {
        match self.below(12) {
            0 => Tree::Star,
            1 => Tree::Any,
            2 => Tree::Slash,
            3 => Tree::Deep,
            4 => Tree::Set(self.below(2) == 0, vec![self.letter(), self.letter()]),
            5 => Tree::Numbers(self.below(12), self.below(12), [1, 2, 3][self.below(3)]),
            6 | 7 if depth > 0 => {
                Tree::Either((0..2 + self.below(2)).map(|_| self.tree(depth - 1)).collect())
            }
            _ => Tree::Letter(self.letter()),
        }
    }
}

enum Tree {
    Letter(char),
    Star,
    Any,
    Slash,
    /// `**` between slashes.
    Deep,
    Set(bool, Vec<char>),
    Numbers(usize, usize, usize),
    Either(Vec<Vec<Tree>>),
}

fn text(tree: &[Tree]) -> String {
    let one = |it: &Tree| match it {
        Tree::Letter(it) => it.to_string(),
        Tree::Star => "*".into(),
        Tree::Any => "?".into(),
        Tree::Slash => "/".into(),
        Tree::Deep => "/**/".into(),
        Tree::Set(negated, chars) => {
            format!("[{}{}]", if *negated { "!" } else { "" }, chars.iter().collect::<String>())
        }
        Tree::Numbers(low, high, 1) => format!("{{{low}..{high}}}"),
        Tree::Numbers(low, high, width) => format!("{{{low:0width$}..{high:0width$}}}"),
        Tree::Either(branches) => {
            format!("{{{}}}", branches.iter().map(|it| text(it)).collect::<Vec<_>>().join(","))
        }
    };
    tree.iter().map(one).collect()
}

/// A step of a pattern without alternatives.
#[derive(Clone, PartialEq)]
enum Step {
    Letter(char),
    Star,
    Any,
    Slash,
    Deep,
    Set(bool, Vec<char>),
}

/// The number of ways through a pattern.
fn count(tree: &[Tree]) -> usize {
    let one = |it: &Tree| match it {
        Tree::Numbers(low, high, _) => low.abs_diff(*high) + 1,
        Tree::Either(branches) => branches.iter().map(|it| count(it)).sum(),
        _ => 1,
    };
    tree.iter().map(one).product()
}

fn multiply_out(tree: &[Tree]) -> Vec<Vec<Step>> {
    let Some((first, rest)) = tree.split_first() else { return vec![Vec::new()] };
    let heads: Vec<Vec<Step>> = match first {
        Tree::Letter(it) => vec![vec![Step::Letter(*it)]],
        Tree::Star => vec![vec![Step::Star]],
        Tree::Any => vec![vec![Step::Any]],
        Tree::Slash => vec![vec![Step::Slash]],
        Tree::Deep => vec![vec![Step::Slash, Step::Deep, Step::Slash]],
        Tree::Set(negated, chars) => vec![vec![Step::Set(*negated, chars.clone())]],
        Tree::Numbers(low, high, width) => (*low.min(high)..=*low.max(high))
            .map(|it| padded(it, *width, *low, *high).chars().map(Step::Letter).collect())
            .collect(),
        Tree::Either(branches) => branches.iter().flat_map(|it| multiply_out(it)).collect(),
    };
    let tails = multiply_out(rest);
    heads.iter().flat_map(|head| tails.iter().map(|it| [&head[..], it].concat())).collect()
}

fn padded(number: usize, width: usize, low: usize, high: usize) -> String {
    let ends = [low, high].map(|it| format!("{it:0width$}"));
    let zeros = ends.iter().any(|it| it.len() > 1 && it.starts_with('0'));
    let width = if zeros { ends[0].len().max(ends[1].len()) } else { 1 };
    format!("{number:0width$}")
}

fn takes(way: &[Step], path: &str) -> bool {
    let mut components: Vec<&[Step]> =
        way.split(|it| *it == Step::Slash).filter(|it| !it.is_empty()).collect();
    if components.last() == Some(&&[Step::Deep][..]) {
        components.push(&[Step::Star]);
    }
    takes_path(&components, &path.split('/').collect::<Vec<_>>())
}

fn takes_path(components: &[&[Step]], names: &[&str]) -> bool {
    match (components, names) {
        ([], []) => true,
        ([[Step::Deep], rest @ ..], _) => {
            takes_path(rest, names)
                || (names.len() > 1
                    && !names[0].starts_with('.')
                    && takes_path(components, &names[1..]))
        }
        ([first, rest @ ..], [name, below @ ..]) => {
            let dot = name.char_indices().rfind(|it| it.1 == '.').map_or(0, |it| it.0);
            let fold = if below.is_empty() && dot > 0 { name.len() - dot - 1 } else { 0 };
            takes_name(first, name, (true, fold)) && takes_path(rest, below)
        }
        _ => false,
    }
}

/// `fold`: so many bytes at the end are compared without regard to case.
fn takes_name(steps: &[Step], name: &str, (front, fold): (bool, usize)) -> bool {
    let Some((first, rest)) = steps.split_first() else { return name.is_empty() };
    let hidden = front && name.starts_with('.');
    let found = name.chars().next();
    let tail = &name[found.map_or(0, char::len_utf8)..];
    let cases = |c: char| match name.len() <= fold {
        true => vec![c.to_ascii_lowercase(), c.to_ascii_uppercase()],
        false => vec![c],
    };

    let one = match (first, found) {
        (Step::Star, None) => return takes_name(rest, name, (front, fold)),
        (Step::Star, Some(_)) => {
            return !hidden
                && (takes_name(rest, name, (front, fold))
                    || takes_name(steps, tail, (false, fold)));
        }
        (Step::Letter(it), Some(found)) => cases(found).contains(it),
        (Step::Any, Some(_)) => !hidden,
        (Step::Set(negated, chars), Some(found)) => {
            !hidden && cases(found).iter().any(|it| chars.contains(it)) != *negated
        }
        _ => false,
    };
    one && takes_name(rest, tail, (false, fold))
}

/// A path that a way through the pattern takes, or nearly.
fn path(way: &[Step], dice: &mut Dice) -> String {
    let mut path = String::new();
    for step in way {
        match step {
            Step::Letter(it) => path.push(*it),
            Step::Star => (0..dice.below(3)).for_each(|_| path.push(dice.letter())),
            Step::Slash => path.push('/'),
            Step::Deep => {
                (0..dice.below(3)).for_each(|_| path.extend([dice.letter(), dice.letter(), '/']));
            }
            Step::Any | Step::Set(..) => path.push(dice.letter()),
        }
    }
    if dice.below(3) == 0 {
        path = path.chars().map(|it| if dice.below(6) == 0 { dice.letter() } else { it }).collect();
    }
    let names = path.split('/').filter(|it| !matches!(*it, "" | "." | ".."));
    names.collect::<Vec<_>>().join("/")
}

#[test]
fn agrees_with_the_matcher() {
    let (mut n_taken, mut n_left) = (0, 0);
    for seed in 1..=6_000 {
        let mut dice = Dice(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let (tree, wanted) = draw(&mut dice);
        let Ok(pattern) = Pattern::parse(&wanted) else { continue };
        let ways = multiply_out(&tree);
        for _ in 0..6 {
            let path = path(&ways[dice.below(ways.len())], &mut dice);
            let expected = !path.is_empty() && ways.iter().any(|it| takes(it, &path));
            assert_eq!(
                pattern.matches(&format!("r/{path}")),
                expected,
                "`{wanted}` and `r/{path}`"
            );
            *(if expected { &mut n_taken } else { &mut n_left }) += 1;
        }
    }
    assert!(n_taken > 5_000 && n_left > 2_000, "{n_taken} taken, {n_left} left");
}

/// A pattern below `r`, with nothing in it that stands for `.` or `..`.
fn draw(dice: &mut Dice) -> (Vec<Tree>, String) {
    loop {
        let tree = dice.tree(3);
        // Two stars beside each other are written like `**`.
        let stars = text(&tree).replace("/**/", "").contains("**");
        let dots = |way: &Vec<Step>| {
            way.split(|it| *it == Step::Slash)
                .any(|it| !it.is_empty() && it.iter().all(|it| *it == Step::Letter('.')))
        };
        if !stars && count(&tree) < 300 && !multiply_out(&tree).iter().any(dots) {
            let wanted = format!("r/{}", text(&tree));
            return (tree, wanted);
        }
    }
}

#[test]
fn agrees_with_the_walk() {
    let mut dice = Dice(42);
    let folder = Folder::with(&[]);
    let mut there = Vec::new();
    for _ in 0..300 {
        let name =
            |dice: &mut Dice| (0..1 + dice.below(3)).map(|_| dice.letter()).collect::<String>();
        let names: Vec<String> = (0..1 + dice.below(3)).map(|_| name(&mut dice)).collect();
        let clear = names.iter().all(|it| it != "." && it != "..");
        let path = folder.0.join(names.join("/"));
        let made = clear && !path.exists() && fs::create_dir_all(path.parent().unwrap()).is_ok();
        if made && fs::write(&path, "").is_ok() {
            there.push(names.join("/"));
        }
    }

    let natural = |a: &String, b: &String| {
        let (a, b) = (Path::new(a).iter(), Path::new(b).iter());
        let pairs = a
            .clone()
            .zip(b.clone())
            .map(|(a, b)| natural_order(a.to_str().unwrap(), b.to_str().unwrap()));
        pairs
            .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
            .then(a.count().cmp(&b.count()))
    };
    there.sort_by(natural);

    let mut n_found = 0;
    for _ in 0..1_500 {
        let (_, wanted) = draw(&mut dice);
        let full = wanted.replacen('r', &folder.0.display().to_string(), 1);
        let Ok(pattern) = Pattern::parse(&full) else { continue };
        let full_path = |it: &&String| pattern.matches(&format!("{}/{it}", folder.0.display()));
        let expected: Vec<String> = there
            .iter()
            .filter(full_path)
            .map(|it| format!("{}/{it}", folder.0.display()))
            .collect();
        let found = list(&pattern).map(|it| paths(&it)).unwrap_or_default();
        if pattern.plain_file().is_none() {
            assert_eq!(found, expected, "{wanted}");
            n_found += found.len();
        }
    }
    assert!(n_found > 1_000, "{n_found}");
}
