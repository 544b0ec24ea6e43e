//! A small object store for tests: the folders in a folder are buckets, served on the loopback as S3 does it (GET with
//! ranges, HEAD, PUT, `DeleteObjects`, `ListObjectsV2`), as Google's Cloud Storage does (the same, but DELETE) and as the
//! emulator of Azure's Blob Storage (`azure.rs`); all are also plain files of a web server. It is as slow as a test wants
//! it, and does wrong what it is told to.
//!
//! Nothing is authenticated: what a request carries in `Authorization` is not looked at.

mod azure;
mod request;

use request::Request;
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs::{self, File},
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant, UNIX_EPOCH},
};

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status, and no more.
    Status(u16),
    /// The connection is closed when half of the body is out: of an object, not of an error. Of a request that writes,
    /// when it is carried out, and before it is answered.
    Reset,
    /// The body is shorter than the answer says, and nothing follows it.
    Short,
    /// It waits so many milliseconds more than others.
    Slow(u64),
}

/// What the server is like.
#[derive(Debug, Clone)]
pub struct Manner {
    /// From a request to the first byte of its answer.
    pub latency: Duration,
    /// Bytes a second of one connection.
    pub bytes_per_second: Option<u64>,
    /// Objects that a page of a listing has, at most.
    pub page: usize,
    /// What goes wrong with the request of that number that reads objects, or a page of a listing; the first is 0.
    pub fault: fn(usize) -> Option<Fault>,
    /// The same of the requests that write or remove objects; these have their own numbers.
    pub write_fault: fn(usize) -> Option<Fault>,
}

impl Default for Manner {
    /// As fast as it can be, and without a fault.
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            bytes_per_second: None,
            page: 1000,
            fault: |_| None,
            write_fault: |_| None,
        }
    }
}

/// The requests that there were.
#[derive(Debug, Default)]
pub struct Counts {
    /// GET of objects, or ranges of them.
    pub gets: AtomicUsize,
    /// PUT of objects, and requests that remove some.
    pub writes: AtomicUsize,
    /// Requests that write, at a time.
    pub writes_most: AtomicUsize,
    writing: AtomicUsize,
    /// HEAD.
    pub heads: AtomicUsize,
    /// Pages of listings.
    pub lists: AtomicUsize,
    /// Bytes of bodies that went out.
    pub bytes: AtomicUsize,
    /// Connections that were ever open at a time.
    pub connections_most: AtomicUsize,
    connections: AtomicUsize,
}

struct Shared {
    folder: PathBuf,
    manner: Mutex<Manner>,
    counts: Counts,
    /// Text of every request as it came: where a test looks for what must not be there.
    heads: Mutex<Vec<String>>,
    /// Objects that were ever put.
    drafts: AtomicUsize,
    ends: AtomicBool,
}

/// The server; it ends with this.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Serves a folder of buckets, on a port that is free.
    ///
    /// # Errors
    /// There is none.
    pub fn start(folder: &Path, manner: Manner) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            manner: Mutex::new(manner),
            counts: Counts::default(),
            heads: Mutex::default(),
            drafts: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
        });
        let of_listener = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if of_listener.ends.load(SeqCst) {
                    return;
                }
                let (shared, Ok(stream)) = (of_listener.clone(), stream) else { continue };
                thread::spawn(move || shared.serve(&stream));
            }
        });
        Ok(Self { address, shared })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on it is like that.
    pub fn set(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }

    /// What was asked of it.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// The requests that came: their lines, and those of their headers.
    pub fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ends.store(true, SeqCst);
        // The thread waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

/// What there is to say.
struct Answer {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: String::new(), body: body.into() }
    }

    fn missing() -> Self {
        Self::new(404, "<Error><Code>NoSuchKey</Code></Error>")
    }
}

impl Shared {
    /// Answers what comes over one connection.
    fn serve(&self, stream: &TcpStream) {
        let now = self.counts.connections.fetch_add(1, SeqCst) + 1;
        self.counts.connections_most.fetch_max(now, SeqCst);
        let _ = stream.set_nodelay(true);
        let mut input = BufReader::new(stream);
        while let Ok(Some(request)) = Request::read(&mut input) {
            let head = request.head.clone();
            self.heads.lock().unwrap_or_else(PoisonError::into_inner).push(head);
            match self.answer(request, stream) {
                Ok(true) => {}
                _ => break,
            }
        }
        self.counts.connections.fetch_sub(1, SeqCst);
    }

