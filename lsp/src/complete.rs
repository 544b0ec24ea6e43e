//! What may be written at the cursor, and the parameters of the call that is being written.

use crate::{
    analysis::{Analysis, analyse},
    columns::columns,
    cursor::{Open, Place, cursor, mended},
    document::Document,
    world::{self, Item, ItemKind, World},
};
use compiler::{
    Found,
    ast::{Declaration, DeclarationKind, Formal, PolicyKind, Signature, TypeKind},
};
use lsp_types::{
    ActiveParameter, CompletionItem, CompletionItemKind, Documentation, InsertTextFormat,
    MarkupContent, MarkupKind, ParameterInformation, ParameterInformationLabel, SignatureHelp,
    SignatureInformation,
};
use plan::{DType, is_field_name};

/// What may stand at a byte, the likeliest first.
pub(crate) fn complete(document: &Document, byte: usize, world: &World) -> Vec<CompletionItem> {
    let text = document.text.as_str();
    let at = cursor(text, byte);
    if let Some(columns) = columns(document, byte, (&at, world)) {
        return columns;
    }
    if at.place == Place::Nothing {
        return Vec::new();
    }
    let (mended, end) = mended(text, byte);
    let again = (&mut document.kept.clone(), Some(&document.analysis));
    let analysis = analyse(&document.path, &mended, world, again);
    let offers = Offers { analysis: &analysis, world, end, text: &mended };
    let mut all = match at.place {
        Place::Declaration => declarations(),
        Place::Stage => offers.stages(at.word.len()),
        Place::Type => types(),
        Place::Field(of) => offers.fields_of(of),
        Place::Otherwise => [policies(), offers.values()].concat(),
        Place::Argument(name) => offers.argument(name, at.call.as_ref()),
        Place::Value => [offers.parameters(at.call.as_ref()), offers.values()].concat(),
        Place::Nothing => Vec::new(),
    };
    for (i, it) in all.iter_mut().enumerate() {
        it.sort_text = Some(format!("{i:05}"));
    }
    all
}

pub(crate) fn item(
    label: &str,
    kind: CompletionItemKind,
    detail: impl Into<String>,
) -> CompletionItem {
    let detail = Some(detail.into()).filter(|it| !it.is_empty());
    CompletionItem {
        label: label.to_owned(),
        kind: Some(kind),
        detail,
        ..CompletionItem::default()
    }
}

pub(crate) fn snippet(mut item: CompletionItem, text: String) -> CompletionItem {
    item.insert_text = Some(text);
    item.insert_text_format = Some(InsertTextFormat::Snippet);
    item
}

fn documented(mut item: CompletionItem, doc: &str) -> CompletionItem {
    let value = doc.to_owned();
    if !value.is_empty() {
        let markup = MarkupContent { kind: MarkupKind::Markdown, value };
        item.documentation = Some(Documentation::MarkupContent(markup));
    }
    item
}

fn declarations() -> Vec<CompletionItem> {
    let all = [
        ("pipeline", "pipeline ${1:train} =\n    ${2:files(\"${3:data}/**/*.jpg\")}\n    |> $0"),
        ("fn", "fn ${1:name}(${2:x}) = $0"),
        ("param", "param ${1:data}: ${2:path} = $0"),
        ("const", "const ${1:NAME} = $0"),
        ("use", "use ${1:name} from \"${2:common.pipe}\""),
        ("extern", "extern fn ${1:name}(${2:x}: ${3:f32}) -> ${4:f32} = \"${5:module}:${6:name}\""),
        (
            "extern pipeline",
            "extern pipeline ${1:name}() -> { ${2:x}: ${3:f32} } = \"${4:module}:${5:name}\"",
        ),
        ("edition", "edition 2026"),
    ];
    let keyword = |(word, text): (&str, &str)| {
        snippet(item(word, CompletionItemKind::Keyword, "a declaration"), text.to_owned())
    };
    all.map(keyword).into()
}

