//! S1: what PRESTO's own figures make of PRESTO's own rules. S2: the same figures by our law.

mod paper;

use model::weights::{Whole, winner};
use paper::{Paper, REVERSALS, SWITCHES, TIES, TIMES, UNBEATEN};

fn paper() -> Option<Paper> {
    let found = Paper::read();
    if found.is_none() {
        println!("../shared/data is absent: skipped");
    }
    found
}

#[test]
fn scores_are_those_of_the_paper() {
    let Some(paper) = paper() else { return };
    let found = paper.rankings();
    assert_eq!((found.all, found.differ), (28, Vec::new()));
    assert_eq!(found.ties, TIES);
}

#[test]
fn the_best_after_so_many_epochs_is_that_of_the_paper() {
    let Some(paper) = paper() else { return };
    assert_eq!(paper.other_winners(), (Vec::new(), 35));
    assert_eq!(paper.switches(), SWITCHES);
}

#[test]
fn nobody_needs_the_others() {
    let Some(paper) = paper() else { return };
    assert_eq!(paper.unbeaten(), UNBEATEN);
}

#[test]
fn one_that_nobody_would_choose_decides() {
    let Some(paper) = paper() else { return };
    assert_eq!(paper.reversals(), REVERSALS);
    let ([before, after], is_told) = paper.with_one_more();
    assert!((before - 2.0).abs() < 5e-4 && (after - 2.172).abs() < 5e-4, "{before} {after}");
    assert!(is_told);
}

#[test]
fn the_law_gives_the_rates_of_the_paper() {
    let Some(paper) = paper() else { return };
    for it in paper.rates() {
        assert!(it.off() <= 0.08, "{}: {:?} {:?}", it.name, it.told, it.seen);
        assert!(!it.fastest().1, "{}", it.name);
        let (_, first, last) = TIMES.into_iter().find(|row| row.0 == it.name).unwrap();
        for (found, wanted) in it.times().into_iter().zip([first, last]) {
            assert!((found / wanted - 1.0).abs() < 0.01, "{}: {found} {wanted}", it.name);
        }
    }
}

/// Where scores are equal, fewer bytes win, and what another one beats never does.
#[test]
fn of_equal_scores_the_fewest_bytes_win() {
    let of = |prepare_s: f64, bytes: f64, rate: f64| Whole { prepare_s, bytes, rate };
    let all = [of(1.0, 5.0, 10.0), of(3.0, 4.0, 10.0), of(2.0, 4.0, 10.0), of(0.0, 0.0, 1.0)];
    assert_eq!(winner(&all, [0.0, 0.0, 1.0]), Some(2));
    assert_eq!(winner(&all, [0.0, 1.0, 0.0]), Some(3));
    assert_eq!(winner(&[], [1.0; 3]), None);
}
