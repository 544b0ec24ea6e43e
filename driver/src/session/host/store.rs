//! Object stores and web servers, as they were measured from this machine.

use super::{Figure, Host};
use model::{Origin, curve::Curve};
use runtime::storage;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What is known of an object store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// What was measured: `s3://bucket/prefix`.
    pub url: String,
    /// Seconds from a request to the first byte.
    pub latency: Figure,
    /// Bytes per second of one request, once its bytes come.
    pub one: Figure,
    /// Bytes per second of large requests, as many as are under way at a time.
    pub many: Figure,
    /// Small requests that are answered in a second.
    pub requests: Figure,
    /// Requests that were under way at a time.
    pub at_once: u32,
    /// Bytes that were read for all that.
    pub read: u64,
}

impl Host {
    /// What was measured of the store that `path` lies in.
    pub fn store_of(&self, path: &Path) -> Option<&Store> {
        let path = path.to_str()?;
        let bucket = bucket_of(path)?;
        let same = self.store.iter().filter(|it| bucket_of(&it.url) == Some(bucket));
        // The one that has most in common with it.
        let shared =
            |it: &Store| it.url.bytes().zip(path.bytes()).take_while(|it| it.0 == it.1).count();
        same.max_by_key(|it| shared(it))
    }
}

/// `s3://bucket` of `s3://bucket/prefix`.
fn bucket_of(url: &str) -> Option<&str> {
    let scheme = storage::scheme_of(url.as_bytes())?.len() + "://".len();
    let end = url[scheme..].find('/').map_or(url.len(), |it| scheme + it);
    Some(&url[..end])
}

impl Store {
    /// The same as the model sees it, by `name`.
    pub(crate) fn modelled(&self, name: &str) -> model::Storage {
        let (one, latency_s) = (self.one.median, self.latency.median);
        let curve = Curve::up_to(one, self.many.median.max(one));
        // By Little's law, those that are answered at a time.
        let requests_max = (self.requests.median * latency_s).ceil().max(1.0) as u64;
        model::Storage {
            sequential: curve,
            random: curve,
            origin: Origin::Calibrated,
            ..model::Storage::far(name, (latency_s, requests_max), Some(one))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_found_by_its_bucket() {
        let figure = |median| Figure { median, min: median, max: median, runs: 5, trusted: true };
        let store = |url: &str| Store {
            url: url.to_owned(),
            latency: figure(0.02),
            one: figure(50e6),
            many: figure(1e9),
            requests: figure(3_000.0),
            at_once: 256,
            read: 1,
        };
        let host = Host {
            store: vec![store("s3://a/x"), store("s3://a/y/z"), store("https://a/x")],
            ..Host::here()
        };
        let found = |path: &str| host.store_of(Path::new(path)).map(|it| &*it.url);
        assert_eq!(found("s3://a/y/w"), Some("s3://a/y/z"));
        assert!(found("s3://a").is_some());
        assert_eq!(found("s3://ab/x"), None);
        assert_eq!(found("https://a/b"), Some("https://a/x"));
        assert_eq!(found("/s3/a/x"), None);
        let text = host.to_text();
        assert_eq!(Host::parse(&text).unwrap().store, host.store, "{text}");
        let model = host.store[0].modelled("s3://");
        assert_eq!((model.requests_max, model.latency_s), (Some(60), 0.02));
    }
}