fn types() -> Vec<CompletionItem> {
    let dtypes = DType::ALL.iter().map(|it| it.1);
    let all = dtypes.chain(["path", "any", "int", "float"]);
    all.map(|it| item(it, CompletionItemKind::Class, "a type")).collect()
}

fn policies() -> Vec<CompletionItem> {
    let all = [
        (PolicyKind::Skip, "the record is dropped"),
        (PolicyKind::Another, "it is replaced by another record of its source"),
        (PolicyKind::Fail, "the run ends"),
    ];
    all.map(|(it, what)| item(it.word(), CompletionItemKind::Keyword, what)).into()
}

/// What is known where something is to be offered.
struct Offers<'a> {
    analysis: &'a Analysis,
    world: &'a World,
    /// The byte behind the word that stands for what is being written.
    end: usize,
    text: &'a str,
}

impl Offers<'_> {
    /// What may stand right of `|>`: operators on a stream, functions on a value.
    fn stages(&self, _: usize) -> Vec<CompletionItem> {
        let on_stream = match self.left() {
            Some(Found::Stream(_)) => Some(true),
            Some(Found::Value(_)) => Some(false),
            _ => None,
        };
        let each = [
            ("map", "map { ${1:name}: $0 }", "the record is replaced by this"),
            ("with", "with { ${1:name}: $0 }", "these fields are added to the record"),
            ("where", "where $0", "keeps the record if"),
            ("flat_map", "flat_map $0", "each element of a list becomes a record"),
        ];
        let keyword = |(word, text, what): (&str, &str, &str)| {
            snippet(item(word, CompletionItemKind::Keyword, what), text.to_owned())
        };
        let is_wanted = |kind: ItemKind| match kind {
            ItemKind::Operator => on_stream != Some(false),
            ItemKind::Function => on_stream != Some(true),
            ItemKind::Source => false,
        };
        let mut all: Vec<CompletionItem> = each.map(keyword).into();
        all.extend(self.declared_calls(true));
        let items = self.world.items.values().flatten().filter(|it| is_wanted(it.kind));
        all.extend(items.map(|it| self.entry(it, true)));
        all
    }

    /// What stands left of the `|>` before the cursor.
    fn left(&self) -> Option<&Found> {
        let head = self.text[..self.end].rfind("|>")?;
        let end = self.text[..head].trim_end().len() as u32;
        let ends = self.analysis.notes.types.iter().filter(|it| it.0.end == end);
        // The longest: all of the chain.
        ends.filter(|it| *it.1 != Found::Broken).max_by_key(|it| it.0.len()).map(|it| it.1)
    }

    fn fields_of(&self, dot: usize) -> Vec<CompletionItem> {
        let end = dot as u32;
        let ends = self.analysis.notes.types.iter().filter(|it| it.0.end == end);
        let text = ends.max_by_key(|it| it.0.len()).map(|it| it.1.text()).unwrap_or_default();
        if text.starts_with('{') {
            let names = field_names(&text);
            return names.iter().map(|it| item(it, CompletionItemKind::Field, "")).collect();
        }
        vec![item("shape", CompletionItemKind::Property, "its extents")]
    }

    /// Fields, parameters, what is declared, functions and sources.
    fn values(&self) -> Vec<CompletionItem> {
        let byte = self.end as u32;
        let fields = self.analysis.fields_at(byte);
        let written = fields.iter().filter(|it| is_field_name(&it.0));
        let mut all: Vec<CompletionItem> =
            written.map(|(name, ty)| item(name, CompletionItemKind::Field, ty)).collect();
        if !fields.is_empty() {
            all.push(item("it", CompletionItemKind::Variable, "the whole record"));
        }
        all.extend(self.locals(byte));
        all.extend(self.declared_names());
        all.extend(self.declared_calls(false));
        let in_record = !fields.is_empty();
        let is_wanted = |it: &&Item| match it.kind {
            ItemKind::Function => true,
            ItemKind::Source => !in_record,
            ItemKind::Operator => false,
        };
        let items = self.world.items.values().flatten().filter(is_wanted);
        all.extend(items.map(|it| self.entry(it, false)));
        let words = ["if", "not", "true", "false"];
        all.extend(words.map(|it| item(it, CompletionItemKind::Keyword, "")));
        all
    }

    fn locals(&self, byte: u32) -> Vec<CompletionItem> {
        let Some(it) = self.analysis.declaration_at(byte) else { return Vec::new() };
        let formals = world::signature(it).map(|it| it.formals).unwrap_or_default();
        let local = |it: &Formal| item(&it.name.text, CompletionItemKind::Variable, "a parameter");
        formals.iter().map(local).collect()
    }

    fn declared_names(&self) -> Vec<CompletionItem> {
        let declared = &self.analysis.tree().declarations;
        let named = declared.iter().filter_map(|it| match &it.kind {
            DeclarationKind::Param(_) | DeclarationKind::Const(_) => {
                Some((it, CompletionItemKind::Constant))
            }
            DeclarationKind::Pipeline(of) if of.formals.is_none() => {
                Some((it, CompletionItemKind::Variable))
            }
            _ => None,
        });
        let offered = named.filter_map(|(it, kind)| {
            let head = world::head(self.text, it);
            Some(documented(item(&it.name()?.text, kind, head), &it.doc()))
        });
        offered.collect()
    }

    fn declared_calls(&self, piped: bool) -> Vec<CompletionItem> {
        let declared = &self.analysis.tree().declarations;
        let is_source =
            |it: &Declaration| matches!(&it.kind, DeclarationKind::Extern(it) if it.is_pipeline);
        let called = declared.iter().filter(|it| !(piped && is_source(it))).filter_map(|it| {
            let signature = world::signature(it)?;
            let head = world::head(self.text, it);
            let kind = CompletionItemKind::Function;
            let offered = documented(item(&it.name()?.text, kind, head), &it.doc());
            Some(snippet(offered, call_snippet(&signature, piped)))
        });
        called.collect()
    }

    fn entry(&self, it: &Item, piped: bool) -> CompletionItem {
        let kind = match it.kind {
            ItemKind::Function => CompletionItemKind::Function,
            ItemKind::Operator => CompletionItemKind::Method,
            ItemKind::Source => CompletionItemKind::Constructor,
        };
        let offered = documented(item(&it.name, kind, it.head.as_str()), &it.doc);
        let call = it.signature.as_ref().map(|of| call_snippet(of, piped));
        snippet(offered, call.unwrap_or_else(|| it.name.clone()))
    }

    /// The parameters of a call that are not given yet.
    fn parameters(&self, call: Option<&Open<'_>>) -> Vec<CompletionItem> {
        let Some(call) = call else { return Vec::new() };
        let signatures = signatures(self.analysis, self.world, call.name);
        let Some(of) = signatures.first() else { return Vec::new() };
        let taken = usize::from(call.piped) + call.commas.saturating_sub(call.given.len());
        let open = of.formals.iter().skip(taken);
        let open = open.filter(|it| !call.given.contains(&it.0.as_str()));
        let offer = |(name, label): &(String, String)| {
            let offered = item(&format!("{name}:"), CompletionItemKind::Property, label.as_str());
            snippet(offered, format!("{name}: $0"))
        };
        open.map(offer).collect()
    }

    /// What an argument may be: one of its words, else any value.
    fn argument(&self, name: &str, call: Option<&Open<'_>>) -> Vec<CompletionItem> {
        let called = call.map_or("", |it| it.name);
        let all = signatures(self.analysis, self.world, called);
        let formal = all.iter().flat_map(|it| &it.words).find(|it| it.0 == name);
        match formal {
            Some((_, words)) => {
                words.iter().map(|it| item(it, CompletionItemKind::EnumMember, "")).collect()
            }
            None => self.values(),
        }
    }
}

