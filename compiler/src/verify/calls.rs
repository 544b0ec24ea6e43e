//! What must hold of the library's entries on their arguments, where these come from a file: the
//! same that the checker sees to on the way from the text.

use super::{agree, ensure};
use crate::{
    ast,
    check::fit::{Kind, Vars, are_ints, is_names, is_wanted, kind, result, unify_tensor},
    registry::Registry,
};
use plan::{
    Action, Applied, Arg, DType, Entry, Expr, ExprId, FILE, Field, Graph, Index, Property, Type,
};

/// What arguments may speak of.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// The columns that flow in; programs name these.
    pub(super) columns: &'a [Field],
    /// The expressions over them; plans name these.
    pub(super) graph: Option<&'a Graph>,
}

/// An operator of the library on its streams.
pub(super) struct Operates<'a> {
    pub(super) entry: &'a str,
    pub(super) args: &'a [Arg],
    pub(super) names: &'a [String],
    /// The fields of each stream.
    pub(super) inputs: &'a [&'a [Field]],
    pub(super) record: Record<'a>,
}

/// A function, its arguments, the node's type.
pub(super) fn function(
    registry: &Registry,
    (name, args): (&str, &[Arg]),
    graph: &Graph,
    ty: &Type,
) -> Result<(), String> {
    let entry = registry.function(name).ok_or_else(|| format!("there is no function `{name}`"))?;
    ensure(entry.intrinsic.is_none(), || format!("`{name}` has no code"))?;
    let signature = registry.signature(entry).ok_or("its signature cannot be read")?;
    let record = Record { columns: &[], graph: Some(graph) };
    for id in args.iter().flat_map(ids) {
        let ty = type_of(*id, record)?;
        ensure(!ty.is_texts(), || format!("`{name}` is given `{ty}`"))?;
    }
    let vars =
        arguments(&signature.formals, args, record).map_err(|why| format!("`{name}`: {why}"))?;
    let found = match entry.result {
        Some(it) => it(&Applied { args, graph, inputs: &[], names: &[], found: &[] })?,
        None => {
            let written = signature.result.as_ref().and_then(|it| result(it, &vars));
            written.ok_or_else(|| format!("`{name}` has no result"))?
        }
    };
    agree(ty, &found).map_err(|why| format!("`{name}`: {why}"))
}

/// A source, its arguments, the fields that leave it: those of a table are what they are.
pub(super) fn source(
    registry: &Registry,
    (name, args): (&str, &[Arg]),
    fields: &[Field],
) -> Result<(), String> {
    let entry = registry.source(name).ok_or_else(|| format!("there is no source `{name}`"))?;
    let formals = &registry.signature(entry).ok_or("its signature cannot be read")?.formals;
    arguments(formals, args, Record { columns: &[], graph: None })?;
    let texts = fields.iter().find(|it| it.ty.is_texts());
    ensure(texts.is_none(), || "only `batch` makes texts of a batch".into())?;
    let graph = Graph::default();
    let fields = match fields.split_last() {
        Some((file, own)) if file.name == FILE && entry.has(Property::ByFile) => {
            ensure(file.ty == Type::scalar(DType::Str), || format!("`{FILE}` is no text"))?;
            own
        }
        _ => fields,
    };
    let applied = Applied { args, graph: &graph, inputs: &[], names: &[], found: fields };
    match entry.fields {
        Some(found) => some_fields(&found(&applied)?, fields),
        None => Ok(()),
    }
}

/// Whether these are fields of the entry, in its order: those that nothing needs are left out.
fn some_fields(all: &[Field], found: &[Field]) -> Result<(), String> {
    let is_found = |it: &&Field| found.iter().any(|of| of.name == it.name);
    same_fields(&all.iter().filter(is_found).cloned().collect::<Vec<_>>(), found)
}

/// The values of the record that an argument is.
fn ids(arg: &Arg) -> &[ExprId] {
    match arg {
        Arg::Expr(id) => std::slice::from_ref(id),
        Arg::Exprs(ids) => ids,
        _ => &[],
    }
}

/// An operator, its arguments, the fields that leave it.
pub(super) fn operator(
    registry: &Registry,
    call: &Operates<'_>,
    fields: &[Field],
) -> Result<(), String> {
    let name = call.entry;
    let entry = registry.operator(name).ok_or_else(|| format!("there is no operator `{name}`"))?;
    let signature = registry.signature(entry).ok_or("its signature cannot be read")?;
    let is_stream =
        |it: &&ast::Formal| matches!(kind(it.type_.as_ref()), Kind::Stream | Kind::Streams);
    let is_many = |it: &ast::Formal| matches!(kind(it.type_.as_ref()), Kind::Streams);
    let streams = signature.formals.iter().take_while(is_stream).count();
    let many = signature.formals[..streams].iter().any(is_many);
    let n = call.inputs.len();
    ensure(n == streams || (many && n >= streams), || format!("it reads {n} streams"))?;
    let named = call.names.is_empty() || call.names.len() == n;
    ensure(named, || format!("{} names for {n} streams", call.names.len()))?;
    arguments(&signature.formals[streams..], call.args, call.record)?;
    let fields: Vec<Field> = fields.iter().filter(|it| it.name != FILE).cloned().collect();
    let all = expected(entry, call)?;
    match entry.action() {
        // It makes its own fields one by one: those that nothing needs are left out.
        Some(Action::Pack | Action::Accompany) => some_fields(&all, &fields),
        _ => same_fields(&all, &fields),
    }
}

