//! What the model must show: the experiments of the design page that are arithmetic, and its traps.

#[cfg(test)]
mod suite {
    mod bounds;
    mod end_to_end;
    mod golden;
    mod money;
    mod network;
    mod placement;
    mod presto;
    mod sizes;
    mod strategies;
    mod traps;
    mod tuners;
    mod visits;
}