    /// Answers one request; `false` where the connection ends with it.
    fn answer(&self, mut request: Request, mut out: &TcpStream) -> io::Result<bool> {
        let manner = self.manner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let in_account = azure::path_in_account(&request.path);
        let is_azure = in_account.is_some();
        if let Some(path) = in_account {
            request.path = path;
        }
        let is_listing = request.query("list-type").is_some()
            || request.query("comp").is_some_and(|it| it == "list");
        let is_write = ["PUT", "POST", "DELETE"].contains(&&*request.method);
        let fault = match request.method.as_str() {
            "GET" if !is_listing => (manner.fault)(self.counts.gets.fetch_add(1, SeqCst)),
            _ if is_write => (manner.write_fault)(self.counts.writes.fetch_add(1, SeqCst)),
            _ => None,
        };
        if is_write {
            let now = self.counts.writing.fetch_add(1, SeqCst) + 1;
            self.counts.writes_most.fetch_max(now, SeqCst);
        }
        let slow = if let Some(Fault::Slow(more)) = fault { more } else { 0 };
        thread::sleep(manner.latency + Duration::from_millis(slow));
        let answer = match fault {
            Some(Fault::Status(status)) => {
                Answer::new(status, "<Error><Code>SlowDown</Code></Error>")
            }
            _ if is_listing => self.list(&request, manner.page, is_azure),
            _ if request.method == "POST" && is_azure => azure::remove(self, &request),
            _ if request.method == "POST" => self.remove(&request),
            _ if request.method == "DELETE" => {
                Answer::new(self.gone(request.path.trim_start_matches('/')), "")
            }
            _ => self.object(&request),
        };
        if is_write {
            self.counts.writing.fetch_sub(1, SeqCst);
        }
        if is_write && fault == Some(Fault::Reset) {
            return Ok(false);
        }
        let Answer { status, mut headers, body } = answer;
        let is_head = request.method == "HEAD";
        if !headers.contains("Content-Length") {
            let _ = write!(headers, "Content-Length: {}\r\n", body.len());
        }
        out.write_all(format!("HTTP/1.1 {status} X\r\n{headers}\r\n").as_bytes())?;
        if is_head {
            return Ok(true);
        }
        let sent = match fault.filter(|_| status < 300) {
            Some(Fault::Reset) => &body[..body.len() / 2],
            Some(Fault::Short) => &body[..body.len().saturating_sub(1)],
            _ => &body,
        };
        let begun = Instant::now();
        for (number, part) in sent.chunks(1 << 16).enumerate() {
            if let Some(rate) = manner.bytes_per_second {
                let due = Duration::from_secs_f64(((number + 1) << 16) as f64 / rate as f64);
                thread::sleep(due.saturating_sub(begun.elapsed()));
            }
            out.write_all(part)?;
            self.counts.bytes.fetch_add(part.len(), SeqCst);
        }
        Ok(sent.len() == body.len())
    }

    fn object(&self, request: &Request) -> Answer {
        let path = self.folder.join(request.path.trim_start_matches('/'));
        if request.path.split('/').any(|it| it == "..") {
            return Answer::new(400, "");
        }
        if request.method == "PUT" {
            return self.write(request, &path);
        }
        let Ok(found) = fs::metadata(&path)
            .and_then(|it| if it.is_file() { Ok(it) } else { Err(io::ErrorKind::NotFound.into()) })
        else {
            return Answer::missing();
        };
        let mut headers = format!(
            "ETag: {}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nAccept-Ranges: bytes\r\n",
            tag(&found)
        );
        if request.method == "HEAD" {
            self.counts.heads.fetch_add(1, SeqCst);
            let _ = write!(headers, "Content-Length: {}\r\n", found.len());
            return Answer { headers, ..Answer::new(200, "") };
        }
        let len = found.len() as usize;
        let Some(range) = request.header("range").and_then(|it| range_of(it, len)) else {
            let Ok(all) = fs::read(&path) else { return Answer::missing() };
            return Answer { headers, ..Answer::new(200, all) };
        };
        if range.is_empty() {
            return Answer::new(416, "<Error><Code>InvalidRange</Code></Error>");
        }
        let of = format!("Content-Range: bytes {}-{}/{len}\r\n", range.start, range.end - 1);
        let Ok(part) = part(&path, range) else { return Answer::missing() };
        Answer { headers: headers + &of, ..Answer::new(206, part) }
    }

