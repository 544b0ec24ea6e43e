//! The tree as text, without spans: for people, and to compare two trees by what they say.

use std::fmt::Write as _;

use super::{
    Arg, Call, Declaration, DeclarationKind, Entry, Expr, ExprKind, Extent, File, Formal, Number,
    Otherwise, Part, Place, Signature, Stage, TypeExpr, TypeKind,
};

/// The widest node that is written on one line.
const WIDTH: usize = 100;

/// All of a file: a node is `(head part …)`, or its parts below it, indented, where that is too wide.
///
/// Round brackets of the text that mean nothing and empty ones behind a stage leave no trace.
#[must_use]
pub fn dump(file: &File) -> String {
    let mut out = String::new();
    if let Some(edition) = &file.edition {
        let _ = writeln!(out, "(edition {})", edition.year);
    }
    for declaration in &file.declarations {
        declared(declaration).write(&mut out, 0);
        out.push('\n');
    }
    out
}

/// A node on its way to text.
struct Node {
    head: String,
    parts: Vec<Node>,
}

impl Node {
    fn leaf(head: impl Into<String>) -> Self {
        Self { head: head.into(), parts: Vec::new() }
    }

    fn new(head: impl Into<String>, parts: impl IntoIterator<Item = Self>) -> Self {
        let mut parts: Vec<_> = parts.into_iter().collect();
        if parts.is_empty() {
            parts.push(Self::leaf(""));
        }
        Self { head: head.into(), parts }
    }

    fn width(&self) -> usize {
        let parts: usize = self.parts.iter().map(|it| 1 + it.width()).sum();
        self.head.len() + if self.parts.is_empty() { 0 } else { parts + 2 }
    }

    fn write(&self, out: &mut String, indent: usize) {
        if self.parts.is_empty() {
            out.push_str(&self.head);
            return;
        }
        let _ = write!(out, "({}", self.head);
        let wide = indent + self.width() > WIDTH;
        for part in self.parts.iter().filter(|it| !it.head.is_empty()) {
            if wide {
                let _ = write!(out, "\n{:1$}", "", indent + 2);
            } else {
                out.push(' ');
            }
            part.write(out, indent + 2);
        }
        out.push(')');
    }
}

fn declared(declaration: &Declaration) -> Node {
    let docs = declaration.docs.iter().map(|it| Node::leaf(format!("{:?}", it.text)));
    let docs = (!declaration.docs.is_empty()).then(|| Node::new("doc", docs));
    let (head, parts) = match &declaration.kind {
        DeclarationKind::Param(it) => (
            "param",
            vec![
                Node::leaf(&it.name.text),
                maybe("type", it.type_.as_ref().map(typed)),
                maybe("default", it.default.as_ref().map(expr)),
            ],
        ),
        DeclarationKind::Const(it) => ("const", vec![Node::leaf(&it.name.text), expr(&it.value)]),
        DeclarationKind::Fn(it) => ("fn", vec![signed(&it.signature), expr(&it.body)]),
        DeclarationKind::Extern(it) => {
            let head = if it.is_pipeline { "extern-pipeline" } else { "extern" };
            (head, vec![signed(&it.signature), Node::leaf(format!("{:?}", it.target.value))])
        }
        DeclarationKind::Pipeline(it) => (
            "pipeline",
            vec![
                Node::leaf(&it.name.text),
                maybe(
                    "formals",
                    it.formals.as_ref().map(|it| Node::new("", it.iter().map(formal))),
                ),
                expr(&it.body),
            ],
        ),
        DeclarationKind::Use(it) => {
            let names = it.names.iter().map(|it| Node::leaf(&it.text));
            ("use", names.chain([Node::leaf(format!("{:?}", it.from.value))]).collect())
        }
    };
    let head = if declaration.broken { format!("broken-{head}") } else { head.to_owned() };
    Node::new(head, docs.into_iter().chain(parts))
}

fn maybe(head: &str, part: Option<Node>) -> Node {
    part.map_or_else(|| Node::leaf(""), |it| Node::new(head, [it]))
}

fn signed(signature: &Signature) -> Node {
    let formals = signature.formals.iter().map(formal);
    let effects = signature.effects.iter().map(|it| Node::leaf(it.kind.word()));
    let result = signature.result.as_ref().map(|it| Node::new("->", [typed(it)]));
    Node::new(&signature.name.text, formals.chain(effects).chain(result))
}

fn formal(formal: &Formal) -> Node {
    let each = formal.each.then(|| Node::leaf("each"));
    let optional = formal.optional.then(|| Node::leaf("?"));
    let type_ = formal.type_.as_ref().map(typed);
    let default = formal.default.as_ref().map(|it| Node::new("default", [expr(it)]));
    Node::new(
        format!("formal {}", formal.name.text),
        [each, type_, optional, default].into_iter().flatten(),
    )
}

