//! The services that there are: what their paths begin with, where their credentials come from, how one is opened.
//!
//! Credentials are those that the vendors' own tools find in the environment, in the files of their user, on the
//! machine, or in the container. They go to `object_store` and nowhere else: nothing here keeps, prints or writes one.

use crate::{errors, profile::Profile};
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig,
    StaticCredentialProvider, aws, azure, gcp, http::HttpBuilder, list::PaginatedListStore, path,
    path::Path as Key,
};
use std::{
    env, io,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};

/// How long a read of nothing is waited for; then it is tried again.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// For all of a request, however large and slow its body is.
const TIMEOUT: Duration = Duration::from_secs(3600);
/// Attempts after the first at a store that has not answered yet: its name may be wrong. They take about three seconds
/// together, since each waits for a random time that does not grow on average (`RetryConfig`).
const FIRST_RETRIES: usize = 10;
/// How long a store that has answered may be away: as long as `object_store` and AWS's and Google's own clients assume, and
/// shorter than a signature is valid.
const RETRIES_TIMEOUT: Duration = Duration::from_secs(180);
/// From one attempt to the next, a random time of at most so many times the one before. From 4 on, it grows: of a thousand
/// simulated requests, half make fewer than 32 attempts in that time, and all fewer than 60.
const BACKOFF_BASE: f64 = 4.0;
/// At most this long: so much later than the store, a run goes on.
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// A bound that is not reached before the time is over.
const RETRIES_MAX: usize = 100;
/// How long a machine in the cloud may take to say that it is one: the answer comes from its host.
const METADATA_TIMEOUT: Duration = Duration::from_secs(1);

/// A kind of store.
pub(crate) struct Service {
    /// What paths in it begin with, before `://`.
    pub(crate) schemes: &'static [&'static str],
    /// Whether it says what a folder holds.
    pub(crate) lists: bool,
    /// The name of an object, from how it is written in a path.
    pub(crate) key: fn(&str) -> Result<Key, path::Error>,
    /// What a user does where it does not answer, or not what was asked for.
    pub(crate) address: &'static str,
    /// What a user does where it refuses.
    pub(crate) credentials: &'static str,
    open: fn(String, String) -> Opening,
}

type Opening = Pin<Box<dyn Future<Output = io::Result<Bucket>> + Send>>;

/// A bucket, a container, or a server.
#[derive(Clone)]
pub(crate) struct Bucket {
    /// What it is asked with until it has answered, and from then on.
    first: Client,
    then: Client,
    has_answered: Arc<AtomicBool>,
}

/// A way to ask for objects.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// What lists it page by page, where that is possible.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
}

impl Bucket {
    fn new(client: impl Fn(RetryConfig) -> io::Result<Client>) -> io::Result<Self> {
        let first = RetryConfig { max_retries: FIRST_RETRIES, ..RetryConfig::default() };
        let backoff = BackoffConfig {
            max_backoff: BACKOFF_MAX,
            base: BACKOFF_BASE,
            ..BackoffConfig::default()
        };
        let then =
            RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRIES_TIMEOUT };
        let (first, then) = (client(first)?, client(then)?);
        Ok(Self { first, then, has_answered: Arc::default() })
    }

    /// Asks for something, with patience where the store is known to be there.
    pub(crate) async fn ask<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        of: impl Fn(Client) -> F,
    ) -> object_store::Result<T> {
        if self.has_answered.load(Relaxed) {
            return of(self.then.clone()).await;
        }
        let answer = of(self.first.clone()).await;
        let is_answer = answer.as_ref().err().is_none_or(errors::is_answer);
        self.has_answered.fetch_or(is_answer, Relaxed);
        if answer.as_ref().err().is_some_and(errors::is_away) {
            drop(answer);
            return of(self.then.clone()).await;
        }
        answer
    }
}

