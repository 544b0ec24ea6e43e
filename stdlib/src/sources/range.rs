//! `range`: numbers.

use crate::prelude::*;
use runtime::{Source, SourceCall, mix};
use std::sync::Arc;

source! {
    /// Returns the integers from 0 to `n - 1`.
    ///
    /// `lanes: n` splits the numbers, in the order of the epoch, into `n` parts, each of which goes through the
    /// steps up to the first `batch` on its own, with its own windows. Batches are taken from the lanes in
    /// turn, and what is left of all lanes is batched together at the end. `lanes` is at most 256, and a
    /// multiple of the world size. If the source is repeated without a count (`repeat`), or `take(k)` follows
    /// the `batch`, each rank reads and computes only its own lanes; otherwise, all ranks compute all lanes.
    /// With `take(k)`, a run of several ranks fails if a lane has fewer batches than `k` needs of it.
    ///
    /// ```pipe
    /// range(10)    # { i: i64 }
    /// ```
    "range(n: int, lanes: int = none) -> stream",
    cost: Cost::call(2.0),    // Assumed: an id is mixed, two words are written.
    properties: &[Property::Indexed],
    fields: Some(|applied| {
        length(&applied.args[0])?;
        Ok(vec![Field { name: "i".to_owned(), ty: Type::scalar(DType::I64) }])
    }),
}

fn length(arg: &Arg) -> Result<u64, String> {
    match arg {
        Arg::Int(n) if *n >= 0 => Ok(*n as u64),
        Arg::Int(n) => Err(format!("`n` is {n}, but must be at least 0")),
        _ => Err("`n` must be an integer that is known at compile time".to_owned()),
    }
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let len = length(&call.args[0]).map_err(Failure::Program)?;
    Ok(Arc::new(Numbers { len, place: call.place }))
}

struct Numbers {
    len: u64,
    place: u64,
}

impl Source for Numbers {
    fn len(&self) -> Result<u64, Failure> {
        Ok(self.len)
    }

    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        write_ids(self.place, numbers, out.ids.scalars_of::<u64>(numbers.len()));
        for column in &mut out.columns {
            let values = column.scalars_of::<i64>(numbers.len());
            for (to, number) in values.iter_mut().zip(numbers) {
                *to = *number as i64;
            }
        }
        Ok(())
    }

    fn describe(&self, number: u64) -> String {
        format!("number {number}")
    }
}

/// Names records, in vectors where the processor multiplies numbers of 64 bits in such.
fn write_ids(place: u64, numbers: &[u64], to: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
        // SAFETY: the processor has both.
        return unsafe { write_ids_avx512(place, numbers, to) };
    }
    write_ids_plain(place, numbers, to);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn write_ids_avx512(place: u64, numbers: &[u64], to: &mut [u64]) {
    write_ids_plain(place, numbers, to);
}

#[inline(always)]
fn write_ids_plain(place: u64, numbers: &[u64], to: &mut [u64]) {
    to.iter_mut().zip(numbers).for_each(|(to, number)| *to = mix(place, *number));
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Pool;

    #[test]
    fn numbers_come_in_any_order() {
        let fields = [Field { name: "i".to_owned(), ty: Type::scalar(DType::I64) }];
        let call = SourceCall { args: &[Arg::Int(10)], columns: &fields, place: 7 };
        let source = build(&call).unwrap();
        let mut out = ChunkBuilder::new(&fields, 2, 0, &Pool::default());
        source.fetch(&[9, 3], &mut out).unwrap();
        let chunk = out.finish();
        assert_eq!(source.len(), Ok(10));
        assert_eq!(chunk.columns[0].as_slice::<i64>(), Some(&[9, 3][..]));
        assert_eq!(chunk.ids(), [mix(7, 9), mix(7, 3)]);
    }

    #[test]
    fn many_are_named_as_one_is() {
        let numbers: Vec<u64> = (0..101).map(|it| mix(3, it)).collect();
        let mut ids = vec![0; numbers.len()];
        write_ids(7, &numbers, &mut ids);
        assert!(ids.iter().zip(&numbers).all(|(id, number)| *id == mix(7, *number)));
    }

    #[test]
    fn there_are_no_fewer_than_none() {
        assert_eq!(length(&Arg::Int(0)), Ok(0));
        assert!(length(&Arg::Int(-1)).unwrap_err().contains("`n` is -1"));
    }
}