fn typed(type_: &TypeExpr) -> Node {
    match &type_.kind {
        TypeKind::Words(words) => Node::new("words", words.iter().map(|it| Node::leaf(&it.text))),
        TypeKind::Named { name, extents } if extents.is_empty() => Node::leaf(&name.text),
        TypeKind::Named { name, extents } => {
            Node::new(format!("tensor {}", name.text), extents.iter().map(extent))
        }
        TypeKind::Record { fields, open } => {
            let fields = fields.iter().map(|it| Node::new(&it.name.text, [typed(&it.type_)]));
            Node::new("record-type", fields.chain(open.then(|| Node::leaf(".."))))
        }
        TypeKind::Broken => Node::leaf("<broken>"),
    }
}

fn extent(extent: &Extent) -> Node {
    match extent {
        Extent::Unknown(_) => Node::leaf("?"),
        Extent::Known(it) => expr(it),
    }
}

fn expr(it: &Expr) -> Node {
    match &it.kind {
        ExprKind::Name(name) => Node::leaf(name),
        ExprKind::It => Node::leaf("it"),
        ExprKind::Number(number) => Node::leaf(quantity(number)),
        ExprKind::Str { parts, .. } => text(parts),
        ExprKind::Bool(it) => Node::leaf(it.to_string()),
        ExprKind::List(elements) => Node::new("list", elements.iter().map(expr)),
        ExprKind::Comprehension { body, var, over } => {
            Node::new("for", [Node::leaf(&var.text), expr(over), expr(body)])
        }
        ExprKind::Record(entries) => Node::new("record", entries.iter().map(entry)),
        ExprKind::Call(it) => call(it),
        ExprKind::Pipe { lhs, stage } => Node::new("|>", [expr(lhs), staged(stage)]),
        ExprKind::Else { lhs, otherwise } => {
            Node::new("else", [expr(lhs), otherwise_of(otherwise)])
        }
        ExprKind::Broken => Node::leaf("<broken>"),
        _ => signs(&it.kind),
    }
}

/// Expressions that are made with signs.
fn signs(kind: &ExprKind) -> Node {
    match kind {
        ExprKind::Binary { op, lhs, rhs, .. } => Node::new(op.sign(), [expr(lhs), expr(rhs)]),
        ExprKind::Unary { op, operand, .. } => {
            Node::new(if *op == super::UnaryOp::Neg { "-" } else { "not" }, [expr(operand)])
        }
        ExprKind::Compare { op, lhs, rhs, .. } => Node::new(op.sign(), [expr(lhs), expr(rhs)]),
        ExprKind::In { value, set, negated } => {
            Node::new(if *negated { "not-in" } else { "in" }, [expr(value), expr(set)])
        }
        ExprKind::Interval { from, to } => Node::new("..", [expr(from), expr(to)]),
        ExprKind::If { cond, then, otherwise } => {
            Node::new("if", [expr(cond), expr(then), expr(otherwise)])
        }
        ExprKind::Index { base, places } => {
            Node::new("index", std::iter::once(expr(base)).chain(places.iter().map(place)))
        }
        ExprKind::Field { base, name } => Node::new("field", [expr(base), Node::leaf(&name.text)]),
        ExprKind::As { value, type_ } => Node::new("as", [expr(value), typed(type_)]),
        _ => unreachable!("all others are written by `expr`"),
    }
}

fn quantity(number: &Number) -> String {
    number
        .unit
        .map_or_else(|| number.text.clone(), |unit| format!("{}{}", number.text, unit.name()))
}

fn text(parts: &[Part]) -> Node {
    let part = |it: &Part| match it {
        Part::Chunk(chunk) => Node::leaf(format!("{chunk:?}")),
        Part::Hole(name) => Node::leaf(&name.text),
    };
    match parts {
        [] => Node::leaf("\"\""),
        [only @ Part::Chunk(_)] => part(only),
        _ => Node::new("text", parts.iter().map(part)),
    }
}

fn entry(entry: &Entry) -> Node {
    if entry.bare {
        Node::leaf(&entry.name.text)
    } else {
        Node::new(format!("{}:", entry.name.text), [expr(&entry.value)])
    }
}

fn call(call: &Call) -> Node {
    Node::new(format!("call {}", call.name.text), call.args.iter().map(arg))
}

fn arg(arg: &Arg) -> Node {
    match &arg.name {
        Some(name) => Node::new(format!("{}:", name.text), [expr(&arg.value)]),
        None => expr(&arg.value),
    }
}

fn staged(stage: &Stage) -> Node {
    match stage {
        Stage::Each(it) => Node::new(it.kind.word(), [expr(&it.body)]),
        Stage::Call(it) => call(it),
    }
}

fn otherwise_of(otherwise: &Otherwise) -> Node {
    match otherwise {
        Otherwise::Policy(it) if it.args.is_empty() => Node::leaf(format!("<{}>", it.kind.word())),
        Otherwise::Policy(it) => {
            Node::new(format!("<{}>", it.kind.word()), it.args.iter().map(arg))
        }
        Otherwise::Value(it) => expr(it),
    }
}

fn place(place: &Place) -> Node {
    match place {
        Place::At(it) => expr(it),
        Place::Slice { from, to, .. } => {
            let end = |it: &Option<Expr>| it.as_ref().map_or_else(|| Node::leaf("_"), expr);
            Node::new("slice", [end(from), end(to)])
        }
    }
}