/// All there are.
pub(crate) static SERVICES: [Service; 4] = [
    Service {
        schemes: &["s3"],
        lists: true,
        key: |it| Key::parse(it),
        address: "check the name of the bucket, `AWS_REGION` and `AWS_ENDPOINT_URL`, and that this machine reaches the \
                  store",
        credentials: "run `aws configure`, set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (those of a role or \
                      of SSO: `eval \"$(aws configure export-credentials --format env)\"`), or \
                      `AWS_SKIP_SIGNATURE=true` where the bucket is public",
        open: |_, bucket| Box::pin(s3(bucket)),
    },
    Service {
        schemes: &["gs"],
        lists: true,
        key: |it| Key::parse(it),
        address: "check the name of the bucket, and that this machine reaches the store",
        credentials: "run `gcloud auth application-default login`, set `GOOGLE_APPLICATION_CREDENTIALS` to the \
                      file of a service account, or `GOOGLE_SKIP_SIGNATURE=true` where the bucket is public",
        open: |_, bucket| Box::pin(gcs(bucket)),
    },
    Service {
        schemes: &["az", "abfs", "abfss"],
        lists: true,
        key: |it| Key::parse(it),
        address: "check the names of the container and of the account, and that this machine reaches the store",
        credentials: "set `AZURE_STORAGE_ACCOUNT_NAME`, and `AZURE_STORAGE_ACCOUNT_KEY` or run `az login`; or set \
                      `AZURE_SKIP_SIGNATURE=true` where the container is public",
        open: |scheme, container| Box::pin(azure(scheme, container)),
    },
    Service {
        schemes: &["https", "http"],
        lists: false,
        // As it is copied from a browser.
        key: |it| Key::from_url_path(it),
        address: "check the URL, and that this machine reaches the server",
        credentials: "only what the server gives to everybody is read",
        open: |scheme, host| Box::pin(web(scheme, host)),
    },
];

impl Service {
    pub(crate) async fn open(&'static self, scheme: &str, authority: &str) -> io::Result<Bucket> {
        (self.open)(scheme.to_owned(), authority.to_owned()).await
    }

    fn denied(&self) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, "no credentials were found")
    }
}

async fn s3(bucket: String) -> io::Result<Bucket> {
    let service = &SERVICES[0];
    let known = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_SKIP_SIGNATURE",
        "AWS_METADATA_ENDPOINT",
    ];
    let profile = Profile::read();
    let mut builder = aws::AmazonS3Builder::from_env().with_bucket_name(&bucket);
    for (key, value) in client("AWS") {
        builder = builder.with_config(aws::AmazonS3ConfigKey::Client(key), value);
    }
    if !is_set(&known) {
        match profile.keys() {
            Some((key, secret, token)) => {
                builder = builder.with_access_key_id(key).with_secret_access_key(secret);
                builder = token.into_iter().fold(builder, aws::AmazonS3Builder::with_token);
            }
            None if answers("169.254.169.254:80").await => {}
            None => return Err(service.denied()),
        }
    }
    let endpoints = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"];
    let endpoint = profile.get("endpoint_url").filter(|_| !is_set(&endpoints));
    builder = endpoint.into_iter().fold(builder, aws::AmazonS3Builder::with_endpoint);
    if is_set(&["AWS_REGION", "AWS_DEFAULT_REGION"]) {
        // Who says so knows better.
    } else if let Some(region) = profile.get("region") {
        builder = builder.with_region(region);
    } else if endpoint.is_none() && !is_set(&endpoints) {
        let region = aws::resolve_bucket_region(&bucket, &ClientOptions::new()).await;
        builder = builder.with_region(region.map_err(|it| errors::told(&it))?);
    }
    Bucket::new(|retry| listed(builder.clone().with_retry(retry).build()))
}

