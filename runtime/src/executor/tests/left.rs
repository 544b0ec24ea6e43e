//! Runs that somebody leaves.

use super::*;

#[test]
fn any_tree_can_be_left_at_any_time() {
    for seed in 0..200 {
        let mut draft = Draft::default();
        grow(&mut draft, seed, 3);
        let program = draft.program();
        let mut run = begin(&program, &options(3, 2, 0..40));
        let stopper = run.stopper();
        let stopping = (seed % 2 == 0).then(|| thread::spawn(move || stopper.stop()));
        for _ in 0..seed % 20 {
            run.next();
        }
        drop(run);
        stopping.into_iter().for_each(|it| it.join().unwrap());
    }
}
