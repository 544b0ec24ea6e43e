//! What need not be made whole: values of which a part is used that can be made alone.

use crate::registry::Registry;
use plan::{Graph, Property, parts};

/// The values of which a part can be made without them.
pub(crate) fn sites(graph: &Graph, registry: &Registry) -> Vec<parts::Site> {
    parts::sites(graph, &|function| {
        registry.function(function)?.properties.iter().find_map(|it| match it {
            Property::Fuses(fused) => Some(*fused),
            _ => None,
        })
    })
}