    fn write(&self, request: &Request, path: &Path) -> Answer {
        let bucket = request.path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if !self.folder.join(bucket).is_dir() {
            return Answer::new(404, "<Error><Code>NoSuchBucket</Code></Error>");
        }
        // It is there as a whole, also for who reads at the same time.
        let draft = self.folder.join(format!(".put-{}", self.drafts.fetch_add(1, SeqCst)));
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&draft, &request.body));
        let written = written.and_then(|()| fs::rename(&draft, path));
        match written.and_then(|()| fs::metadata(path)) {
            Ok(found) => {
                let headers = format!("ETag: {}\r\n", tag(&found));
                Answer { headers, ..Answer::new(200, "") }
            }
            Err(_) => Answer::new(500, ""),
        }
    }

    /// `DeleteObjects`.
    fn remove(&self, request: &Request) -> Answer {
        let bucket = request.path.trim_matches('/');
        let body = String::from_utf8_lossy(&request.body);
        let mut told = String::new();
        for key in body.split("<Key>").skip(1).filter_map(|it| it.split("</Key>").next()) {
            let _ = write!(told, "<Deleted><Key>{key}</Key></Deleted>");
            let key = key.replace("&lt;", "<").replace("&quot;", "\"").replace("&amp;", "&");
            self.gone(&format!("{bucket}/{key}"));
        }
        Answer::new(200, format!("<DeleteResult>{told}</DeleteResult>"))
    }

    /// Removes the object at a path that begins with its bucket; the status that says so.
    fn gone(&self, path: &str) -> u16 {
        if path.split('/').any(|it| it == "..") {
            return 400;
        }
        let gone = fs::remove_file(self.folder.join(path));
        // A folder without objects is none, but a bucket is one.
        let folders = Path::new(path).ancestors().skip(1).filter(|it| it.components().count() > 1);
        for folder in folders {
            let _ = fs::remove_dir(self.folder.join(folder));
        }
        if gone.is_ok() { 204 } else { 404 }
    }

    fn list(&self, request: &Request, page: usize, is_azure: bool) -> Answer {
        self.counts.lists.fetch_add(1, SeqCst);
        let bucket = self.folder.join(request.path.trim_matches('/'));
        if !bucket.is_dir() {
            return Answer::new(404, "<Error><Code>NoSuchBucket</Code></Error>");
        }
        let prefix = request.query("prefix").unwrap_or_default();
        let (after, most) = match is_azure {
            true => ("marker", "maxresults"),
            false => ("continuation-token", "max-keys"),
        };
        let after = request.query(after).unwrap_or_default();
        let most = request.query(most).and_then(|it| it.parse().ok()).unwrap_or(page).min(page);
        let is_deep = request.query("delimiter").is_none_or(|it| it.is_empty());
        let mut names = BTreeSet::new();
        let (folder, _) = prefix.rsplit_once('/').unwrap_or(("", ""));
        collect(&bucket, folder, is_deep, &mut names);
        let found = names.into_iter().filter(|it| it.starts_with(&prefix) && *it > after);
        let mut found: Vec<String> = found.take(most + 1).collect();
        let is_cut = found.len() > most;
        found.truncate(most);
        let next = found.last().filter(|_| is_cut).cloned();
        let (folders, objects): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|it| it.ends_with('/'));
        let with_size = |it: String| fs::metadata(bucket.join(&it)).ok().map(|found| (it, found));
        let listed =
            Listed { folders, objects: objects.into_iter().filter_map(with_size).collect(), next };
        if is_azure { azure::page(&listed) } else { page_of(&listed) }
    }
}

/// A page of a listing.
struct Listed {
    /// Their names end with `/`.
    folders: Vec<String>,
    objects: Vec<(String, fs::Metadata)>,
    /// What the next page comes after, where there is one.
    next: Option<String>,
}

/// `ListBucketResult`.
fn page_of(listed: &Listed) -> Answer {
    let mut text =
        format!("<ListBucketResult><IsTruncated>{}</IsTruncated>", listed.next.is_some());
    if let Some(next) = &listed.next {
        let _ = write!(text, "<NextContinuationToken>{}</NextContinuationToken>", escaped(next));
    }
    for name in &listed.folders {
        let _ = write!(text, "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escaped(name));
    }
    for (name, found) in &listed.objects {
        let _ = write!(
            text,
            "<Contents><Key>{}</Key><Size>{}</Size><ETag>{}</ETag>\
             <LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>",
            escaped(name),
            found.len(),
            escaped(&tag(found)),
        );
    }
    Answer::new(200, text + "</ListBucketResult>")
}

/// Names of what is in a folder of the bucket; folders end with `/` where they are not gone into.
fn collect(bucket: &Path, folder: &str, is_deep: bool, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(bucket.join(folder)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        match (entry.path().is_dir(), is_deep) {
            (false, _) => drop(into.insert(name)),
            (true, false) => drop(into.insert(name + "/")),
            (true, true) => collect(bucket, &name, true, into),
        }
    }
}

/// A part of a file.
fn part(path: &Path, range: Range<usize>) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(range.start as u64))?;
    let mut bytes = vec![0; range.len()];
    file.read_exact(&mut bytes).map(|()| bytes)
}

fn tag(found: &fs::Metadata) -> String {
    let changed = found.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    format!("\"{:x}-{:x}\"", changed.map_or(0, |it| it.as_nanos()), found.len())
}

/// The bytes that `bytes=a-b` stands for; none where there are not any.
fn range_of(text: &str, len: usize) -> Option<Range<usize>> {
    let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
    let from: usize = from.parse().ok()?;
    let to = to.parse::<usize>().map_or(len, |it| len.min(it + 1));
    Some(from.min(to)..to)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