/// The names of the fields of a record type, the outer ones.
fn field_names(text: &str) -> Vec<String> {
    let (mut names, mut depth, mut word) = (Vec::new(), 0, String::new());
    for letter in text.chars() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ':' if depth == 1 => names.push(word.trim().to_owned()),
            ',' if depth == 1 => word.clear(),
            _ if depth == 1 => word.push(letter),
            _ => {}
        }
        if matches!(letter, '{' | ':') {
            word.clear();
        }
    }
    names
}

/// `name(${1:a}, ${2:b})` of what must be given; the name alone where nothing must.
fn call_snippet(signature: &Signature, piped: bool) -> String {
    let name = &signature.name.text;
    let formals = signature.formals.iter().skip(usize::from(piped));
    let needed = formals.filter(|it| it.default.is_none() && !it.optional);
    let holes: Vec<String> =
        needed.enumerate().map(|(i, it)| format!("${{{}:{}}}", i + 1, it.name.text)).collect();
    match (holes.as_slice(), piped) {
        ([], true) => name.clone(),
        _ => format!("{name}({})", holes.join(", ")),
    }
}

/// What can be called by a name.
struct Callable {
    head: String,
    doc: String,
    /// Names and labels of the parameters.
    formals: Vec<(String, String)>,
    /// The parameters that are one of some words.
    words: Vec<(String, Vec<String>)>,
}

