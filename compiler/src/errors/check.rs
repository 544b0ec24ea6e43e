//! What is said about names, calls, streams; about values and types in `values`.

pub(crate) mod codes;
mod columns;
mod values;

pub(crate) use codes::CODES;
pub(crate) use columns::*;
pub(crate) use values::*;

use crate::{
    ast::{Call, EachKind, Formal, Name, Text, TypeKind},
    errors::migration as elsewhere,
    migration,
};
use plan::{DType, Diagnostic, Extent, Field, Span, Type, VALUE_BYTES_MAX, nearest, shown_bytes};

// ---- names

pub(crate) fn declared_twice(name: &Name, first: Span) -> Diagnostic {
    let message = format!("`{}` is declared twice", name.text);
    Diagnostic::error(codes::DECLARED_TWICE.code(), name.span, message)
        .label("declared again here")
        .also(first, "declared here first")
        .help("give one of them another name")
}

pub(crate) fn field_twice(name: &Name) -> Diagnostic {
    let message = format!("`{}` is given twice", name.text);
    Diagnostic::error(codes::DECLARED_TWICE.code(), name.span, message).help("remove one of them")
}

pub(crate) fn not_declared_there(name: &Name, file: &str) -> Diagnostic {
    let message = format!("`{file}` does not declare `{}`", name.text);
    Diagnostic::error(codes::NOT_DECLARED_THERE.code(), name.span, message)
}

pub(crate) fn unknown_name(
    name: &str,
    at: Span,
    near: &[&str],
    called: bool,
    fields: Option<&str>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_NAME.code(),
        at,
        format!("cannot find `{name}` in this scope"),
    );
    let near = nearest(name, near);
    if let (false, None, Some(diagnostic)) =
        (called, near, elsewhere::name(diagnostic.clone(), name))
    {
        return diagnostic;
    }
    match (called, near, fields) {
        (true, ..) => diagnostic.help(format!("`{name}` takes arguments: write `{name}(…)`")),
        (_, Some(meant), _) => diagnostic.help(format!("did you mean `{meant}`?")).fix(at, meant),
        (_, _, Some("")) => diagnostic.help("the record has no fields here"),
        (_, _, Some(fields)) => diagnostic.help(format!("the record has the fields {fields}")),
        _ => diagnostic.help("declare it as a `param` or a `const`"),
    }
}

/// `unknown` of a field that there was: a step before leaves it out.
pub(crate) fn left_out(unknown: Diagnostic, name: &str, word: &str, step: Span) -> Diagnostic {
    let diagnostic = Diagnostic { fix: None, ..unknown };
    let diagnostic = diagnostic.also(step, format!("this `{word}` drops `{name}`"));
    let advice = format!("keep it there: `{word} {{ …, {name} }}`");
    diagnostic.help(match word {
        "map" => format!("{advice}, or use `with`, which keeps all fields"),
        _ => advice,
    })
}

