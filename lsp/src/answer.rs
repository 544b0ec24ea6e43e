//! What each request is answered with.

use crate::{
    change, complete, document::Document, hints, hover, outline, server::Server, world::World,
};
use lsp_server::{ErrorCode, Request, ResponseError};
use lsp_types::{
    Code, CodeActionParams, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    InlayHintParams, Location, Message, Position, ReferenceParams, RenameParams, Uri,
};
use plan::{FileId, Severity};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What a request is answered with.
pub(crate) type Answer = Result<Value, ResponseError>;

pub(crate) fn error(code: ErrorCode, message: &str) -> ResponseError {
    ResponseError { code: code as i32, message: message.to_owned(), data: None }
}

/// What the server can do.
pub(crate) fn capabilities() -> Value {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "hoverProvider": true,
            "inlayHintProvider": true,
            "completionProvider": { "triggerCharacters": [".", ">", ":", "(", "{", "[", "\""] },
            "signatureHelpProvider": { "triggerCharacters": ["(", ","] },
            "definitionProvider": true,
            "referencesProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "foldingRangeProvider": true,
            "documentFormattingProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", "refactor", ""] },
            "codeLensProvider": { "resolveProvider": false },
            "executeCommandProvider": { "commands": ["pipec.explain", "pipec.peek", "pipec.story"] },
            "semanticTokensProvider": {
                "legend": { "tokenTypes": outline::TOKEN_TYPES, "tokenModifiers": [] },
                "full": true,
            },
        },
        "serverInfo": { "name": "pipec", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// A request about a document, perhaps about a place in it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    text_document: Identifier,
    #[serde(default)]
    position: Position,
}

#[derive(Deserialize)]
struct Identifier {
    uri: String,
}

/// Answers a request about a document.
pub(crate) fn answer(server: &Server, request: Request) -> Answer {
    let world = &server.world;
    match request.method.as_str() {
        "textDocument/inlayHint" => ranged(server, request, |document, it: InlayHintParams| {
            json(&hints::hints(document, it.range))
        }),
        "textDocument/codeAction" => ranged(server, request, |document, it: CodeActionParams| {
            let mut all = change::actions(document, it.range, world);
            if let Some(only) = &it.context.only {
                all.retain(|action| action.kind.as_ref().is_some_and(|kind| only.contains(kind)));
            }
            json(&all)
        }),
        "textDocument/references" => ranged(server, request, |document, it: ReferenceParams| {
            let at = document.text.offset(it.text_document_position_params.position) as u32;
            json(&change::references(document, at, it.context.include_declaration))
        }),
        "textDocument/rename" => ranged(server, request, |document, it: RenameParams| {
            let at = document.text.offset(it.text_document_position_params.position) as u32;
            let renamed = change::rename(document, at, &it.new_name);
            json(&renamed.map_err(|it| error(ErrorCode::RequestFailed, &it))?)
        }),
        method => {
            let method = method.to_owned();
            ranged(server, request, |document, it: About| at(document, &method, it.position, world))
        }
    }
}

/// Reads the parameters and finds the document; where it is not open there is nothing to say.
fn ranged<P: DeserializeOwned>(
    server: &Server,
    request: Request,
    answer: impl FnOnce(&Document, P) -> Answer,
) -> Answer {
    if !METHODS.contains(&request.method.as_str()) {
        let message = format!("`{}` is not supported", request.method);
        return Err(error(ErrorCode::MethodNotFound, &message));
    }
    let wrong = |it: serde_json::Error| error(ErrorCode::InvalidParams, &it.to_string());
    let about: About = serde_json::from_value(request.params.clone()).map_err(wrong)?;
    let params = serde_json::from_value(request.params).map_err(wrong)?;
    match server.documents.get(&about.text_document.uri) {
        Some(document) => answer(document, params),
        None => Ok(Value::Null),
    }
}

/// The requests that are answered.
const METHODS: [&str; 14] = [
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/completion",
    "textDocument/definition",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/formatting",
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/prepareRename",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/semanticTokens/full",
    "textDocument/signatureHelp",
];

fn at(document: &Document, method: &str, position: Position, world: &World) -> Answer {
    let byte = document.text.offset(position);
    let at = byte as u32;
    match method {
        "textDocument/hover" => json(&hover::hover(document, at, world)),
        "textDocument/completion" => {
            let items = complete::complete(document, byte, world);
            // What files are to be looked at for is asked again.
            json(&json!({ "isIncomplete": world.probes.wants_some(), "items": items }))
        }
        "textDocument/signatureHelp" => json(&complete::signature_help(document, byte, world)),
        "textDocument/definition" => json(&change::definition(document, at)),
        "textDocument/prepareRename" => {
            let it = change::renamed(document, at);
            let it = it.map_err(|it| error(ErrorCode::RequestFailed, &it))?;
            json(&document.text.range(it.at))
        }
        "textDocument/documentSymbol" => json(&outline::symbols(document)),
        "textDocument/foldingRange" => json(&outline::folds(document)),
        "textDocument/semanticTokens/full" => json(&outline::tokens(document)),
        "textDocument/formatting" => json(&change::formatted(document)),
        _ => json(&hints::lenses(document)),
    }
}

fn json(it: &impl Serialize) -> Answer {
    serde_json::to_value(it).map_err(|it| error(ErrorCode::InternalError, &it.to_string()))
}

/// The messages about a document.
pub(crate) fn diagnostics(document: &Document) -> Vec<Diagnostic> {
    document.diagnostics().iter().map(|it| diagnostic(document, it)).collect()
}

fn diagnostic(document: &Document, it: &plan::Diagnostic) -> Diagnostic {
    let place = driver::place(&document.analysis.loaded.files, it.span);
    let elsewhere = it.span.file != FileId::default();
    let mut message = match place.filter(|_| elsewhere) {
        Some(at) => format!("in `{}:{}:{}`: {}", at.path, at.line, at.column, it.message),
        None => it.message.clone(),
    };
    if let Some(help) = &it.help {
        message += &format!("\nhelp: {help}");
    }
    let related = it.labels.iter().filter(|it| it.span.file == FileId::default());
    let related: Vec<DiagnosticRelatedInformation> = related
        .map(|it| DiagnosticRelatedInformation {
            location: Location {
                uri: Uri(document.uri.clone()),
                range: document.text.range(it.span),
            },
            message: it.text.clone(),
        })
        .collect();
    Diagnostic {
        range: document.text.range(document.analysis.shown_at(it.span)),
        severity: Some(match it.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
        }),
        code: Some(Code::String(it.code.id.to_owned())),
        code_description: None,
        source: Some("pipec".to_owned()),
        message: Message::String(message),
        tags: None,
        related_information: Some(related).filter(|it| !it.is_empty()),
        data: None,
    }
}
