//! The loop: takes messages, keeps the open documents, lets others work, answers.
//!
//! Threads: this one owns the documents and answers requests. A worker takes [`Job`]s from a channel
//! and hands back what came of them; of several looks at one document it does the last. Another one
//! answers commands, which may read data. Both end when their channels are closed, which is when this
//! loop has ended; a job that is being done then is left alone, since the process ends.

use crate::{
    answer::{self, Answer, error},
    beside::{Done, Job, Program, work},
    document::Document,
    world::World,
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, never, select, unbounded};
use driver::Reach;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use lsp_types::{DidChangeTextDocumentParams, TextDocumentContentChangeEvent as Change};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

/// A look begins when nothing has been typed for so long.
const QUIET: Duration = Duration::from_millis(120);
/// Documents that are open at once; of more, nothing is known.
const DOCUMENTS_MAX: usize = 512;
/// What is said where nothing else can be.
const BUG: &str = "internal error in pipec lsp; its view of the document is unchanged";

/// The server of one editor.
pub(crate) struct Server {
    sender: Sender<Message>,
    pub(crate) world: World,
    pub(crate) documents: BTreeMap<String, Document>,
    jobs: Sender<Job>,
    done: Receiver<Done>,
    commands: Sender<(RequestId, Command)>,
    began: bool,
    shutdown: bool,
    /// Whether the editor shows what a command gives, as it has said.
    shows: bool,
    /// What the editor can be asked to ask for again.
    refreshes: Vec<&'static str>,
    /// Requests to the editor so far.
    asked: i32,
}

/// What a command asks for.
enum Command {
    Explain(Program, String, Option<String>),
    Peek(Program, String),
}

/// A document, where nothing else is said of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    text_document: Identifier,
}

#[derive(Deserialize)]
struct Identifier {
    uri: String,
}

/// A document that is opened.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    text_document: OpenedText,
}

#[derive(Deserialize)]
struct OpenedText {
    uri: String,
    #[serde(default)]
    version: i32,
    text: String,
}

impl Server {
    pub(crate) fn new(sender: Sender<Message>, reach: Reach) -> Self {
        let (jobs, todo) = unbounded();
        let (tell, done) = unbounded();
        let (commands, asked) = unbounded();
        let answers = sender.clone();
        thread::spawn(move || look(&todo, &tell));
        thread::spawn(move || answer_commands(&asked, &answers));
        Self { jobs, done, commands, ..Self::alone(sender, reach) }
    }

    /// A server beside which nobody works: it knows what the texts say, and nothing else.
    pub(crate) fn alone(sender: Sender<Message>, reach: Reach) -> Self {
        Self {
            sender,
            world: World::new(reach),
            documents: BTreeMap::new(),
            jobs: unbounded().0,
            done: never(),
            commands: unbounded().0,
            began: false,
            shutdown: false,
            shows: false,
            refreshes: Vec::new(),
            asked: 0,
        }
    }

    /// Runs until the editor ends it; whether it had said so before.
    pub(crate) fn run(mut self, messages: &Receiver<Message>) -> bool {
        let done = self.done.clone();
        loop {
            select! {
                recv(messages) -> it => match it {
                    Ok(Message::Notification(it)) if it.method == "exit" => return self.shutdown,
                    Ok(it) => self.message(it),
                    Err(_) => return self.shutdown,
                },
                recv(done) -> it => it.into_iter().for_each(|it| self.learn(it)),
            }
        }
    }

    pub(crate) fn message(&mut self, message: Message) {
        match message {
            Message::Request(it) => self.request(it),
            Message::Notification(it) => {
                let taken = catch_unwind(AssertUnwindSafe(|| self.notification(it)));
                if taken.is_err() {
                    self.notify("window/logMessage", json!({ "type": 1, "message": BUG }));
                }
            }
            Message::Response(_) => {}
        }
    }

