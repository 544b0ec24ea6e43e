//! Expressions: the flat rows of the grammar, bound by strength.

use std::sync::LazyLock;

use pest::iterators::{Pair, Pairs};
use pest::pratt_parser::{Assoc, Op, PrattParser};
use plan::Span;

use super::{Lower, Parts, Rule, kept, optional, parts, the};
use crate::ast::{
    Arg, BinaryOp, Call, CompareOp, Each, EachKind, Entry, Expr, ExprKind, Name, Otherwise, Place,
    Policy, PolicyKind, Stage, UnaryOp,
};
use crate::errors::syntax as errors;

/// What binds how strongly, the weakest first. The layers of the grammar say the same: they decide what is
/// read, this only finds their structure again.
static STRENGTH: LazyLock<PrattParser<Rule>> = LazyLock::new(|| {
    PrattParser::new()
        .op(Op::infix(Rule::or, Assoc::Left))
        .op(Op::infix(Rule::and, Assoc::Left))
        .op(Op::prefix(Rule::not))
        .op(Op::infix(Rule::comparison, Assoc::Left) | Op::infix(Rule::among, Assoc::Left))
        .op(Op::infix(Rule::dots, Assoc::Left))
        .op(Op::infix(Rule::plus, Assoc::Left))
        .op(Op::infix(Rule::times, Assoc::Left))
        .op(Op::prefix(Rule::minus))
        .op(Op::infix(Rule::raised, Assoc::Right))
        .op(Op::postfix(Rule::claim))
        .op(Op::postfix(Rule::index) | Op::postfix(Rule::field))
});

fn bare(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span, bracketed: false }
}

