//! How expressions stand.

use plan::Span;

use super::Builder;
use super::doc::{
    Bracket, Doc, Item, Layout, align, forced, group, indent, line, note, row, space, text,
};
use crate::ast::{
    Arg, BinaryOp, Call, Entry, Expr, ExprKind, Number, Otherwise, Place, Stage, UnaryOp,
};

/// The columns that the other arguments may take where one of them is broken on the call's own line.
const HUG_MAX: usize = 60;

impl Builder<'_> {
    /// An expression that stands somewhere in a line.
    pub(super) fn expr(&mut self, it: &Expr) -> Doc {
        if it.bracketed && !loose(&it.kind) {
            let tight = std::mem::replace(&mut self.tight, false);
            let inner = self.unbracketed(it);
            self.tight = tight;
            return row([text("("), inner, text(")")]);
        }
        self.unbracketed(it)
    }

    fn unbracketed(&mut self, it: &Expr) -> Doc {
        match &it.kind {
            ExprKind::Name(name) => text(name),
            ExprKind::It => text("it"),
            ExprKind::Number(number) => quantity(number),
            ExprKind::Str { text: written, .. } => text(written),
            ExprKind::Bool(truth) => text(truth.to_string()),
            ExprKind::List(elements) => self.list(it, elements),
            ExprKind::Comprehension { body, var, over } => {
                self.comprehension(it, (body, over), &var.text)
            }
            ExprKind::Record(entries) => self.record(it, entries),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Pipe { .. } => align(group(self.chain(it))),
            ExprKind::Else { lhs, otherwise } if !piped(it) => {
                let lhs = self.expr(lhs);
                align(group(row([lhs, indent(row([space(), self.otherwise(otherwise)]))])))
            }
            ExprKind::Else { .. } => align(group(self.chain(it))),
            ExprKind::If { .. } => align(group(self.choice(it))),
            ExprKind::Broken => unreachable!("a text with mistakes is not printed"),
            kind => self.signs(it, kind),
        }
    }

    /// Expressions that are made with signs.
    fn signs(&mut self, it: &Expr, kind: &ExprKind) -> Doc {
        match kind {
            ExprKind::Binary { .. } => self.binary(it),
            ExprKind::Unary { op, operand, .. } => {
                let sign = if *op == UnaryOp::Neg { "-" } else { "not " };
                row([text(sign), self.expr(operand)])
            }
            ExprKind::Compare { op, lhs, rhs, .. } => self.sides(lhs, op.sign(), rhs),
            ExprKind::In { value, set, negated } => {
                self.sides(value, if *negated { "not in" } else { "in" }, set)
            }
            ExprKind::Interval { from, to } => {
                let tight = std::mem::replace(&mut self.tight, true);
                let ends = [self.expr(from), text(".."), self.expr(to)];
                self.tight = tight;
                row(ends)
            }
            ExprKind::Index { base, places } => self.index(it, base, places),
            ExprKind::Field { base, name } => {
                row([self.expr(base), text(format!(".{}", name.text))])
            }
            ExprKind::As { value, type_ } => {
                row([self.expr(value), text(" as "), self.type_(type_)])
            }
            _ => unreachable!("all others are written by `expr`"),
        }
    }

    /// Two sides of a sign that cannot follow each other.
    fn sides(&mut self, lhs: &Expr, sign: &str, rhs: &Expr) -> Doc {
        let lhs = self.expr(lhs);
        let rhs = row([space(), text(format!("{sign} ")), self.expr(rhs)]);
        group(row([lhs, indent(rhs)]))
    }

    /// Operands with signs of one strength between them.
    fn binary(&mut self, it: &Expr) -> Doc {
        let ExprKind::Binary { op, .. } = &it.kind else {
            unreachable!("only called for signs with two sides")
        };
        let (strength, tight) =
            (strength(*op), self.tight && *op != BinaryOp::And && *op != BinaryOp::Or);
        let mut signed = Vec::new();
        let mut first = it;
        while let ExprKind::Binary { op, lhs, rhs, .. } = &first.kind {
            if self::strength(*op) != strength || first.bracketed && !std::ptr::eq(first, it) {
                break;
            }
            signed.push((*op, rhs));
            first = lhs;
            if *op == BinaryOp::Pow {
                break;
            }
        }

        let head = self.expr(first);
        let mut rest = Vec::new();
        for (op, rhs) in signed.into_iter().rev() {
            let rhs = self.expr(rhs);
            match tight {
                true => rest.extend([text(op.sign()), rhs]),
                false => rest.extend([space(), text(format!("{} ", op.sign())), rhs]),
            }
        }
        group(row([head, indent(row(rest))]))
    }

    /// `if c then a`, and below it `else b`.
    fn choice(&mut self, it: &Expr) -> Doc {
        let ExprKind::If { cond, then, otherwise } = &it.kind else {
            unreachable!("only called for `if`")
        };
        let cond = row([text("if "), self.expr(cond)]);
        let then = indent(row([space(), text("then "), self.expr(then)]));
        let other = match &otherwise.kind {
            ExprKind::If { .. } if !otherwise.bracketed => self.choice(otherwise),
            _ => self.expr(otherwise),
        };
        row([group(row([cond, then])), space(), text("else "), other])
    }

    /// A chain with spaces where it may break: all of them, or none.
    pub(super) fn chain(&mut self, it: &Expr) -> Doc {
        let mut links = Vec::new();
        let mut head = it;
        while let ExprKind::Pipe { lhs, .. } | ExprKind::Else { lhs, .. } = &head.kind {
            if head.bracketed && !std::ptr::eq(head, it) {
                break;
            }
            links.push((&head.kind, lhs.span));
            head = lhs;
        }

        let mut parts = vec![self.expr(head)];
        let mut broken = false;
        for (link, before) in links.into_iter().rev() {
            match link {
                ExprKind::Pipe { stage, .. } => broken |= self.link(&mut parts, stage, before),
                ExprKind::Else { otherwise, .. } => {
                    parts.extend([text(" "), self.otherwise(otherwise)]);
                }
                _ => unreachable!("a chain has only these links"),
            }
        }
        forced(row(parts), broken)
    }

    /// Adds a stage to a chain; whether the author broke the line before it.
    fn link(&mut self, parts: &mut Vec<Doc>, stage: &Stage, before: Span) -> bool {
        let span = stage.span();
        let between = self.comments.before(span);
        parts.extend(between.behind.into_iter().map(note));
        for comment in between.above {
            parts.extend([line(), text(comment)]);
        }
        parts.extend([space(), text("|> "), self.stage(stage)]);
        self.comments.breaks(before.end as usize, span.start as usize)
    }

    fn stage(&mut self, stage: &Stage) -> Doc {
        match stage {
            Stage::Each(it) => row([text(format!("{} ", it.kind.word())), self.expr(&it.body)]),
            Stage::Call(it) if it.args.is_empty() => text(&it.name.text),
            Stage::Call(it) => self.call(it),
        }
    }

    fn otherwise(&mut self, otherwise: &Otherwise) -> Doc {
        match otherwise {
            Otherwise::Policy(it) if it.args.is_empty() => text(format!("else {}", it.kind.word())),
            Otherwise::Policy(it) => {
                row([text(format!("else {}", it.kind.word())), self.arguments(&it.args, it.span)])
            }
            Otherwise::Value(it) => row([text("else "), self.expr(it)]),
        }
    }

    fn list(&mut self, it: &Expr, elements: &[Expr]) -> Doc {
        let plain = elements.iter().all(|it| plain(&it.kind));
        let layout = if plain { Layout::Fill } else { Layout::Rows };
        let signs = Signs { open: "[", close: "]", layout, span: it.span };
        self.bracket(&signs, elements, |it| it.span, |it, element| (None, it.expr(element))).doc()
    }

    fn comprehension(&mut self, it: &Expr, (body, over): (&Expr, &Expr), var: &str) -> Doc {
        let signs = Signs { open: "[", close: "]", layout: Layout::Bare, span: it.span };
        let whole = |it: &mut Self, body: &&Expr| {
            let body = it.expr(body);
            (None, group(row([body, space(), text(format!("for {var} in ")), it.expr(over)])))
        };
        self.bracket(&signs, &[body], |it| it.span, whole).doc()
    }

    fn record(&mut self, it: &Expr, entries: &[Entry]) -> Doc {
        let signs = Signs { open: "{", close: "}", layout: Layout::Columns, span: it.span };
        let print = |it: &mut Self, entry: &Entry| {
            let key = (!entry.bare).then(|| entry.name.text.clone());
            (key, it.expr(&entry.value))
        };
        self.bracket(&signs, entries, Entry::span, print).doc()
    }

    fn call(&mut self, call: &Call) -> Doc {
        row([text(&call.name.text), self.arguments(&call.args, call.span)])
    }

    fn arguments(&mut self, args: &[Arg], span: Span) -> Doc {
        let signs = Signs { open: "(", close: ")", layout: Layout::Tight, span };
        let print = |it: &mut Self, arg: &Arg| {
            let key = arg.name.as_ref().map(|it| it.text.clone());
            (key, it.expr(&arg.value))
        };
        let mut bracket = self.bracket(&signs, args, Arg::span, print);
        if let Some(at) = hugged(args, &bracket.items).filter(|_| bracket.layout == Layout::Tight) {
            bracket.layout = Layout::Hug(at);
        }
        bracket.doc()
    }

    fn index(&mut self, it: &Expr, base: &Expr, places: &[Place]) -> Doc {
        let base = self.expr(base);
        let signs = Signs { open: "[", close: "]", layout: Layout::Tight, span: it.span };
        let bracket =
            self.bracket(&signs, places, Place::span, |it, place| (None, it.place(place)));
        row([base, bracket.doc()])
    }

    fn place(&mut self, place: &Place) -> Doc {
        match place {
            Place::At(it) => self.expr(it),
            Place::Slice { from, to, .. } => {
                let tight = std::mem::replace(&mut self.tight, true);
                let from = from.as_ref().map(|it| self.expr(it));
                let to = to.as_ref().map(|it| self.expr(it));
                self.tight = tight;
                row([from, Some(text(":")), to].into_iter().flatten())
            }
        }
    }

    /// Brackets with the comments among their items.
    pub(super) fn bracket<T>(
        &mut self,
        signs: &Signs,
        parts: &[T],
        at: impl Fn(&T) -> Span,
        print: impl Fn(&mut Self, &T) -> (Option<String>, Doc),
    ) -> Bracket {
        let outer = std::mem::replace(&mut self.tight, false);
        let Signs { open, close, layout, span } = *signs;
        // Calls and indices are broken where they must be; what the author did to the others is kept.
        let kept = !matches!(layout, Layout::Tight)
            && parts.first().is_some_and(|it| self.breaks(span.start, at(it).start));
        let mut bracket = Bracket {
            open,
            close,
            items: Vec::new(),
            layout,
            notes: Vec::new(),
            below: Vec::new(),
            broken: kept,
        };
        let mut previous = span.start;
        for part in parts {
            let span = at(part);
            let between = self.comments.before(span);
            bracket.behind_last(between.behind);
            let blank = self.comments.blank(previous as usize, span.start as usize);
            let (key, doc) = print(self, part);
            bracket.items.push(Item { blank, above: between.above, key, doc, notes: Vec::new() });
            previous = span.end;
        }
        let last = self.comments.before(Span { start: span.end.saturating_sub(1), ..span });
        bracket.behind_last(last.behind);
        bracket.below = last.above;
        if bracket.commented() && matches!(layout, Layout::Fill | Layout::Tight) {
            bracket.layout = Layout::Rows;
        }
        self.tight = outer;
        bracket
    }

    fn breaks(&self, start: u32, end: u32) -> bool {
        self.comments.breaks(start as usize, end as usize)
    }
}

