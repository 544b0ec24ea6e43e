//! What a client asks for, as far as the server needs it.

use std::io::{self, BufRead};

pub(crate) struct Request {
    pub(crate) method: String,
    /// Decoded, without what stands behind `?`.
    pub(crate) path: String,
    query: String,
    /// Its line and its headers, as they came.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The next one; none where the client has closed the connection.
    pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut head = String::new();
        loop {
            let begin = head.len();
            if input.read_line(&mut head)? == 0 {
                return Ok(None);
            }
            if head[begin..].trim().is_empty() {
                break;
            }
        }
        let mut line = head.lines().next().unwrap_or_default().split(' ');
        let method = line.next().unwrap_or_default().to_owned();
        let target = line.next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query) = (decoded(path, '+'), query.to_owned());
        let mut request = Self { method, path, query, head, body: Vec::new() };
        let len: usize =
            request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        request.body.resize(len, 0);
        input.read_exact(&mut request.body)?;
        Ok(Some(request))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|it| it.split_once(':'));
        headers.find(|it| it.0.eq_ignore_ascii_case(name)).map(|it| it.1.trim())
    }

    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let mut all = self.query.split('&').filter_map(|it| it.split_once('='));
        all.find(|it| it.0 == name).map(|it| decoded(it.1, ' '))
    }
}

/// `%41` is `A`, and `+` stands for what it does there.
pub(crate) fn decoded(text: &str, plus: char) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = more.get(..2).and_then(|it| str::from_utf8(it).ok());
        match hex.and_then(|it| u8::from_str_radix(it, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(if *first == b'+' { plus as u8 } else { *first });
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