async fn gcs(bucket: String) -> io::Result<Bucket> {
    let service = &SERVICES[1];
    let known = [
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SKIP_SIGNATURE",
    ];
    let file =
        env::home_dir().map(|it| it.join(".config/gcloud/application_default_credentials.json"));
    let is_known = is_set(&known) || file.as_ref().is_some_and(|it: &PathBuf| it.exists());
    if !is_known && !answers("metadata.google.internal:80").await {
        return Err(service.denied());
    }
    let mut builder = gcp::GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
    for (key, value) in client("GOOGLE") {
        builder = builder.with_config(gcp::GoogleConfigKey::Client(key), value);
    }
    if builder.get_config_value(&gcp::GoogleConfigKey::SkipSignature).is_some_and(|it| it == "true")
    {
        // `put` asks for credentials even then: of the machine, which may be none of Google's.
        let nobody = gcp::GcpCredential { bearer: String::new() };
        builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(nobody)));
    }
    Bucket::new(|retry| listed(builder.clone().with_retry(retry).build()))
}

async fn azure(scheme: String, container: String) -> io::Result<Bucket> {
    let service = &SERVICES[2];
    let known = [
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_STORAGE_CLIENT_ID",
        "AZURE_CLIENT_ID",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_MSI_ENDPOINT",
        "AZURE_IDENTITY_ENDPOINT",
        "AZURE_SKIP_SIGNATURE",
        "AZURE_USE_AZURE_CLI",
        "AZURE_STORAGE_USE_EMULATOR",
    ];
    let url = format!("{scheme}://{container}");
    let mut builder = azure::MicrosoftAzureBuilder::from_env().with_url(url);
    if !is_set(&known) {
        // Who has called `az login` has this file.
        let session = env::home_dir().map(|it| it.join(".azure/azureProfile.json"));
        match session.is_some_and(|it: PathBuf| it.exists()) {
            true => builder = builder.with_use_azure_cli(true),
            false if answers("169.254.169.254:80").await => {}
            false => return Err(service.denied()),
        }
    }
    for (key, value) in client("AZURE") {
        builder = builder.with_config(azure::AzureConfigKey::Client(key), value);
    }
    Bucket::new(|retry| listed(builder.clone().with_retry(retry).build()))
}

async fn web(scheme: String, host: String) -> io::Result<Bucket> {
    let url = format!("{scheme}://{host}");
    let mut builder = HttpBuilder::new().with_url(url);
    for (key, value) in client("HTTP") {
        builder = builder.with_config(key, value);
    }
    // Who writes `http://` means it.
    builder = builder.with_config(ClientConfigKey::AllowHttp, "true");
    Bucket::new(|retry| {
        let store = builder.clone().with_retry(retry).build().map_err(|it| errors::told(&it))?;
        Ok(Client { objects: Arc::new(store), pages: None })
    })
}

/// A store that lists.
fn listed<S: ObjectStore + PaginatedListStore>(
    built: object_store::Result<S>,
) -> io::Result<Client> {
    let store = Arc::new(built.map_err(|it| errors::told(&it))?);
    Ok(Client { objects: store.clone(), pages: Some(store) })
}

/// How requests are made, but for what the environment says of that.
fn client(prefix: &str) -> impl Iterator<Item = (ClientConfigKey, String)> {
    let seconds = |it: Duration| format!("{} seconds", it.as_secs());
    let all = [
        ("TIMEOUT", ClientConfigKey::Timeout, seconds(TIMEOUT)),
        ("READ_TIMEOUT", ClientConfigKey::ReadTimeout, seconds(READ_TIMEOUT)),
        (
            "USER_AGENT",
            ClientConfigKey::UserAgent,
            concat!("pipec/", env!("CARGO_PKG_VERSION")).to_owned(),
        ),
    ];
    let is_free = |name: &str| !is_set(&[&format!("{prefix}_{name}")]);
    all.into_iter()
        .filter(move |it| is_free(it.0))
        .map(|it| (it.1, it.2))
        .collect::<Vec<_>>()
        .into_iter()
}

fn is_set(names: &[impl AsRef<str>]) -> bool {
    names.iter().any(|it| env::var_os(it.as_ref()).is_some_and(|it| !it.is_empty()))
}

/// Whether there is who hands out the credentials of a machine; else each of many attempts would wait for nobody.
async fn answers(address: &str) -> bool {
    timeout(METADATA_TIMEOUT, TcpStream::connect(address)).await.is_ok_and(|it| it.is_ok())
}
