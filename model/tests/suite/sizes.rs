//! How sizes grow and end along a pipeline; E7 is in `benches`.

use model::{
    Network, Step,
    network::{Amount, Count, Input},
    size::{from_part, records},
};

#[test]
fn all_seen_is_sure_and_one_of_many_is_not() {
    let all = from_part(&[3.0, 5.0], 2).unwrap();
    assert_eq!((all.total, all.error), (8.0, 0.0));
    assert_eq!(from_part(&[3.0], 2), None);
    assert_eq!(from_part(&[], 2), None);
    assert_eq!(records(1024, 12_000, 10), Amount::Finite(1_228_800.0));
    assert_eq!(records(1024, 0, 0), Amount::Unknown);
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
