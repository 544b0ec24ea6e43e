//! Messages on stdin and stdout. No message takes more memory than [`MESSAGE_MAX`], whatever it says of
//! its length.

use crossbeam_channel::bounded;
use lsp_server::{Connection, Message};
use std::{
    io::{self, BufRead, Read},
    thread::{self, JoinHandle},
};

/// Bytes of a message: a document, escaped, many times as large as one that is understood.
const MESSAGE_MAX: u64 = 64 << 20;
/// Bytes of what stands before one.
const HEAD_MAX: u64 = 8 << 10;

/// The threads that read and write.
pub(crate) struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits until both have ended.
    pub(crate) fn join(self) -> io::Result<()> {
        let ended = |it: JoinHandle<io::Result<()>>| {
            it.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        };
        ended(self.reader).and(ended(self.writer))
    }
}

/// The connection of stdin and stdout. Either channel holds nothing: who sends waits for who takes.
pub(crate) fn stdio() -> (Connection, Threads) {
    let (sender, outgoing) = bounded::<Message>(0);
    let (incoming, receiver) = bounded::<Message>(0);
    let writer = thread::spawn(move || {
        let mut out = io::stdout().lock();
        outgoing.into_iter().try_for_each(|it| it.write(&mut out))
    });
    let reader = thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(message) = read(&mut input)? {
            let is_exit = matches!(&message, Message::Notification(it) if it.method == "exit");
            // It fails only where the server has ended.
            if incoming.send(message).is_err() || is_exit {
                break;
            }
        }
        Ok(())
    });
    (Connection { sender, receiver }, Threads { reader, writer })
}

/// The next message; none at the end.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let (mut head, mut len) = (Vec::new(), 0);
    loop {
        let start = head.len();
        input.by_ref().take(HEAD_MAX - start as u64).read_until(b'\n', &mut head)?;
        let line = &head[start..];
        if head.len() as u64 >= HEAD_MAX {
            return wrong(format!("the header of a message is longer than {HEAD_MAX} bytes"));
        }
        if matches!(line, b"" | b"\n" | b"\r\n") {
            break;
        }
        len = length(line).unwrap_or(len);
    }
    if len > MESSAGE_MAX {
        let most = MESSAGE_MAX >> 20;
        return wrong(format!("a message of {len} bytes exceeds the limit of {most} MiB"));
    }
    // What the message holds may be somebody's secret: it is not shown.
    Message::read(&mut head.as_slice().chain(input.take(len))).map_err(|it| match it.kind() {
        io::ErrorKind::InvalidData => {
            io::Error::new(it.kind(), "a message is not one of the language server protocol")
        }
        _ => it,
    })
}

/// The length that a line of a head says.
fn length(line: &[u8]) -> Option<u64> {
    let (name, value) = str::from_utf8(line).ok()?.split_once(':')?;
    name.trim().eq_ignore_ascii_case("Content-Length").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_whole_or_refused_before_memory_is_taken() {
        let body = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let sent = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let twice = format!("{sent}{sent}");
        let mut input = twice.as_bytes();
        for _ in 0..2 {
            assert!(matches!(read(&mut input).unwrap(), Some(Message::Notification(_))));
        }
        assert!(read(&mut input).unwrap().is_none());
        for huge in ["1000000000000", "18446744073709551615"] {
            let sent = format!("content-length: {huge}\r\n\r\n");
            assert!(read(&mut sent.as_bytes()).unwrap_err().to_string().contains("64 MiB"));
        }
        let endless = "x".repeat(1 << 20);
        assert!(read(&mut endless.as_bytes()).unwrap_err().to_string().contains("8192"));
        assert!(read(&mut &sent.as_bytes()[..40]).is_err());
        let other = read(&mut &b"Content-Length: 12\r\n\r\nsecretsecret"[..]).unwrap_err();
        assert!(!other.to_string().contains("secret"), "{other}");
    }
}