pub(crate) fn hides(name: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` is ambiguous: it could be the field or the parameter");
    Diagnostic::error(codes::HIDDEN_NAME.code(), at, message)
        .help(format!("`it.{name}` is the field; rename the parameter to use that instead"))
        .fix(at, format!("it.{name}"))
}

pub(crate) fn it_without_record(at: Span) -> Diagnostic {
    Diagnostic::error(codes::IT_WITHOUT_RECORD.code(), at, "`it` is used where there is no record")
        .help("`it` is the current record inside `map`, `with`, `where` and `flat_map`")
}

pub(crate) fn no_such_field(name: &Name, names: &[&str]) -> Diagnostic {
    let message = format!("the record has no field `{}`", name.text);
    let diagnostic = Diagnostic::error(codes::NO_SUCH_FIELD.code(), name.span, message);
    match nearest(&name.text, names) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(name.span, meant),
        None => diagnostic.help(format!("its fields are {}", quoted(names))),
    }
}

pub(crate) fn no_fields(name: &Name, shown: &str) -> Diagnostic {
    let message = format!("{shown} has no field `{}`", name.text);
    let diagnostic = Diagnostic::error(codes::NO_SUCH_FIELD.code(), name.span, message);
    match nearest(&name.text, &["shape"]) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(name.span, meant),
        None => elsewhere::field(diagnostic.clone(), &name.text).unwrap_or_else(|| {
            diagnostic.help(format!("to call a function, write `x |> {}`", name.text))
        }),
    }
}

pub(crate) fn unknown_type(name: &Name) -> Diagnostic {
    let all: Vec<&str> = plan::DType::ALL.iter().map(|it| it.1).collect();
    let message = format!("unknown type `{}`", name.text);
    let diagnostic = Diagnostic::error(codes::UNKNOWN_TYPE.code(), name.span, message);
    match nearest(&name.text, &all).or_else(|| migration::of_dtype(&name.text)) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(name.span, meant),
        None => diagnostic.help(format!("the dtypes are {}", all.join(", "))),
    }
}

pub(crate) fn not_a_tensor_type(at: Span) -> Diagnostic {
    Diagnostic::error(codes::UNKNOWN_TYPE.code(), at, "this is not the type of a value")
        .help("a type is a dtype with extents, such as `f32[n, 4]`")
}

pub(crate) fn not_a_record_type(at: Span) -> Diagnostic {
    Diagnostic::error(codes::UNKNOWN_TYPE.code(), at, "this is not the type of a record")
        .help("write its fields with their types, such as `{ text: str, label: i64 }`")
}

// ---- calls

/// `own` is what the program declares, `library` what the library has; `behind` what stands left of `|>`.
pub(crate) fn unknown_function(
    call: &Call,
    (own, library): (&[&str], &[&str]),
    (kind, behind): (&str, Option<Span>),
) -> Diagnostic {
    let name = &call.name;
    let message = format!("cannot find {kind} `{}`", name.text);
    let diagnostic = Diagnostic::error(codes::UNKNOWN_FUNCTION.code(), name.span, message);
    let mut meant = nearest(&name.text, own);
    if let (None, Some(row)) = (meant, migration::of_name(&name.text)) {
        return elsewhere::call(diagnostic, row, call, behind);
    }
    meant = meant.or_else(|| migration::of_dtype(&name.text));
    match meant.or_else(|| nearest(&name.text, library)) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(name.span, meant),
        None => diagnostic.help(
            "`pipec doc` lists everything in the library; define your own with `fn` or `pipeline`",
        ),
    }
}

pub(crate) fn comes_later(name: &Name, what: &str) -> Diagnostic {
    let message = format!("`{}` is not part of this `pipec`", name.text);
    Diagnostic::error(codes::COMES_LATER.code(), name.span, message).help(what)
}

pub(crate) fn no_target(target: &Text) -> Diagnostic {
    let message = format!("{} does not name a Python function", target.text);
    Diagnostic::error(codes::FOREIGN_TARGET.code(), target.span, message).help(
        "write `\"module:function\"`, or `\"module:function@1\"` with the version of a pure one",
    )
}

pub(crate) fn no_source(target: &Text) -> Diagnostic {
    let message = format!("{} does not name a Python class or function", target.text);
    Diagnostic::error(codes::FOREIGN_TARGET.code(), target.span, message)
        .help("write `\"module:name\"`; a source has no version")
}

pub(crate) fn pure_target(target: &Text, (pure, random): (bool, bool), place: &str) -> Diagnostic {
    let message = match (pure, random) {
        (true, true) => "a function cannot be both `pure` and `random`",
        (true, false) => "a `pure` function needs a version",
        _ => "only a `pure` function has a version",
    };
    let diagnostic = Diagnostic::error(codes::FOREIGN_TARGET.code(), target.span, message);
    match (pure, random) {
        (true, true) => diagnostic.help("remove one of them"),
        (true, false) => diagnostic
            .help(
                "raise it whenever the function returns something else, so that cached values are not reused",
            )
            .fix(target.span, format!("\"{place}@1\"")),
        _ => diagnostic.help("write `pure` before the `->`, or remove the version"),
    }
}

pub(crate) fn not_called(name: &Name) -> Diagnostic {
    let message = format!("`{}` is not a function", name.text);
    Diagnostic::error(codes::NOT_CALLED.code(), name.span, message)
        .help(format!("remove the parentheses: `{}`", name.text))
}

pub(crate) fn recursion(name: &Name) -> Diagnostic {
    let message = format!("`{}` calls itself", name.text);
    Diagnostic::error(codes::RECURSION.code(), name.span, message)
        .help("recursion is not supported: a program is a finite graph")
}

