//! What the statistics of a row group say of conditions on its columns
//! (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>, `Statistics`).

use super::{
    super::{Bound, Comparison, Condition},
    leaf,
};
use arrow_schema::DataType;
use parquet::file::{metadata::RowGroupMetaData, statistics::Statistics};
use std::cmp::Ordering;

/// Whether a row of the group may be needed: one that meets all conditions, or whose missing values are no small matter.
/// What is not known may be; `type_of` gives the type that a column is read as.
pub(super) fn may_hold(
    group: &RowGroupMetaData,
    conditions: &[Condition],
    type_of: impl Fn(&[String]) -> Option<DataType>,
) -> bool {
    let mut refuted = false;
    for condition in conditions {
        let Some(column) = leaf(group.schema_descr(), &condition.path) else { return true };
        let statistics = group.column(column).statistics();
        let descr = group.schema_descr().column(column);
        let has_nulls =
            descr.max_def_level() > 0 && statistics.and_then(Statistics::null_count_opt) != Some(0);
        if has_nulls && condition.nulls_matter {
            return true;
        }
        let test = condition.test.as_ref().zip(statistics).zip(type_of(&condition.path));
        refuted |= test.is_some_and(|(((comparison, bound), statistics), ty)| {
            range(statistics, &ty).is_some_and(|it| !may_be(*comparison, &it, bound))
        });
    }
    !refuted
}

/// Bounds of the values, which are perhaps none of them.
fn range(statistics: &Statistics, ty: &DataType) -> Option<[Bound; 2]> {
    macro_rules! both {
        ($of:expr, $value:expr) => {
            Some([$value($of.min_opt()?), $value($of.max_opt()?)])
        };
    }
    // Those of old writers were made as if all were signed.
    if statistics.is_min_max_deprecated()
        && !matches!(ty, DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64)
    {
        return None;
    }
    match (statistics, ty) {
        (Statistics::Int32(it), DataType::Int8 | DataType::Int16 | DataType::Int32) => {
            both!(it, |it: &i32| Bound::Int(i128::from(*it)))
        }
        (Statistics::Int32(it), DataType::UInt8 | DataType::UInt16 | DataType::UInt32) => {
            both!(it, |it: &i32| Bound::Int(i128::from(it.cast_unsigned())))
        }
        (Statistics::Int64(it), DataType::Int64) => {
            both!(it, |it: &i64| Bound::Int(i128::from(*it)))
        }
        (Statistics::Int64(it), DataType::UInt64) => {
            both!(it, |it: &i64| Bound::Int(i128::from(it.cast_unsigned())))
        }
        (Statistics::Float(it), DataType::Float32) => {
            both!(it, |it: &f32| Bound::Float(f64::from(*it)))
        }
        (Statistics::Double(it), DataType::Float64) => both!(it, |it: &f64| Bound::Float(*it)),
        (Statistics::ByteArray(it), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            both!(it, |it: &parquet::data_type::ByteArray| Bound::Text(it.data().to_vec()))
        }
        _ => None,
    }
}

/// Whether a value between two bounds may meet the comparison.
pub(super) fn may_be(comparison: Comparison, [least, most]: &[Bound; 2], bound: &Bound) -> bool {
    let (Some(low), Some(high)) = (least.cmp_to(bound), most.cmp_to(bound)) else { return true };
    match comparison {
        Comparison::Eq => low != Ordering::Greater && high != Ordering::Less,
        // NaN, of which bounds do not tell, is unlike everything.
        Comparison::Ne => {
            matches!(bound, Bound::Float(_)) || low != Ordering::Equal || high != Ordering::Equal
        }
        Comparison::Lt => low == Ordering::Less,
        Comparison::Le => low != Ordering::Greater,
        Comparison::Gt => high == Ordering::Greater,
        Comparison::Ge => high != Ordering::Less,
    }
}
