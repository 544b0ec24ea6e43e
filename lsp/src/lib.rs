//! The language server: what an editor asks about programs.
//!
//! One thread answers, from the text alone; what must look at files, price plans or read data is done
//! by two others beside, and told when it is known. No text and no order of messages ends it.

mod again;
mod analysis;
mod answer;
mod beside;
mod change;
mod columns;
mod complete;
mod cursor;
mod document;
mod hints;
mod hover;
mod names;
mod outline;
mod place;
mod server;
mod stream;
mod text;
mod tree;
mod world;

use driver::Reach;
use lsp_server::{Connection, Message};
use serde_json::Value;
use std::io::{self, BufRead};

/// Serves an editor on stdin and stdout until it says `exit`; gives whether it said `shutdown` before. `reach` says which
/// files programs may use, and of which text files messages show what they say.
///
/// # Errors
/// The streams cannot be read or written.
pub fn serve(reach: Reach) -> io::Result<bool> {
    let (connection, threads) = stream::stdio();
    let orderly = serve_on(connection, reach);
    threads.join()?;
    Ok(orderly)
}

/// The same on any connection.
pub fn serve_on(connection: Connection, reach: Reach) -> bool {
    server::Server::new(connection.sender, reach).run(&connection.receiver)
}

/// What an editor that sends `input` is answered and told by the texts alone, and whether all of it could be
/// read. Nobody works beside: no data is looked at, and what takes its time is not answered.
pub fn answers(mut input: impl BufRead) -> (Vec<Value>, io::Result<()>) {
    let (sender, told) = crossbeam_channel::unbounded();
    let mut server = server::Server::alone(sender, Reach::Project);
    let read = loop {
        match stream::read(&mut input) {
            Ok(Some(Message::Notification(it))) if it.method == "exit" => break Ok(()),
            Ok(Some(message)) => server.message(message),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    drop(server);
    let values = told.into_iter().filter_map(|it| serde_json::to_value(it).ok());
    (values.collect(), read)
}
