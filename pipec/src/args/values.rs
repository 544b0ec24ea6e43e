//! Values of arguments: sizes, times, shares, settings.

use crate::figures::count;
use driver::{DATA_FORMATS, ShardSize};
use model::what_if;
use std::time::Duration;

/// `name=value`.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected `name=value`")?;
    if name.is_empty() {
        return Err("expected a name before the `=`".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// An integer in a range, with an example: `--limit 0` says what is expected, not what the parser of numbers thinks.
pub(super) fn whole<T>(
    least: T,
    most: T,
    example: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + Into<u64> + Copy + Send + Sync + 'static,
{
    move |text| {
        let digits = text.bytes().all(|it| it.is_ascii_digit() || it == b'_');
        let number = text.replace('_', "").parse::<u64>().ok().filter(|_| digits);
        let (low, high) = (least.into(), most.into());
        let number =
            number.filter(|it| (low..=high).contains(it)).and_then(|it| T::try_from(it).ok());
        number.ok_or_else(|| {
            // The largest that a type holds says nothing.
            let range = match high <= 1 << 20 {
                true => format!("from {} to {}", count(low), count(high)),
                false if low == 0 => "of at least 0".to_owned(),
                false => format!("of at least {}", count(low)),
            };
            format!(
                "expected an integer {range}, such as {}",
                count(example.into()).replace(',', "_")
            )
        })
    }
}

/// What is other than it is.
#[derive(Clone, Default)]
pub(crate) struct Changes(pub(crate) Vec<what_if::Change>);

pub(super) fn changes(text: &str) -> Result<Changes, String> {
    what_if::parse(text).map(Changes)
}

/// A time: a number of seconds, or one with its unit.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    const WANTED: &str =
        "expected a duration, such as 500ms, 10s or 2min; a plain number is in seconds";
    let seconds = plain(text).or_else(|| what_if::seconds(text)).ok_or(WANTED)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| WANTED.to_owned())
}

/// The time of a training step, with its unit: a plain number might be meant in milliseconds.
pub(super) fn step_time(text: &str) -> Result<Duration, String> {
    with_unit(text, "expected a time with a unit, such as 120ms or 1.5s")
}

/// A time that says its unit: where days are usual, a plain number in seconds would be a trap.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    with_unit(text, "expected a number with a unit, such as 90min, 12h or 30d")
}

fn with_unit(text: &str, wanted: &str) -> Result<Duration, String> {
    let seconds = what_if::seconds(text).ok_or(wanted)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wanted.to_owned())
}

/// Bytes in a second.
pub(super) fn speed(text: &str) -> Result<u64, String> {
    let wanted =
        || "expected a size per second, such as 50MB/s; a plain number is in bytes".to_owned();
    let bytes = text.strip_suffix("/s").unwrap_or(text);
    size(bytes.trim_end()).map_err(|_| wanted())
}

/// A number without a unit.
fn plain(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|it| it.is_ascii_digit() || it == b'.' || it == b'_');
    if digits { text.replace('_', "").parse().ok() } else { None }
}

/// A share of all, above 0.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|it| it.trim().parse::<f64>().ok());
    // 0.6 can only be 60%; 60 could be meant in either way.
    let share = percent.map(|it| it / 100.0).or_else(|| plain(text).filter(|it| *it < 1.0));
    let share = share.filter(|it| *it >= 0.01 && *it <= 1.0);
    share.ok_or_else(|| "expected a number from 1% to 100%, such as 60%".to_owned())
}

/// Fewer bytes than these are a number whose unit was forgotten: `--memory 2`.
const PLAIN_MIN: f64 = 65_536.0;

/// A size in bytes: a number with its unit, or a plain one that can only be of bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const WANTED: &str = "expected a number with a unit, such as 512MiB or 2GiB; a plain number \
                          is in bytes, at least 65,536";
    let bytes =
        plain(text).filter(|it| *it >= PLAIN_MIN).or_else(|| what_if::size(text)).ok_or(WANTED)?;
    // Large enough for any machine, and exact in a float.
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(WANTED.to_owned()) }
}

/// The format of a folder of NumPy files.
const NPY: &str = "npy";

/// What `--format` may be.
pub(super) fn formats() -> Vec<&'static str> {
    std::iter::once(NPY).chain(DATA_FORMATS.iter().map(|it| it.name)).collect()
}

/// How large a file of a data set is: so many records, or bytes with their unit.
pub(super) fn shard(text: &str) -> Result<ShardSize, String> {
    const WANTED: &str = "expected a number of records, such as 10000, or a size with a unit up to 1GiB, such as \
                          128MiB";
    let records = text.replace('_', "").parse::<u64>().ok().map(ShardSize::Records);
    let size = records.or_else(|| what_if::size(text).map(|it| ShardSize::Bytes(it as u64)));
    size.filter(|it| it.is_usable()).ok_or_else(|| WANTED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_of_records_or_bytes() {
        assert_eq!(shard("10_000"), Ok(ShardSize::Records(10_000)));
        assert_eq!(shard("128MiB"), Ok(ShardSize::Bytes(128 << 20)));
        for wrong in ["0", "2GiB", "-1", "0.5", "1 record", ""] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("1.5 kB"), Ok(1500));
        assert_eq!(size("2147483648"), Ok(2 << 30));
        assert_eq!(
            [speed("50MB/s"), speed("50MB"), speed("50000000")],
            [const { Ok(50_000_000) }; 3]
        );
        for wrong in ["2", "64", "GiB", "2gib", "-1GiB", "nanGiB", "1e99GB", "", "."] {
            assert!(size(wrong).is_err() && speed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("2 min"), Ok(Duration::from_secs(120)));
        assert_eq!(
            [time("20"), time("0.5")],
            [20.0, 0.5].map(|it| Ok(Duration::from_secs_f64(it)))
        );
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for wrong in ["s", "-1s", "-1", "nans", "1e99h", "", "."] {
            assert!(time(wrong).is_err() && age(wrong).is_err(), "{wrong}");
        }
        assert!(age("30").is_err(), "of seconds or of days?");
    }

    #[test]
    fn shares_are_of_all() {
        assert_eq!([share("60%"), share("0.6"), share("100%")], [Ok(0.6), Ok(0.6), Ok(1.0)]);
        for wrong in ["60", "1", "0", "0%", "101%", "half"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_say_what_is_wanted() {
        let workers = whole::<u16>(1, 1024, 4);
        assert_eq!([workers("1"), workers("1_024")], [Ok(1), Ok(1024)]);
        for wrong in ["0", "1025", "abc", "", "-1", "+1", "1.5", "99999999999999999999"] {
            let said = workers(wrong).unwrap_err();
            assert_eq!(said, "expected an integer from 1 to 1,024, such as 4", "{wrong}");
        }
        let said = |it: Result<u64, String>| it.unwrap_err();
        assert_eq!(
            said(whole(1, u64::MAX, 100)("0")),
            "expected an integer of at least 1, such as 100"
        );
        assert_eq!(
            said(whole(0, u64::MAX, 7)("abc")),
            "expected an integer of at least 0, such as 7"
        );
        assert_eq!(whole(0, u64::MAX, 7)("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn values_may_hold_equals_signs() {
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("a").is_err() && setting("=b").is_err());
    }
}