pub(crate) fn too_deep(at: Span, most: usize) -> Diagnostic {
    let message = format!("calls are nested more than {most} deep");
    Diagnostic::error(codes::TOO_LARGE.code(), at, message)
}

pub(crate) fn too_large(at: Span, most: usize) -> Diagnostic {
    let message = format!("the program expands to more than {most} parts");
    Diagnostic::error(codes::TOO_LARGE.code(), at, message)
        .help("definitions are inlined where they are called: use fewer calls or shorter lists")
}

pub(crate) fn values_too_deep(at: Span, most: usize) -> Diagnostic {
    let message =
        format!("this is a chain of more than {most} values, each computed from the previous one");
    Diagnostic::error(codes::TOO_DEEP.code(), at, message)
        .help("split the work into several `map` steps")
}

pub(crate) fn takes_nothing(name: &Name) -> Diagnostic {
    let message = format!("`{}` takes no arguments", name.text);
    Diagnostic::error(codes::NO_SUCH_PARAMETER.code(), name.span, message)
        .help("the value to the left of `|>` is the first argument")
}

pub(crate) fn given_twice(param: &str, at: Span) -> Diagnostic {
    let message = format!("`{param}` is given twice");
    Diagnostic::error(codes::DECLARED_TWICE.code(), at, message)
        .help("the value to the left of `|>` is the first argument")
}

/// About the `at`-th argument; `foreign` is what is written here for one of its name elsewhere.
pub(crate) fn no_such_parameter(
    call: &Call,
    at: usize,
    formals: &[Formal],
    foreign: Option<migration::Row>,
) -> Diagnostic {
    let (code, arg) = (codes::NO_SUCH_PARAMETER.code(), &call.args[at]);
    let Some(name) = &arg.name else {
        let most = plan::things(formals.len() as u64, "argument", "arguments");
        let message = format!("`{}` takes {most}", call.name.text);
        return Diagnostic::error(code, arg.span(), message)
            .label("one too many")
            .help(format!("its signature is `{}`", head(&call.name.text, formals)));
    };
    let message = format!("`{}` has no parameter `{}`", call.name.text, name.text);
    let diagnostic = Diagnostic::error(code, name.span, message);
    if let Some(row) = foreign {
        return elsewhere::argument(diagnostic, row, call, at);
    }
    let names: Vec<&str> = formals.iter().map(|it| it.name.text.as_str()).collect();
    match nearest(&name.text, &names) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(name.span, meant),
        None => diagnostic.help(format!("its signature is `{}`", head(&call.name.text, formals))),
    }
}

pub(crate) fn missing_arguments(call: &Call, missing: &[&str], formals: &[Formal]) -> Diagnostic {
    let message = format!("`{}` requires {}", call.name.text, quoted(missing));
    Diagnostic::error(codes::MISSING_ARGUMENT.code(), call.span, message)
        .help(format!("its signature is `{}`", head(&call.name.text, formals)))
}

pub(crate) fn not_one_of(word: &str, words: &[Name], at: Span) -> Diagnostic {
    let all: Vec<&str> = words.iter().map(|it| it.text.as_str()).collect();
    let message = format!("`{word}` is not one of {}", quoted(&all));
    let diagnostic = Diagnostic::error(codes::NOT_ONE_OF.code(), at, message);
    match nearest(word, &all) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(at, meant),
        None => diagnostic,
    }
}

pub(crate) fn wanted(param: &str, wanted: &str, shown: &str, at: Span) -> Diagnostic {
    let message = format!("`{param}` must be {wanted}, found {shown}");
    Diagnostic::error(codes::WANTED.code(), at, message)
}

pub(crate) fn list_in_text(name: &Name) -> Diagnostic {
    let message = format!("`{}` is a list, which cannot be part of a text", name.text);
    Diagnostic::error(codes::WANTED.code(), name.span, message)
        .help(format!("a list of files is passed as a whole, such as `files({})`", name.text))
}

pub(crate) fn takes_a_list(name: &Name) -> Diagnostic {
    let message = format!("`{}` takes a list", name.text);
    Diagnostic::error(codes::MISSING_ARGUMENT.code(), name.span, message)
        .help(format!("write `{}([a, b])`", name.text))
}