    fn request(&mut self, request: Request) {
        let id = request.id.clone();
        let answer = match (request.method.as_str(), self.began, self.shutdown) {
            ("initialize", false, _) => Ok(self.initialize(&request.params)),
            (_, false, _) => {
                Err(error(ErrorCode::ServerNotInitialized, "the server is not initialized"))
            }
            ("initialize", true, _) | (_, _, true) => {
                Err(error(ErrorCode::InvalidRequest, "the request is not valid in this state"))
            }
            ("shutdown", ..) => {
                self.shutdown = true;
                Ok(Value::Null)
            }
            ("workspace/executeCommand", ..) => match self.command(&id, request.params) {
                Ok(Some(answer)) => Ok(answer),
                // It is answered when it is done.
                Ok(None) => return,
                Err(it) => Err(it),
            },
            _ => catch_unwind(AssertUnwindSafe(|| answer::answer(self, request)))
                .unwrap_or_else(|_| Err(error(ErrorCode::InternalError, BUG))),
        };
        respond(&self.sender, id, answer);
        self.probe();
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.began = true;
        self.shows = params["initializationOptions"]["showsResults"] == Value::Bool(true);
        let workspace = &params["capabilities"]["workspace"];
        let can = |it: &&str| workspace[*it]["refreshSupport"] == Value::Bool(true);
        self.refreshes = ["inlayHint", "codeLens"].into_iter().filter(can).collect();
        answer::capabilities()
    }

    fn notification(&mut self, it: Notification) {
        if !self.began || self.shutdown {
            return;
        }
        match it.method.as_str() {
            "textDocument/didOpen" => {
                let Ok(it) = serde_json::from_value::<Opened>(it.params) else { return };
                self.open(it.text_document);
            }
            "textDocument/didChange" => {
                let Ok(it) = serde_json::from_value(it.params) else { return };
                self.change(it);
            }
            "textDocument/didClose" => {
                let Ok(it) = serde_json::from_value::<Named>(it.params) else { return };
                self.close(&it.text_document.uri);
            }
            // What is written may be used by others, or be a lock, a profile, data.
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => self.renew_all(),
            _ => {}
        }
    }

    fn open(&mut self, it: OpenedText) {
        if self.documents.len() >= DOCUMENTS_MAX && !self.documents.contains_key(&it.uri) {
            let message =
                format!("more than {DOCUMENTS_MAX} documents are open: `{}` is ignored", it.uri);
            self.notify("window/logMessage", json!({ "type": 2, "message": message }));
            return;
        }
        let document = Document::new(&it.uri, it.version, it.text, &self.world);
        self.documents.insert(it.uri.clone(), document);
        self.told(&it.uri);
    }

    fn change(&mut self, it: DidChangeTextDocumentParams) {
        let uri = it.text_document.text_document_identifier.uri.0;
        let Some(document) = self.documents.get_mut(&uri) else { return };
        for change in it.content_changes {
            match change {
                Change::TextDocumentContentChangePartial(it) => {
                    document.text.edit(it.range, &it.text);
                }
                Change::TextDocumentContentChangeWholeDocument(it) => {
                    document.text.edit(document.text.whole(), &it.text);
                }
            }
        }
        document.version = it.text_document.version;
        self.world.open(&document.path, document.text.as_str());
        let before = document.edited(&self.world);
        // To forget it takes as long as to find something out.
        let _ = self.jobs.send(Job::Forget(Box::new(before)));
        self.told(&uri);
    }

    fn close(&mut self, uri: &str) {
        let Some(document) = self.documents.remove(uri) else { return };
        self.world.forget(&document.path);
        let nothing = json!({ "uri": uri, "diagnostics": [] });
        self.notify("textDocument/publishDiagnostics", nothing);
    }

    /// Files have changed: everything is looked at again.
    fn renew_all(&mut self) {
        self.world.forget_read(self.documents.values().map(|it| it.path.as_path()));
        self.world.probes.forget();
        for document in self.documents.values_mut() {
            document.renew(&self.world);
        }
        let uris: Vec<String> = self.documents.keys().cloned().collect();
        uris.iter().for_each(|it| self.told(it));
    }

    /// Has the files looked at that were asked for.
    fn probe(&self) {
        for it in self.world.probes.wanted() {
            let _ = self.jobs.send(Job::Probe(it));
        }
    }

    /// Tells what is wrong with a document, and has the rest found out.
    fn told(&mut self, uri: &str) {
        self.probe();
        let Some(document) = self.documents.get(uri) else { return };
        self.publish(document);
        let (version, program) = (document.revision, document.program(&self.world));
        let _ = self.jobs.send(Job::Look { uri: uri.to_owned(), version, program });
    }

    fn publish(&self, document: &Document) {
        let diagnostics = answer::diagnostics(document);
        let params = json!({
            "uri": document.uri,
            "version": document.version,
            "diagnostics": diagnostics,
        });
        self.notify("textDocument/publishDiagnostics", params);
    }