impl Lower<'_> {
    pub(super) fn expr(&self, pair: Pair<'_, Rule>) -> Expr {
        let mut parts = parts(pair);
        let head = self.value(the(&mut parts, Rule::value));
        parts.fold(head, |lhs, it| match it.as_rule() {
            Rule::stage => self.pipe(lhs, it),
            _ => self.otherwise(lhs, it),
        })
    }

    fn value(&self, pair: Pair<'_, Rule>) -> Expr {
        self.row(pair.into_inner())
    }

    /// A row of operands and signs.
    pub(super) fn row(&self, pairs: Pairs<'_, Rule>) -> Expr {
        STRENGTH
            .map_primary(|it| self.atom(it))
            .map_prefix(|sign, operand| self.prefix(&sign, operand))
            .map_infix(|lhs, sign, rhs| self.infix(lhs, &sign, rhs))
            .map_postfix(|base, sign| self.postfix(base, sign))
            .parse(pairs)
    }

    fn pipe(&self, lhs: Expr, pair: Pair<'_, Rule>) -> Expr {
        let stage = self.stage(parts(pair).next().expect("a stage is something"));
        let span = lhs.span.to(stage.span());
        bare(ExprKind::Pipe { lhs: Box::new(lhs), stage }, span)
    }

    fn stage(&self, pair: Pair<'_, Rule>) -> Stage {
        match pair.as_rule() {
            Rule::each => self.each(pair),
            Rule::call => Stage::Call(self.call(pair)),
            _ => {
                let name = self.name(&pair);
                let span = name.span;
                Stage::Call(Call { name, args: Vec::new(), span })
            }
        }
    }

    fn each(&self, pair: Pair<'_, Rule>) -> Stage {
        let mut parts = parts(pair);
        let word = the(&mut parts, Rule::each_word);
        let kind = match word.as_str() {
            "map" => EachKind::Map,
            "flat_map" => EachKind::FlatMap,
            "with" => EachKind::With,
            _ => EachKind::Where,
        };
        let body = Box::new(self.value(the(&mut parts, Rule::value)));
        Stage::Each(Each { kind, at: self.span(&word), body })
    }

    fn otherwise(&self, lhs: Expr, pair: Pair<'_, Rule>) -> Expr {
        let taken = parts(pair).next().expect("something is done instead");
        let otherwise = match taken.as_rule() {
            Rule::policy => Otherwise::Policy(self.policy(taken)),
            _ => Otherwise::Value(Box::new(self.value(taken))),
        };
        let span = lhs.span.to(otherwise.span());
        bare(ExprKind::Else { lhs: Box::new(lhs), otherwise }, span)
    }

    fn policy(&self, pair: Pair<'_, Rule>) -> Policy {
        let mut parts = parts(pair);
        let word = the(&mut parts, Rule::policy_word);
        let kind = match word.as_str() {
            "skip" => PolicyKind::Skip,
            "another" => PolicyKind::Another,
            _ => PolicyKind::Fail,
        };
        let at = self.span(&word);
        let arguments = optional(&mut parts, Rule::arguments);
        let span = arguments.as_ref().map_or(at, |it| at.to(self.span(it)));
        Policy { kind, args: arguments.map(|it| self.arguments(it)).unwrap_or_default(), span }
    }

    fn prefix(&self, sign: &Pair<'_, Rule>, operand: Expr) -> Expr {
        let op = if sign.as_rule() == Rule::not { UnaryOp::Not } else { UnaryOp::Neg };
        let at = self.span(sign);
        let span = at.to(operand.span);
        bare(ExprKind::Unary { op, at, operand: Box::new(operand) }, span)
    }

    fn infix(&self, lhs: Expr, sign: &Pair<'_, Rule>, rhs: Expr) -> Expr {
        let span = lhs.span.to(rhs.span);
        let at = self.span(sign);
        let (lhs, rhs) = (Box::new(lhs), Box::new(rhs));
        let kind = match sign.as_rule() {
            Rule::comparison => ExprKind::Compare { op: compared(sign.as_str()), at, lhs, rhs },
            Rule::among => {
                ExprKind::In { value: lhs, set: rhs, negated: sign.as_str().starts_with("not") }
            }
            Rule::dots => ExprKind::Interval { from: lhs, to: rhs },
            _ => ExprKind::Binary { op: computed(sign.as_str()), at, lhs, rhs },
        };
        bare(kind, span)
    }

    fn postfix(&self, base: Expr, pair: Pair<'_, Rule>) -> Expr {
        let whole = self.span(&pair);
        let start = base.span;
        let base = Box::new(base);
        match pair.as_rule() {
            Rule::index => {
                let places = parts(pair).map(|it| self.place(it)).collect();
                bare(ExprKind::Index { base, places }, start.to(whole))
            }
            Rule::field => {
                let name = self.name(&parts(pair).next().expect("a field has a name"));
                let span = start.to(name.span);
                bare(ExprKind::Field { base, name }, span)
            }
            _ => {
                let type_ = self.type_(parts(pair).next().expect("`as` is followed by a type"));
                let span = start.to(type_.span);
                bare(ExprKind::As { value: base, type_ }, span)
            }
        }
    }

    fn place(&self, pair: Pair<'_, Rule>) -> Place {
        let mut parts = parts(pair);
        let from = optional(&mut parts, Rule::expr).map(|it| self.expr(it));
        let Some(until) = parts.next() else {
            return Place::At(from.expect("a place that is no slice is an expression"));
        };
        let colon = until.as_span().start();
        let colon = self.bytes(colon..colon + 1);
        let to = self::parts(until).next().map(|it| self.expr(it));
        let start = from.as_ref().map_or(colon, |it| it.span);
        let span = start.to(to.as_ref().map_or(colon, |it| it.span));
        Place::Slice { from, to, span }
    }

    fn atom(&self, pair: Pair<'_, Rule>) -> Expr {
        let span = self.span(&pair);
        let kind = match pair.as_rule() {
            Rule::choice => return self.choice(pair),
            Rule::inner => {
                return Expr {
                    span,
                    bracketed: true,
                    ..self.expr(the(&mut parts(pair), Rule::expr))
                };
            }
            Rule::quantity => self.quantity(pair),
            Rule::string | Rule::literal => self.string(pair),
            Rule::truth => ExprKind::Bool(pair.as_str() == "true"),
            Rule::list => self.list(pair),
            Rule::record => ExprKind::Record(parts(pair).map(|it| self.entry(it)).collect()),
            Rule::call => ExprKind::Call(self.call(pair)),
            _ => self.named(pair.as_str(), span),
        };
        bare(kind, span)
    }

    /// A name as a value; what Python calls its constants is known to be meant.
    fn named(&self, name: &str, span: Span) -> ExprKind {
        match name {
            "it" => ExprKind::It,
            "True" | "False" => {
                self.say(errors::capital_truth(name, span));
                ExprKind::Bool(name == "True")
            }
            "None" => {
                self.say(errors::none(span));
                ExprKind::Broken
            }
            _ => ExprKind::Name(name.to_owned()),
        }
    }

    fn choice(&self, pair: Pair<'_, Rule>) -> Expr {
        let start = pair.as_span().start();
        let mut parts = parts(pair);
        let mut value = || Box::new(self.value(the(&mut parts, Rule::value)));
        let (cond, then, otherwise) = (value(), value(), value());
        let span = self.bytes(start..start).to(otherwise.span);
        bare(ExprKind::If { cond, then, otherwise }, span)
    }

    fn list(&self, pair: Pair<'_, Rule>) -> ExprKind {
        let mut parts = parts(pair);
        let mut elements = Vec::new();
        while let Some(element) = optional(&mut parts, Rule::expr) {
            elements.push(self.expr(element));
        }
        match (parts.next(), elements.pop()) {
            (Some(each), Some(body)) => self.comprehension(body, kept(each.into_inner())),
            (_, last) => {
                elements.extend(last);
                ExprKind::List(elements)
            }
        }
    }

    fn comprehension(&self, body: Expr, mut each: Parts<'_>) -> ExprKind {
        let var = self.declared_name(&mut each);
        let over = Box::new(self.value(the(&mut each, Rule::value)));
        ExprKind::Comprehension { body: Box::new(body), var, over }
    }

    fn entry(&self, pair: Pair<'_, Rule>) -> Entry {
        let mut parts = parts(pair);
        let name = self.declared_name(&mut parts);
        let value = parts.next().map(|it| self.expr(it));
        let bare_value = || bare(ExprKind::Name(name.text.clone()), name.span);
        Entry { bare: value.is_none(), value: value.unwrap_or_else(bare_value), name }
    }

    fn call(&self, pair: Pair<'_, Rule>) -> Call {
        let span = self.span(&pair);
        let mut parts = parts(pair);
        let name = self.name(&the(&mut parts, Rule::name));
        Call { name, args: self.arguments(the(&mut parts, Rule::arguments)), span }
    }

    fn arguments(&self, pair: Pair<'_, Rule>) -> Vec<Arg> {
        let argument = |it| {
            let mut parts = parts(it);
            let name: Option<Name> = optional(&mut parts, Rule::name).map(|it| self.name(&it));
            Arg { name, value: self.expr(the(&mut parts, Rule::expr)) }
        };
        parts(pair).map(argument).collect()
    }
}

fn compared(sign: &str) -> CompareOp {
    match sign {
        "==" => CompareOp::Eq,
        "!=" => CompareOp::Ne,
        "<" => CompareOp::Lt,
        "<=" => CompareOp::Le,
        ">" => CompareOp::Gt,
        _ => CompareOp::Ge,
    }
}

fn computed(sign: &str) -> BinaryOp {
    match sign {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "//" => BinaryOp::FloorDiv,
        "%" => BinaryOp::Rem,
        "**" => BinaryOp::Pow,
        "and" => BinaryOp::And,
        _ => BinaryOp::Or,
    }
}