pub(crate) fn input_type(
    function: &str,
    formal: &Formal,
    found: &Type,
    wanted: &str,
    at: Span,
) -> Diagnostic {
    let message = format!(
        "argument `{}` of `{function}` must be {wanted}, found `{found}`",
        formal.name.text
    );
    let diagnostic = Diagnostic::error(codes::INPUT_TYPE.code(), at, message);
    let axes = |it: &Type| it.shape().map(<[_]>::len);
    let is_picture = matches!(
        formal.type_.as_ref().map(|it| &it.kind),
        Some(TypeKind::Named { extents, .. }) if extents.len() == 3
    );
    let is_path = found.dtype() == Some(DType::Str) && formal.name.text == "bytes";
    match found {
        Type::Untyped(_) => diagnostic.help("state the type of the data: `x as bytes`"),
        found if is_picture && axes(found) == Some(2) => {
            diagnostic.help("an image has three axes: `expand(x, 2)` adds a channel")
        }
        found if is_picture && found.dtype().is_some_and(DType::is_text) => {
            let bytes = if found.dtype() == Some(DType::Str) { "read_file(path)" } else { "bytes" };
            diagnostic.help(format!("an image is needed: decode one with `decode_image({bytes})`"))
        }
        _ if is_path => diagnostic
            .help("a path is not the contents of the file: use `bytes` after `files`, or `read_file(path)`"),
        _ => diagnostic,
    }
}

pub(crate) fn refused(function: &str, why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::REFUSED.code(), at, format!("`{function}`: {why}"))
}

pub(crate) fn value_too_large(ty: &Type, at: Span) -> Diagnostic {
    let (bytes, most) = (bytes_of(ty), shown_bytes(VALUE_BYTES_MAX as u64));
    let message = format!("this value has type `{ty}` and takes {bytes}; the limit is {most}");
    Diagnostic::error(codes::VALUE_TOO_LARGE.code(), at, message).help("make it smaller")
}

pub(crate) fn records_too_large(field: &Field, at: Span) -> Diagnostic {
    let Field { name, ty } = field;
    let message = format!("`{name}` would have type `{ty}` and take {}", bytes_of(ty));
    Diagnostic::error(codes::VALUE_TOO_LARGE.code(), at, message)
        .help("no host has that much memory: batch fewer records, or make them smaller")
}

/// The bytes of a value whose extents are known, for people.
fn bytes_of(ty: &Type) -> String {
    let size = ty.dtype().map_or(1, DType::size) as u64;
    let extent = |it: &Extent| if let Extent::Known(n) = it { *n } else { 1 };
    let extents = ty.shape().unwrap_or_default().iter().map(extent);
    shown_bytes(extents.fold(size, u64::saturating_mul))
}

pub(crate) fn library_lacks(name: &str, at: Span) -> Diagnostic {
    let message = format!("the library has no matching `{name}`");
    Diagnostic::error(codes::LIBRARY.code(), at, message)
        .help("this is a bug in pipec: please report it with the program")
}

// ---- streams

pub(crate) fn function_on_stream(call: &Call) -> Diagnostic {
    let message = format!("`{}` is a function of values, not of a stream", call.name.text);
    Diagnostic::error(codes::FUNCTION_ON_STREAM.code(), call.span, message)
        .help("put the chain inside the braces: `map { name: … |> … }`")
}

pub(crate) fn operator_on_value(name: &Name, shown: &str, at: Span) -> Diagnostic {
    let message = format!("`{}` expects a stream, found {shown}", name.text);
    Diagnostic::error(codes::OPERATOR_ON_VALUE.code(), name.span, message)
        .also(at, "this is not a stream")
}

pub(crate) fn source_on_stream(call: &Call) -> Diagnostic {
    let message = format!("`{}` is a source and takes no stream", call.name.text);
    Diagnostic::error(codes::SOURCE_ON_STREAM.code(), call.span, message)
}

pub(crate) fn each_of_no_record(
    kind: EachKind,
    at: Span,
    shown: &str,
    value_at: Span,
) -> Diagnostic {
    let message = format!("`{}` expects a stream or a record, found {shown}", kind.word());
    Diagnostic::error(codes::NO_RECORD.code(), at, message).also(value_at, "this has no fields")
}