/// What stands around items.
pub(super) struct Signs {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    pub(super) layout: Layout,
    /// From the opening bracket, or before it, to the closing one.
    pub(super) span: Span,
}

/// Which argument may be broken while the call and the others stay on their line: the wider one of the first
/// and the last, if it is made of brackets.
fn hugged(args: &[Arg], items: &[Item]) -> Option<usize> {
    let ends = [0, args.len().saturating_sub(1)];
    let made = ends.into_iter().filter(|at| args.get(*at).is_some_and(|it| bracketed(&it.value)));
    let at = made.max_by_key(|at| items[*at].doc.width)?;
    let others: usize = items.iter().map(|it| it.width() + 2).sum::<usize>() - items[at].width();
    (others <= HUG_MAX).then_some(at)
}

/// Whether a value ends with the bracket of something that may be broken while its head stays on its line.
pub(super) fn bracketed(it: &Expr) -> bool {
    match &it.kind {
        ExprKind::List(elements) => !elements.is_empty(),
        ExprKind::Record(entries) => !entries.is_empty(),
        ExprKind::Comprehension { .. } => true,
        ExprKind::Call(call) => [call.args.first(), call.args.last()]
            .into_iter()
            .flatten()
            .any(|it| bracketed(&it.value)),
        _ => false,
    }
}

