//! What Azure's Blob Storage says differently: listings, and requests that remove many blobs. As its emulator has it, paths
//! begin with the name of an account.

use crate::{Answer, Listed, Request, Shared, escaped};
use std::fmt::Write as _;

/// The account of the emulator, which is the first folder of each path.
const ACCOUNT: &str = "/devstoreaccount1/";

/// The path in the account, where it is in one.
pub(crate) fn path_in_account(path: &str) -> Option<String> {
    path.strip_prefix(ACCOUNT).map(|it| format!("/{it}"))
}

/// A page of a listing.
pub(crate) fn page(listed: &Listed) -> Answer {
    let mut text = "<EnumerationResults><Blobs>".to_owned();
    for (name, found) in &listed.objects {
        let _ = write!(
            text,
            "<Blob><Name>{}</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified>\
             <Content-Length>{}</Content-Length><Content-Type>application/octet-stream</Content-Type><Etag>{}</Etag>\
             </Properties></Blob>",
            escaped(name),
            found.len(),
            escaped(&crate::tag(found)),
        );
    }
    for name in &listed.folders {
        let _ = write!(text, "<BlobPrefix><Name>{}</Name></BlobPrefix>", escaped(name));
    }
    let next = listed.next.as_deref().map_or(String::new(), escaped);
    let _ = write!(text, "</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>");
    Answer::new(200, text)
}

/// Removes the blobs of a batch: each is a request of its own in the body.
pub(crate) fn remove(shared: &Shared, request: &Request) -> Answer {
    const BOUNDARY: &str = "batch";
    let body = String::from_utf8_lossy(&request.body);
    let mut told = String::new();
    let targets = body.lines().filter_map(|it| it.strip_prefix("DELETE ")?.split(' ').next());
    for (number, target) in targets.enumerate() {
        let target = crate::request::decoded(target, '+');
        let path = path_in_account(&target).unwrap_or(target);
        let status = shared.gone(path.trim_start_matches('/'));
        let _ = write!(
            told,
            "--{BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 {status} \
             X\r\nContent-Length: 0\r\n\r\n\r\n"
        );
    }
    let headers = format!("Content-Type: multipart/mixed; boundary={BOUNDARY}\r\n");
    Answer { headers, ..Answer::new(202, format!("{told}--{BOUNDARY}--\r\n")) }
}