pub(crate) fn each_of_no_stream(kind: EachKind, at: Span) -> Diagnostic {
    let message = format!("`{}` expects a stream, found a single record", kind.word());
    Diagnostic::error(codes::OPERATOR_ON_VALUE.code(), at, message)
}

pub(crate) fn with_no_record(at: Span, shown: &str) -> Diagnostic {
    let message = format!("`with` expects a record, found {shown}");
    Diagnostic::error(codes::NO_RECORD.code(), at, message)
        .help("name the field: `with { name: … }`")
}

pub(crate) fn map_to_no_record(at: Span, shown: &str) -> Diagnostic {
    let message = format!("`map` expects a record, found {shown}");
    Diagnostic::error(codes::NO_RECORD.code(), at, message)
        .help("name the field: `map { name: … }`")
}

pub(crate) fn flat_map_of(shown: &str, at: Span) -> Diagnostic {
    let message = format!("`flat_map` expects a list of records, found {shown}");
    Diagnostic::error(codes::NO_RECORD.code(), at, message)
        .help("write `flat_map [{ name: x } for x in xs]`")
}

pub(crate) fn stream_in_record(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_VALUE.code(), at, "a field must be a value, found a stream")
}

pub(crate) fn stream_else_value(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_A_VALUE.code(),
        at,
        "a record of a stream cannot be replaced by a value",
    )
    .help("write `else skip`, `else another` or `else fail`, or move the `else` inside the braces")
}

pub(crate) fn not_streams(shown: &str, many: bool, at: Span) -> Diagnostic {
    let wanted = if many { "streams, such as `{ a: x, b: y }`" } else { "a stream" };
    Diagnostic::error(codes::NOT_A_STREAM.code(), at, format!("expected {wanted}, found {shown}"))
}

pub(crate) fn pipeline_of(name: &str, shown: &str, at: Span) -> Diagnostic {
    let message = format!("the pipeline `{name}` must be a stream, found {shown}");
    Diagnostic::error(codes::NOT_A_STREAM.code(), at, message)
        .help("a pipeline begins with a source, such as `files(…)`; for a value, use `const`")
}

pub(crate) fn input_unreadable(why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::INPUT_UNREADABLE.code(), at, why)
}

pub(crate) fn object_store(url: &str, at: Span) -> Diagnostic {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let from = rest.split(['*', '?', '{', '[']).next().unwrap_or(rest);
    let from = from.rsplit_once('/').map_or(from, |it| it.0);
    let lower = scheme.to_lowercase();
    let write = |scheme: &str| format!("write `{scheme}://{}`", rest.replace(".blob.", ".dfs."));
    let copy = |command: String| {
        format!(
            "copy the files to a local folder (`{command}`) and use a local pattern, such as `\"data/**/*\"`"
        )
    };
    let known = ["s3", "gs", "az", "abfs", "abfss", "https", "http"];
    let help = match lower.as_str() {
        "s3a" => write("s3"),
        "gcs" => write("gs"),
        "wasb" => write("abfs"),
        "wasbs" => write("abfss"),
        "r2" => format!(
            "write `s3://{rest}`, and set `AWS_ENDPOINT_URL` to `https://ACCOUNT.r2.cloudflarestorage.com`"
        ),
        it if known.contains(&it) && it != scheme => write(it),
        it if known.contains(&it) => {
            let help = copy(format!("rclone copy {scheme}://{from} data/"));
            format!(
                "this `pipec` was built without object stores: build it with `--features full`, or {help}"
            )
        }
        "hf" => copy("hf download … --repo-type dataset --local-dir data".to_owned()),
        "ftp" => copy(format!("wget -P data {url}")),
        "hdfs" => copy(format!("hdfs dfs -get {scheme}://{from} data")),
        _ => copy(format!("rclone copy {scheme}://{from} data/")),
    };
    let message = format!("paths that begin with `{scheme}://` cannot be read");
    Diagnostic::error(codes::OBJECT_STORE.code(), at, message).help(help)
}

pub(crate) fn each_scalar(shown: &str, at: Span) -> Diagnostic {
    let message = format!("expected one number per record, found {shown}");
    Diagnostic::error(codes::EACH_SCALAR.code(), at, message)
}

// ---- the program as a whole

