//! Expressions as text: one node a line, as plans and programs show them.

use plan::{Arg, Binary, Commas, Const, Expr, ExprId, Field, Graph, Otherwise, Policy, Records};
use std::fmt::Write;

/// Characters of a constant that are shown.
const CONST_LEN_MAX: usize = 60;

/// Appends the nodes of `graph`, each on a line of its own.
pub(super) fn nodes(text: &mut String, graph: &Graph, columns: &[Field]) {
    for (id, node, ty) in graph.iter() {
        let _ = writeln!(text, "    {id} = {}: {ty}", expr(node, columns));
    }
}

/// The values that are written, by field.
pub(super) fn records(outputs: &Records, fields: &[Field]) -> String {
    let named = |all: &[ExprId]| {
        let pairs = fields.iter().zip(all).map(|(field, id)| format!("{}: {id}", field.name));
        format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
    };
    match outputs {
        Records::Listed(lists) => lists.iter().map(|it| named(it)).collect::<Vec<_>>().join(", "),
        Records::Counted { count, var, outputs } => {
            format!("{} for {var} below {count}", named(outputs))
        }
    }
}

/// What becomes of faulty records.
pub(super) fn policy(policy: Policy) -> String {
    match policy {
        Policy::Fail => "fail".to_owned(),
        Policy::Skip { most } => format!("skip(most: {most})"),
        Policy::Another { most } => format!("another(most: {most})"),
    }
}

/// Arguments in order.
pub(super) fn arguments(args: &[Arg]) -> String {
    args.iter().map(argument).collect::<Vec<_>>().join(", ")
}

fn expr(node: &Expr, columns: &[Field]) -> String {
    match node {
        Expr::Column(i) => match columns.get(*i as usize) {
            Some(field) => format!("column {i} ({})", field.name),
            None => format!("column {i}"),
        },
        Expr::Epoch => "epoch".to_owned(),
        Expr::Var(var) => var.to_string(),
        Expr::Const(value) => constant(value),
        Expr::Call { function, args, draw } => {
            let draw = draw.as_ref().map(|it| {
                let vars = Commas(&it.vars).to_string();
                let space = if vars.is_empty() { "" } else { " " };
                format!(" draw {:016x}{space}{vars}", it.place)
            });
            format!("{function}({}){}", arguments(args), draw.unwrap_or_default())
        }
        Expr::Unary(op, a) => format!("{}({a})", word(op)),
        Expr::Binary(op, a, b) => format!("{a} {} {b}", sign(*op)),
        Expr::Cast(to, a) => format!("{to}({a})"),
        Expr::Select(c, a, b) => format!("if {c} then {a} else {b}"),
        Expr::Stack { count, var, body, joined } => {
            let each = format!("[{body} for {var} below {count}]");
            if *joined { format!("concat({each})") } else { each }
        }
        Expr::Else { value, otherwise: Otherwise::Value(other) } => format!("{value} else {other}"),
        Expr::Else { value, otherwise: Otherwise::Policy(it) } => {
            format!("{value} else {}", policy(*it))
        }
    }
}

fn argument(arg: &Arg) -> String {
    let list = |all: &[Arg]| all.iter().map(argument).collect::<Vec<_>>().join(", ");
    match arg {
        Arg::None => "none".to_owned(),
        Arg::Bool(it) => it.to_string(),
        Arg::Int(it) => it.to_string(),
        Arg::Float(it) => format!("{it:?}"),
        Arg::Text(it) => format!("{it:?}"),
        Arg::Word(it) => it.clone(),
        Arg::Interval(low, high) => format!("{low:?}..{high:?}"),
        Arg::List(all) => format!("[{}]", list(all)),
        Arg::Record(all) => {
            let pairs = all.iter().map(|(name, it)| format!("{name}: {}", argument(it)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Arg::Expr(id) => id.to_string(),
        Arg::Exprs(all) => format!("[{}]", Commas(all)),
        Arg::Type(ty) => ty.to_string(),
        Arg::Column(i) => format!("column {i}"),
        Arg::Sources(all) => format!("sources [{}]", Commas(all)),
        // Its name, and enough of its hash to see that it has changed.
        Arg::File(it) => format!("file {:?} {:.8}", it.path(), it.to_string()),
    }
}

fn constant(value: &Const) -> String {
    let text = match value {
        Const::Text(_, text) => format!("{:?}", String::from_utf8_lossy(text)),
        Const::Floats(_, _, all) => format!("{}", CommasOf(all)),
        Const::Ints(plan::DType::Bool, _, all) => {
            all.iter().map(|it| (*it != 0).to_string()).collect::<Vec<_>>().join(", ")
        }
        Const::Ints(_, _, all) => Commas(all).to_string(),
    };
    if text.chars().count() <= CONST_LEN_MAX {
        return text;
    }
    let head: String = text.chars().take(CONST_LEN_MAX).collect();
    format!("{head}…")
}

/// Floats so that they are read back as the same.
struct CommasOf<'a>(&'a [f64]);

impl std::fmt::Display for CommasOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<String> = self.0.iter().map(|it| format!("{it:?}")).collect();
        f.write_str(&all.join(", "))
    }
}

fn word(op: &impl std::fmt::Debug) -> String {
    format!("{op:?}").to_lowercase()
}

fn sign(op: Binary) -> &'static str {
    match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::FloorDiv => "//",
        Binary::Rem => "%",
        Binary::Pow => "**",
        Binary::Min => "min",
        Binary::Max => "max",
        Binary::Eq => "==",
        Binary::Ne => "!=",
        Binary::Lt => "<",
        Binary::Le => "<=",
        Binary::Gt => ">",
        Binary::Ge => ">=",
        Binary::And => "and",
        Binary::Or => "or",
    }
}