/// Whether something flows through stages here, outside all brackets.
pub(super) fn piped(it: &Expr) -> bool {
    match &it.kind {
        ExprKind::Pipe { .. } => true,
        ExprKind::Else { lhs, .. } => !lhs.bracketed && piped(lhs),
        _ => false,
    }
}

/// Whether round brackets around it say nothing. Around the words that `else` takes they do.
fn loose(kind: &ExprKind) -> bool {
    let policy = |it: &str| matches!(it, "skip" | "another" | "fail");
    match kind {
        ExprKind::Name(name) => !policy(name),
        ExprKind::Call(call) => !policy(&call.name.text),
        ExprKind::It | ExprKind::Number(_) | ExprKind::Str { .. } | ExprKind::Bool(_) => true,
        ExprKind::List(_) | ExprKind::Comprehension { .. } | ExprKind::Record(_) => true,
        _ => false,
    }
}

/// Whether many of it stand on a line.
fn plain(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Str { .. } | ExprKind::Bool(_) => true,
        ExprKind::Unary { operand, .. } => plain(&operand.kind),
        _ => false,
    }
}

/// The signs that stand in one row.
fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 0,
        BinaryOp::And => 1,
        BinaryOp::Add | BinaryOp::Sub => 2,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem => 3,
        BinaryOp::Pow => 4,
    }
}

fn quantity(number: &Number) -> Doc {
    text(format!("{}{}", number.text, number.unit.map_or("", crate::ast::Unit::name)))
}
