//! Values of arguments: sizes, times, shares, settings.

use model::what_if;
use std::time::Duration;

/// `name=value`.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is written `name=value`")?;
    if name.is_empty() {
        return Err("there is no name before the `=`".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// What is other than it is.
#[derive(Clone, Default)]
pub(crate) struct Changes(pub(crate) Vec<what_if::Change>);

pub(super) fn changes(text: &str) -> Result<Changes, String> {
    what_if::parse(text).map(Changes)
}

/// A time with its unit.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    const WANTED: &str = "it is a number with a unit, such as 500ms or 10s";
    let seconds = what_if::seconds(text).ok_or(WANTED)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| WANTED.to_owned())
}

/// Bytes in a second.
pub(super) fn speed(text: &str) -> Result<u64, String> {
    let wanted = || "it is a size for each second, such as 50MB/s".to_owned();
    let bytes = text.strip_suffix("/s").ok_or_else(wanted)?;
    size(bytes).map_err(|_| wanted())
}

/// A share of all, above 0.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|it| it.trim().parse::<f64>().ok());
    let share = percent.map(|it| it / 100.0).filter(|it| *it >= 0.01 && *it <= 1.0);
    share.ok_or_else(|| "it is a number from 1% to 100%".to_owned())
}

/// A size in bytes, with its unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const WANTED: &str = "it is a number with a unit, such as 512MiB or 2GiB";
    let bytes = what_if::size(text).ok_or(WANTED)?;
    // Large enough for any machine, and exact in a float.
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(WANTED.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("1.5 kB"), Ok(1500));
        for wrong in ["2", "GiB", "2gib", "-1GiB", "nanGiB", "1e99GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("2 min"), Ok(Duration::from_secs(120)));
        for wrong in ["2", "s", "-1s", "nans", "1e99h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_may_hold_equals_signs() {
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("a").is_err() && setting("=b").is_err());
    }
}