    /// Takes what was found out beside.
    pub(crate) fn learn(&mut self, done: Done) {
        match done {
            Done::Probed(wanted, found) => {
                self.world.probes.learn(wanted, found);
                for document in self.documents.values_mut() {
                    document.renew(&self.world);
                }
                let uris: Vec<String> = self.documents.keys().cloned().collect();
                uris.iter().for_each(|it| self.told(it));
            }
            Done::Looked { uri, version, diagnostics, costs } => {
                let Some(document) = self.documents.get_mut(&uri) else { return };
                if document.revision != version {
                    return;
                }
                document.checked = Some(diagnostics);
                if !costs.is_empty() {
                    document.costs = costs;
                }
                if let Some(document) = self.documents.get(&uri) {
                    self.publish(document);
                }
            }
        }
        // Hints and lenses are of what is known.
        for what in self.refreshes.clone() {
            self.ask(&format!("workspace/{what}/refresh"));
        }
    }

    fn notify(&self, method: &str, params: Value) {
        let it = Notification { method: method.to_owned(), params };
        let _ = self.sender.send(Message::Notification(it));
    }

    /// Asks the editor to do something; what it answers changes nothing.
    fn ask(&mut self, method: &str) {
        self.asked = self.asked.wrapping_add(1);
        let id = RequestId::from(self.asked);
        let it = Request { id, method: method.to_owned(), params: Value::Null };
        let _ = self.sender.send(Message::Request(it));
    }

    /// Does a command; none where it takes its time.
    fn command(&self, id: &RequestId, params: Value) -> Result<Option<Value>, ResponseError> {
        let wrong = |what: &str| error(ErrorCode::InvalidParams, what);
        let name = params["command"].as_str().unwrap_or_default();
        let text = |i: usize| params["arguments"][i].as_str().map(str::to_owned);
        if name == "pipec.story" {
            let code = text(0).unwrap_or_default();
            let codes = driver::codes();
            let found = codes.into_iter().find(|it| it.id == code);
            let found = found.ok_or_else(|| wrong("unknown code"))?;
            let story = format!("{} {}\n\n{}", found.id, found.name, found.long.trim_end());
            self.show(&story);
            return Ok(Some(Value::String(story)));
        }
        let document = text(0).and_then(|it| self.documents.get(&it));
        let document = document.ok_or_else(|| wrong("the document is not open"))?;
        let pipeline = text(1).ok_or_else(|| wrong("expected the name of a pipeline"))?;
        let program = document.program(&self.world);
        let command = match name {
            "pipec.explain" => Command::Explain(program, pipeline, text(2)),
            "pipec.peek" => Command::Peek(program, pipeline),
            _ => return Err(error(ErrorCode::MethodNotFound, "unknown command")),
        };
        let _ = self.commands.send((id.clone(), command));
        Ok(None)
    }

    fn show(&self, text: &str) {
        if !self.shows {
            self.notify("window/showMessage", json!({ "type": 3, "message": text }));
        }
    }
}

fn respond(sender: &Sender<Message>, id: RequestId, answer: Answer) {
    let _ = sender.send(Message::Response(Response { id, response_result: answer }));
}

/// Does one job after another; of looks at one document the last, when nothing is typed.
fn look(jobs: &Receiver<Job>, tell: &Sender<Done>) {
    let mut waiting: BTreeMap<String, Job> = BTreeMap::new();
    loop {
        let job = match waiting.is_empty() {
            true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => jobs.recv_timeout(QUIET),
        };
        let now = match job {
            Ok(Job::Look { uri, version, program }) => {
                waiting.insert(uri.clone(), Job::Look { uri, version, program });
                continue;
            }
            Ok(other) => other,
            Err(RecvTimeoutError::Timeout) => match waiting.pop_first() {
                Some((_, job)) => job,
                None => continue,
            },
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // What cannot be looked at is left as it was; the next change is looked at anew.
        if let Ok(Some(done)) = catch_unwind(AssertUnwindSafe(|| work(now)))
            && tell.send(done).is_err()
        {
            return;
        }
    }
}

fn answer_commands(asked: &Receiver<(RequestId, Command)>, answers: &Sender<Message>) {
    for (id, command) in asked {
        let done = catch_unwind(AssertUnwindSafe(|| match command {
            Command::Explain(program, name, step) => program.explained(&name, step.as_deref()),
            Command::Peek(program, name) => program.peeked(&name),
        }));
        let done = done.unwrap_or_else(|_| Err(BUG.to_owned()));
        let answer = done.map(Value::String).map_err(|it| error(ErrorCode::RequestFailed, &it));
        respond(answers, id, answer);
    }
}