fn expected(entry: &Entry, call: &Operates<'_>) -> Result<Vec<Field>, String> {
    let mut own = Graph::default();
    let args = in_graph(call, &mut own);
    let graph = call.record.graph.unwrap_or(&own);
    let visible = |it: &&[Field]| -> Vec<Field> {
        it.iter().filter(|it| !it.name.starts_with('$')).cloned().collect()
    };
    let inputs: Vec<Vec<Field>> = call.inputs.iter().map(visible).collect();
    let applied = Applied { args: &args, graph, inputs: &inputs, names: call.names, found: &[] };
    match entry.fields {
        Some(found) => found(&applied),
        None => Ok(inputs.first().cloned().unwrap_or_default()),
    }
}

/// Arguments that name columns, as the checker names them.
fn in_graph(call: &Operates<'_>, graph: &mut Graph) -> Vec<Arg> {
    let node = |it: &Arg| match it {
        Arg::Column(i) => {
            let ty = call.record.columns[*i as usize].ty.clone();
            Arg::Expr(graph.add(Expr::Column(*i), ty))
        }
        other => other.clone(),
    };
    call.args.iter().map(node).collect()
}

fn same_fields(expected: &[Field], found: &[Field]) -> Result<(), String> {
    let same = expected.len() == found.len()
        && expected.iter().zip(found).all(|(a, b)| a.name == b.name && agree(&a.ty, &b.ty).is_ok());
    ensure(same, || "its output fields differ from the library".into())
}

/// Whether each argument is of its parameter's kind; what the signature's variables stand for.
fn arguments(formals: &[ast::Formal], args: &[Arg], record: Record<'_>) -> Result<Vars, String> {
    let (n, wanted) = (args.len(), formals.len());
    ensure(n == wanted, || format!("{n} arguments for {wanted} parameters"))?;
    let mut vars = Vars::default();
    for (formal, arg) in formals.iter().zip(args) {
        let name = &formal.name.text;
        argument(formal, arg, record, &mut vars).map_err(|why| format!("`{name}`: {why}"))?;
    }
    Ok(vars)
}

fn argument(
    formal: &ast::Formal,
    arg: &Arg,
    record: Record<'_>,
    vars: &mut Vars,
) -> Result<(), String> {
    let ty = match arg {
        Arg::None if may_be_absent(formal) => return Ok(()),
        Arg::Expr(id) => Some(type_of(*id, record)?),
        Arg::Column(i) => {
            let field = record.columns.get(*i as usize).filter(|_| record.graph.is_none());
            Some(&field.ok_or_else(|| format!("there is no column {i}"))?.ty)
        }
        _ => None,
    };
    vars.count(formal, arg);
    let fits = match (kind(formal.type_.as_ref()), ty) {
        (_, Some(_)) if formal.each => true,
        (Kind::Tensor(name, extents), Some(ty)) => {
            return unify_tensor(name, extents, ty, vars)
                .map_err(|wanted| format!("`{ty}` is not {wanted}"));
        }
        (Kind::Untyped, Some(ty)) => ty.is_untyped(),
        (Kind::Int, Some(ty)) => is_scalar(ty, false),
        (Kind::Float, Some(ty)) => is_scalar(ty, true),
        (Kind::Any | Kind::Values, Some(_)) => true,
        (kind, None) => is_known(&kind, arg, record)?,
        _ => false,
    };
    ensure(fits, || "it is of another kind".into())
}

/// Whether an argument that is no single value of the record fits.
fn is_known(kind: &Kind<'_>, arg: &Arg, record: Record<'_>) -> Result<bool, String> {
    if let Arg::Exprs(all) = arg {
        all.iter().try_for_each(|it| type_of(*it, record).map(|_| ()))?;
    }
    Ok(match (kind, arg) {
        (Kind::Words(words), Arg::Word(it)) => words.iter().any(|word| word.text == *it),
        (Kind::Int, Arg::Int(_))
        | (Kind::Float, Arg::Int(_) | Arg::Float(_))
        | (Kind::Bool, Arg::Bool(_))
        | (Kind::Text, Arg::Text(_))
        | (Kind::Type, Arg::Type(_))
        | (Kind::Values, Arg::Exprs(_))
        | (Kind::Sources, Arg::Sources(_)) => true,
        // What nobody has read is not run.
        (Kind::File, Arg::File(it)) => it.bytes().is_some(),
        (Kind::Names | Kind::Fields, arg) => is_names(Some(arg)),
        (Kind::Ints(several), arg) => are_ints(*several, arg),
        (Kind::Known(wanted), arg) => is_wanted(wanted, arg),
        _ => false,
    })
}

fn may_be_absent(formal: &ast::Formal) -> bool {
    let is_none = |it: &ast::Expr| matches!(&it.kind, ast::ExprKind::Name(name) if name == "none");
    // A file beside another one may not be there.
    let is_file = matches!(kind(formal.type_.as_ref()), Kind::File);
    let default = formal.default.as_ref();
    formal.optional || formal.each || default.is_some_and(|it| is_file || is_none(it))
}

fn type_of(id: ExprId, record: Record<'_>) -> Result<&Type, String> {
    let graph = record.graph.filter(|it| id.row() < it.len());
    graph.map(|it| it.ty(id)).ok_or_else(|| format!("there is no {id}"))
}

fn is_scalar(ty: &Type, floats: bool) -> bool {
    let number = ty.dtype().is_some_and(|it| it.is_int() || (floats && it.is_float()));
    number && !ty.is_untyped() && ty.shape().is_some_and(<[_]>::is_empty)
}

/// Whether a call names its draw exactly if it draws.
pub(super) fn draws(
    registry: &Registry,
    (name, args): (&str, &[Arg]),
    draws: bool,
) -> Result<(), String> {
    let random = registry.draws(name, args);
    ensure(random == draws, || format!("`{name}` has a draw: {draws}, and draws: {random}"))
}
