//! Writing: an object is put as a whole with one request, and is there then, or as it was.

use crate::{Remote, Target, engine::Engine, errors, known, services::Client};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::{Error, ObjectStoreExt, PutPayload, path::Path as Key};
use std::io;

/// Attempts at a request whose answer breaks off: it may have been carried out, and does the same again.
const ATTEMPTS: usize = 4;

impl Remote {
    /// Puts an object in the place of what is there.
    pub(crate) async fn write(
        &self,
        engine: &Engine,
        target: &Target,
        bytes: Bytes,
    ) -> io::Result<()> {
        let bucket = engine.bucket(self.service, target.place()).await?;
        let key = target.key(self.service)?;
        let _turn = engine.requests.acquire().await;
        let mut attempts = 1;
        let written = loop {
            let (key, bytes) = (&key, &bytes);
            let put = |it: Client| async move {
                it.objects.put(key, PutPayload::from(bytes.clone())).await
            };
            match bucket.ask(put).await {
                Err(error) if attempts < ATTEMPTS && errors::is_cut(&error) => attempts += 1,
                written => break written.map_err(|it| errors::told(&it)),
            }
        };
        // What was heard of it before is no longer so, even where nobody knows whether it was written.
        self.known.forget(&target.text);
        if let Some(tag) = written?.e_tag {
            let tag = known::tag_of(Some(&tag), 0);
            self.known.set(&target.text, bytes.len() as u64, tag, false);
        }
        Ok(())
    }

    /// Removes objects of one bucket, many with a request where the service does that.
    pub(crate) async fn delete(&self, engine: &Engine, targets: &[Target]) -> io::Result<()> {
        let Some(first) = targets.first() else { return Ok(()) };
        let bucket = engine.bucket(self.service, first.place()).await?;
        let keys = targets.iter().map(|it| it.key(self.service));
        let keys = keys.collect::<io::Result<Vec<Key>>>()?;
        let _turn = engine.requests.acquire().await;
        let mut attempts = 1;
        loop {
            match bucket.ask(|it| gone(it, keys.clone())).await {
                Err(error) if attempts < ATTEMPTS && errors::is_cut(&error) => attempts += 1,
                gone => {
                    targets.iter().for_each(|it| self.known.forget(&it.text));
                    return gone.map_err(|it| errors::told(&it));
                }
            }
        }
    }
}

/// Removes objects; the first failure is told when all others are gone.
async fn gone(client: Client, keys: Vec<Key>) -> object_store::Result<()> {
    let all = stream::iter(keys.into_iter().map(Ok)).boxed();
    let mut gone = client.objects.delete_stream(all);
    let mut failed = None;
    while let Some(one) = gone.next().await {
        match one {
            // Some services say so of what is gone already.
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}
