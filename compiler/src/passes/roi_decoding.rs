//! What is cropped is not made whole: `crop(decode_jpeg(b), …)` is computed as `decode_jpeg_crop(b, …)`.
//!
//! Which functions have such a form is the library's to say ([`Fuses`](plan::Property::Fuses)). Where a crop depends
//! on the size of the whole, that is asked of somebody who knows it without making the whole. Where
//! several parts are wanted, making the whole once is left as it is.
//!
//! The plan is only marked: whoever runs it makes the part at once, unless the whole is kept from
//! epoch to epoch, and then takes the part of that.

use super::{Pass, rebuild};
use crate::{
    analysis::{live::values, parts::sites},
    registry::Registry,
};
use plan::{Op, parts};

pub(super) const PASS: Pass = Pass {
    name: "roi-decoding",
    formerly: Some("make-parts"),
    summary: "decodes only the cropped region",
    doc: "If only a part of a value is used, only that part is computed.",
    law: "The library states that a part of the whole and the part computed directly are the same.",
    exact: true,
    always: false,
    takes_parts: true,
    propose: |plan, registry| rebuild::each(plan, |op| rewritten(op, registry)),
    refuse: super::nothing_refused,
};

fn rewritten(op: &Op, registry: &Registry) -> Option<(Op, Vec<String>)> {
    if op.graph.parts {
        return None;
    }
    // Without what nobody needs, which would count as users.
    let mut op = rebuild::renumbered(op, &[]);
    let roots = values(&op);
    let mut sites = sites(&op.graph, registry);
    sites.retain(|it| !roots.contains(&it.whole));
    let words =
        |it: &parts::Site| format!("`{}` computes only the part that is used", it.fused.into);
    let done: Vec<String> = sites.iter().map(words).collect();
    op.graph.parts = true;
    (!done.is_empty()).then_some((op, done))
}
