//! Where records may be kept: after steps that end, have a size, and give the same in each epoch.

use crate::network::{Amount, Network, Step, Varies};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why there can be no cache at a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Rejected {
    /// This step, or one before it, gives other records or another order each epoch.
    Varies(String, Varies),
    /// It never ends.
    Infinite,
    /// Nobody knows how large it is.
    UnknownSize,
    /// There is nothing to keep.
    Empty,
    /// So many bytes do not fit into so many.
    TooLarge {
        /// Bytes of all records.
        bytes: f64,
        /// Bytes that there are.
        budget: f64,
    },
    /// There is no room of that kind at all.
    NoRoom,
}

/// For each step the bytes of its records, or why they cannot be kept.
///
/// Randomness is closed over the tree: what comes after something random is random (paper appendix
/// B.1); an order that is new each epoch is random too, a cache would freeze it.
pub fn candidates(network: &Network) -> Vec<Result<f64, Rejected>> {
    let sizes = network.without_caches().materialised_bytes();
    let mut varies: Vec<Option<(usize, Varies)>> = Vec::new();
    for (at, step) in network.steps().iter().enumerate() {
        let before = step.inputs.iter().find_map(|it| varies[it.step]);
        varies.push(before.or(step.varies.map(|why| (at, why))));
    }
    let each = sizes.iter().zip(varies);
    each.map(|(size, varies)| candidate(*size, varies, network.steps())).collect()
}

fn candidate(
    size: Amount,
    varies: Option<(usize, Varies)>,
    steps: &[Step],
) -> Result<f64, Rejected> {
    if let Some((at, why)) = varies {
        return Err(Rejected::Varies(steps[at].name.clone(), why));
    }
    match size {
        Amount::Infinite => Err(Rejected::Infinite),
        Amount::Unknown => Err(Rejected::UnknownSize),
        Amount::Finite(bytes) if bytes > 0.0 => Ok(bytes),
        Amount::Finite(_) => Err(Rejected::Empty),
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Varies(step, why) => write!(f, "`{step}` {why}"),
            Self::Infinite => f.write_str("its records never end"),
            Self::UnknownSize => f.write_str("its size is unknown"),
            Self::Empty => f.write_str("there is nothing to cache"),
            Self::TooLarge { bytes, budget } => {
                write!(f, "{} does not fit into {}", Bytes(*bytes), Bytes(*budget))
            }
            Self::NoRoom => f.write_str("there is no cache of that kind"),
        }
    }
}

/// Bytes as a person reads them: three digits and a unit of 1000.
struct Bytes(f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
        match units.iter().find(|it| self.0 >= it.0) {
            Some((unit, name)) => {
                let n = self.0 / unit;
                let digits = if n < 10.0 { 2 } else { usize::from(n < 100.0) };
                write!(f, "{n:.digits$} {name}")
            }
            None => write!(f, "{:.0} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_with_three_digits() {
        let told = [842e9, 1.5e12, 96_300.0, 7.0].map(|it| Bytes(it).to_string());
        assert_eq!(told, ["842 GB", "1.50 TB", "96.3 kB", "7 B"]);
    }
}