fn signatures(analysis: &Analysis, world: &World, name: &str) -> Vec<Callable> {
    let called = |it: &&crate::names::Occurrence| it.text == name;
    let declared = analysis.names.all.iter().filter(called).find_map(|it| match it.meaning {
        crate::names::Meaning::Declared(at) => {
            let (found, text) = analysis.declaration_named(at)?;
            let signature = world::signature(found)?;
            Some(callable(&world::head(text, found), &found.doc(), &signature, text))
        }
        _ => None,
    });
    if let Some(declared) = declared {
        return vec![declared];
    }
    let items = world.items.get(name).into_iter().flatten();
    let known = items.filter_map(|it| {
        let signature = it.signature.as_ref()?;
        Some(callable(&it.head, &it.doc, signature, it.entry.map_or("", |it| it.signature)))
    });
    known.collect()
}

fn callable(head: &str, doc: &str, signature: &Signature, text: &str) -> Callable {
    let label = |it: &Formal| {
        let written = it.span.text(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let label = if head.contains(&written) { written } else { String::new() };
        if label.is_empty() { it.name.text.clone() } else { label }
    };
    let words = |it: &Formal| match it.type_.as_ref().map(|it| &it.kind) {
        Some(TypeKind::Words(words)) => {
            Some((it.name.text.clone(), words.iter().map(|it| it.text.clone()).collect()))
        }
        _ => None,
    };
    Callable {
        head: head.to_owned(),
        doc: doc.to_owned(),
        formals: signature.formals.iter().map(|it| (it.name.text.clone(), label(it))).collect(),
        words: signature.formals.iter().filter_map(words).collect(),
    }
}

/// The parameters of the call that is being written at a byte.
pub(crate) fn signature_help(
    document: &Document,
    byte: usize,
    world: &World,
) -> Option<SignatureHelp> {
    let at = cursor(document.text.as_str(), byte);
    let call = at.call?;
    let all = signatures(&document.analysis, world, call.name);
    let information = |it: &Callable| {
        let position = call.commas + usize::from(call.piped);
        let active = match call.named {
            Some(name) => it.formals.iter().position(|it| it.0 == name),
            None => Some(position).filter(|at| *at < it.formals.len()),
        };
        let label = |(_, label): &(String, String)| ParameterInformation {
            label: ParameterInformationLabel::String(label.clone()),
            documentation: None,
        };
        let markup = MarkupContent { kind: MarkupKind::Markdown, value: it.doc.clone() };
        SignatureInformation {
            label: it.head.clone(),
            documentation: Some(Documentation::MarkupContent(markup)),
            parameters: Some(it.formals.iter().map(label).collect()),
            active_parameter: active.map(|it| ActiveParameter::Int(it as u32)),
        }
    };
    let signatures: Vec<SignatureInformation> = all.iter().map(information).collect();
    let active_parameter = signatures.first().and_then(|it| it.active_parameter);
    (!signatures.is_empty()).then_some(SignatureHelp {
        signatures,
        active_signature: Some(0),
        active_parameter,
    })
}
