//! E7: sizes from a part of the files, and how sizes grow and end along a pipeline.

use super::network::Lots;
use model::{
    Figure, Network, Step,
    network::{Amount, Count, Input},
    ratio,
    size::{error_after, from_part, records},
};

/// Sizes of files of so many lognormal records each, of the mean 110 kB.
fn shards(files: usize, records: usize, sigma: f64, lots: &mut Lots) -> Vec<f64> {
    let record = |lots: &mut Lots| 110e3 * (sigma * lots.normal() - sigma * sigma / 2.0).exp();
    (0..files).map(|_| (0..records).map(|_| record(lots)).sum()).collect()
}

/// Mean of the error, its standard deviation, and the mean of the error that is promised, over 400 draws.
fn errors(shards: &[f64], see: usize, lots: &mut Lots) -> (f64, f64, f64) {
    let whole: f64 = shards.iter().sum();
    let (mut sum, mut squares, mut promised) = (0.0, 0.0, 0.0);
    for _ in 0..400 {
        let mut left = shards.to_vec();
        let seen: Vec<f64> = (0..see)
            .map(|_| left.swap_remove((lots.unit() * left.len() as f64) as usize))
            .collect();
        let told = from_part(&seen, shards.len() as u64).unwrap();
        let error = told.total / whole - 1.0;
        (sum, squares, promised) =
            (sum + error.abs(), squares + error * error, promised + told.error.powi(2));
    }
    (sum / 400.0, (squares / 400.0_f64).sqrt(), (promised / 400.0).sqrt())
}

#[test]
fn a_part_of_the_files_tells_the_size_of_all() {
    // ImageNet-like, COCO-like, WMT-like: files, records in each, files seen, error allowed.
    for (files, in_each, see, allowed) in
        [(1024, 1200, 10, 0.01), (256, 462, 3, 0.02), (100, 10_000, 5, 0.02)]
    {
        let mut lots = Lots(files as u64);
        let sigma: f64 = 0.7;
        let (mean, deviation, promised) =
            errors(&shards(files, in_each, sigma, &mut lots), see, &mut lots);
        assert!(mean <= allowed, "{files} files: {mean}");
        // CV of a lognormal is √(exp σ² − 1); the law: CV/√(records seen).
        let law = error_after((sigma.powi(2).exp() - 1.0).sqrt(), (see * in_each) as u64);
        assert!(
            (0.75..1.25).contains(&(deviation / law)),
            "{files} files: {deviation} beside {law}"
        );
        assert!((0.75..1.25).contains(&(promised / deviation)), "{promised} beside {deviation}");
    }
}

#[test]
fn all_seen_is_sure_and_one_of_many_is_not() {
    let all = from_part(&[3.0, 5.0], 2).unwrap();
    assert_eq!((all.total, all.error), (8.0, 0.0));
    assert_eq!(from_part(&[3.0], 2), None);
    assert_eq!(from_part(&[], 2), None);
    assert_eq!(records(1024, 12_000, 10), Amount::Finite(1_228_800.0));
    assert_eq!(records(1024, 0, 0), Amount::Unknown);
}

#[test]
fn decoding_grows_and_filters_shrink() {
    let bytes = |n| Figure::exact(n);
    let network = Network::new(vec![
        Step { bytes_out: bytes(110e3), ..Step::source("read", Amount::Finite(1000.0)) },
        Step { bytes_out: bytes(660e3), ..Step::after("decode", 0) },
        Step { bytes_out: bytes(660e3), taken: ratio::filter(0.8), ..Step::after("filter", 1) },
        Step { bytes_out: bytes(6.6e6), taken: 10.0, ..Step::after("batch", 2) },
    ]);
    let sizes = network.unwrap().materialised_bytes();
    let sizes: Vec<f64> = sizes.iter().map(|it| it.finite().unwrap()).collect();
    for (found, right) in sizes.iter().zip([110e6, 660e6, 528e6, 528e6]) {
        assert!((found / right - 1.0).abs() < 1e-12, "{sizes:?}");
    }
}

fn counted(source: Amount, count: Count) -> Amount {
    let steps = vec![Step::source("a", source), Step { count, ..Step::after("b", 0) }];
    Network::new(steps).unwrap().cardinalities()[1]
}

#[test]
fn what_never_ends_ends_only_by_a_take() {
    use Amount::{Finite, Infinite, Unknown};
    for (source, count, leaving) in [
        (Finite(10.0), Count::Take(3), Finite(3.0)),
        (Finite(10.0), Count::Take(30), Finite(10.0)),
        (Infinite, Count::Take(3), Finite(3.0)),
        (Unknown, Count::Take(3), Finite(3.0)),
        (Finite(10.0), Count::Skip(3), Finite(7.0)),
        (Finite(10.0), Count::Skip(30), Finite(0.0)),
        (Infinite, Count::Skip(3), Infinite),
        (Finite(10.0), Count::Repeat(Some(3)), Finite(30.0)),
        (Finite(10.0), Count::Repeat(None), Infinite),
        (Finite(0.0), Count::Repeat(None), Finite(0.0)),
        (Infinite, Count::Ratio, Infinite),
        (Unknown, Count::Ratio, Unknown),
    ] {
        assert_eq!(counted(source, count), leaving, "{source:?} {count:?}");
    }
}

#[test]
fn records_without_bytes_take_no_room_however_many() {
    let network = Network::new(vec![Step::source("ticks", Amount::Infinite)]).unwrap();
    assert_eq!(network.materialised_bytes(), [Amount::Finite(0.0)]);
}

#[test]
fn inputs_add_up_and_the_shortest_ends_a_zip() {
    use Amount::{Finite, Infinite, Unknown};
    let join_at = |share, a, b, count| {
        let inputs = (0..2).map(|step| Input { step, share }).collect();
        let step = Step { inputs, count, ..Step::default() };
        Network::new(vec![Step::source("a", a), Step::source("b", b), step])
            .unwrap()
            .cardinalities()[2]
    };
    let join = |a, b, count| join_at(1.0, a, b, count);
    // A mix in equal parts ends when the one of 2 is used up: 2 of each.
    assert_eq!(join_at(0.5, Finite(2.0), Finite(3.0), Count::Shortest), Finite(4.0));
    assert_eq!(join(Finite(2.0), Finite(3.0), Count::Ratio), Finite(5.0));
    assert_eq!(join(Unknown, Infinite, Count::Ratio), Infinite);
    assert_eq!(join(Finite(2.0), Infinite, Count::Shortest), Finite(2.0));
    assert_eq!(join(Finite(2.0), Unknown, Count::Shortest), Unknown);
}

#[test]
fn an_epoch_is_a_pass_over_the_source_whatever_repeats_it() {
    let steps = vec![
        Step::source("a", Amount::Finite(1000.0)),
        Step { count: Count::Repeat(None), ..Step::after("repeat", 0) },
        Step { taken: 10.0, ..Step::after("batch", 1) },
    ];
    assert_eq!(Network::new(steps).unwrap().epoch_outputs(), Amount::Finite(100.0));
}