pub(crate) fn param_unset(name: &Name) -> Diagnostic {
    let message = format!("`{}` is not set", name.text);
    Diagnostic::error(codes::PARAM_UNSET.code(), name.span, message)
        .help(format!("set it with `--set {}=…`, or give it a default", name.text))
}

pub(crate) fn empty_path(name: &Name, found: &str) -> Diagnostic {
    let message = format!("`{}` is a path, but is set to {found}", name.text);
    Diagnostic::error(codes::PARAM_VALUE.code(), name.span, message)
        .help(format!("for the current folder, use `--set {}=.`", name.text))
}

pub(crate) fn no_such_param(name: &str, params: &[&str], at: Span) -> Diagnostic {
    let message = format!("unknown parameter `{name}`");
    let diagnostic = Diagnostic::error(codes::PARAM_VALUE.code(), at, message);
    match (nearest(name, params), params) {
        (Some(meant), _) => diagnostic.help(format!("did you mean `--set {meant}=…`?")),
        (None, []) => diagnostic.help("the program declares no parameters"),
        (None, _) => diagnostic.help(all_of("parameter", params)),
    }
}

pub(crate) fn param_kind(
    name: &Name,
    text: &str,
    default: Option<&crate::check::Val>,
) -> Diagnostic {
    let wanted = default.map_or("a number, a boolean or text in quotes", |it| it.kind());
    let message = format!("`{}` must be {wanted}, but is set to `{text}`", name.text);
    Diagnostic::error(codes::PARAM_VALUE.code(), name.span, message)
}

pub(crate) fn const_of(name: &str, shown: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` must be known at compile time, found {shown}");
    Diagnostic::error(codes::NOT_KNOWN.code(), at, message)
}

pub(crate) fn const_of_stream(name: &str, makers: &[&str], at: Span) -> Diagnostic {
    let message = format!("`{name}` must be known at compile time, found a stream");
    let help = format!("operators that make a constant of a stream: {}", quoted(makers));
    Diagnostic::error(codes::NOT_KNOWN.code(), at, message).help(help)
}

pub(crate) fn const_draws(name: &str, what: &str, at: Span) -> Diagnostic {
    let message =
        format!("the stream of the constant `{name}` must not depend on the seed, but {what}");
    Diagnostic::error(codes::CONST_STREAM.code(), at, message)
        .help("compute the constant before this step")
}

pub(crate) fn const_endless(name: &str, at: Span) -> Diagnostic {
    let message = format!("the stream of the constant `{name}` has no end");
    Diagnostic::error(codes::CONST_STREAM.code(), at, message)
        .help("compute the constant before `repeat`, or end the stream with `take`")
}

pub(crate) fn no_pipeline(at: Span) -> Diagnostic {
    Diagnostic::error(codes::WHICH_PIPELINE.code(), at, "the program has no pipeline to run")
        .help("declare one: `pipeline train = files(\"…\") |> …`")
}

pub(crate) fn which_pipeline(names: &[String], at: Span) -> Diagnostic {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("several pipelines could be meant: {}", quoted(&names));
    Diagnostic::error(codes::WHICH_PIPELINE.code(), at, message)
        .help("give the name of the pipeline after the file")
}

pub(crate) fn no_such_pipeline(name: &str, names: &[String], at: Span) -> Diagnostic {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("cannot find pipeline `{name}`");
    let diagnostic = Diagnostic::error(codes::WHICH_PIPELINE.code(), at, message);
    match nearest(name, &names) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
        None if names.is_empty() => diagnostic,
        None => diagnostic.help(all_of("pipeline", &names)),
    }
}

// ---- words of messages

/// All that there are of what is called `kind`.
fn all_of(kind: &str, names: &[&str]) -> String {
    match names {
        [one] => format!("the only {kind} is `{one}`"),
        _ => format!("the {kind}s are {}", quoted(names)),
    }
}

fn quoted(names: &[&str]) -> String {
    let all: Vec<String> = names.iter().map(|it| format!("`{it}`")).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "none".into(),
    }
}

/// `name(first, second: …)`: what a call looks like.
fn head(name: &str, formals: &[Formal]) -> String {
    let formal = |it: &Formal| {
        let optional = it.default.is_some() || it.optional;
        if optional { format!("{}: …", it.name.text) } else { it.name.text.clone() }
    };
    format!("{name}({})", formals.iter().map(formal).collect::<Vec<_>>().join(", "))
}
