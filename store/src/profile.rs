//! A profile of the `aws` command: keys and the region that stand in `~/.aws/credentials` and `~/.aws/config`.
//!
//! The format is that of the [AWS SDKs](https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html): sections, and
//! settings in them. A profile that says how to get keys elsewhere (a role, a process, a session of SSO) has none here.

use std::{collections::HashMap, env, fs, path::PathBuf};

/// Bytes of such a file that are read.
const FILE_MAX: usize = 1 << 20;

/// What a profile says. It must not be printed: keys are in it.
#[derive(Default)]
pub(crate) struct Profile {
    settings: HashMap<String, String>,
}

impl Profile {
    /// That which the environment names, or `default`; empty where there is none.
    pub(crate) fn read() -> Self {
        let name = env::var("AWS_PROFILE").ok().filter(|it| !it.is_empty());
        let name = name.unwrap_or_else(|| "default".to_owned());
        let mut profile = Self::default();
        for (variable, file) in
            [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")]
        {
            let path = env::var_os(variable).map(PathBuf::from);
            let path = path.or_else(|| Some(env::home_dir()?.join(".aws").join(file)));
            let text = path.and_then(|it| fs::read_to_string(it).ok());
            // Those of the second file come first, as they do there.
            let text = text.filter(|it| it.len() <= FILE_MAX).unwrap_or_default();
            profile.settings.extend(settings(&text, &name));
        }
        profile
    }

    /// One of its settings.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// The key, the secret, and the token of a session, where it holds them.
    pub(crate) fn keys(&self) -> Option<(&str, &str, Option<&str>)> {
        let (key, secret) = (self.get("aws_access_key_id")?, self.get("aws_secret_access_key")?);
        Some((key, secret, self.get("aws_session_token")))
    }
}

/// What stands in the section of a profile, which `config` calls `[profile NAME]`.
fn settings(text: &str, name: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut is_it = false;
    for line in text.lines() {
        // What is indented belongs to the setting before it.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(section) = line.trim_end().strip_prefix('[').and_then(|it| it.strip_suffix(']'))
        {
            let section = section.trim();
            let section = section.strip_prefix("profile ").unwrap_or(section);
            is_it = section.trim() == name;
        } else if let (true, Some((setting, value))) = (is_it, line.split_once('=')) {
            // A remark begins behind a space.
            let value = value.split(" #").next().unwrap_or_default();
            found.insert(setting.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_and_no_other() {
        let text = "[default]\naws_access_key_id = A\n\n[profile other]\n# no\nregion=eu-west-1 # here\n\
                    s3 =\n  max_concurrent_requests = 20\nAWS_Secret_Access_Key = a=b#c\n[third]\nregion = x\n";
        let found = settings(text, "other");
        assert_eq!(found["region"], "eu-west-1");
        assert_eq!(found["aws_secret_access_key"], "a=b#c");
        assert_eq!(found["s3"], "");
        assert!(!found.contains_key("aws_access_key_id") && found.len() == 3);
        assert!(settings(text, "none").is_empty());
        assert_eq!(settings(text, "default")["aws_access_key_id"], "A");
    }
}
