//! Rewrites of plans by hand: what becomes of them, and that what leaves stays.

use super::{Optimised, Pass, Proposal, Settings, State, optimise, projection_pruning};
use crate::{
    analysis::bed::{Bed, LIBRARY, picture},
    explain::plan_text,
    lower::tests::imagenet,
    verify::verify,
};
use plan::{Arg, DType, Expr, OpKind, Plan, Type};

fn optimised(plan: &Plan, without: &[&str]) -> Optimised {
    verify(plan, &LIBRARY).expect("the plan holds");
    let without: Vec<String> = without.iter().map(|it| (*it).to_owned()).collect();
    let settings = Settings { cores: 2, without: &without, approx: false };
    let made = optimise(plan.clone(), &LIBRARY, &settings).expect("it can be run");
    verify(&made.plan, &LIBRARY).expect("the rewritten plan holds");
    assert_eq!(made.plan.output(), plan.output());
    made
}

/// The calls of the last `map`, outermost first: what each is called on is the next.
fn calls(plan: &Plan, field: usize) -> Vec<String> {
    let maps = plan.ops.rows().iter().rev();
    let mut maps = maps.filter_map(|op| match &op.kind {
        OpKind::Map { outputs } => Some((op, outputs[field])),
        _ => None,
    });
    let (op, mut id) = maps.next().expect("there is a map");
    let mut names = Vec::new();
    loop {
        match op.graph.expr(id) {
            Expr::Call { function, args, .. } => {
                names.push(match args.last() {
                    Some(Arg::Int(axis)) => format!("{function}({axis})"),
                    _ => function.clone(),
                });
                let Some(Arg::Expr(first)) = args.first() else { return names };
                id = *first;
            }
            Expr::Else { value, .. } => id = *value,
            _ => return names,
        }
    }
}

#[test]
fn what_nothing_needs_goes_whatever_is_expected_of_it() {
    let plan = |dearer: bool| {
        let mut bed = Bed::default();
        let files = bed.files();
        let root = bed.map(files, |it| {
            let bytes = it.read();
            let image = it.decoded(bytes);
            vec![("y", if dearer { it.of("flip_x", image, picture()) } else { image })]
        });
        bed.plan(root)
    };
    let kept = |always| {
        let pass = Pass { always, ..projection_pruning::PASS };
        let dearer = Proposal { plan: plan(true), why: "for the test".to_owned() };
        State::new(plan(false), &LIBRARY, 2).judge(&pass, dearer)
    };
    assert!(!kept(false) && kept(true));
}

#[test]
fn views_sink_below_what_computes() {
    let made = optimised(&imagenet(), &[]);
    assert_eq!(calls(&made.plan, 0), ["normalize(0)", "channels_first", "resize(8)", "decode"]);
    let step = &made.story[0];
    assert!(step.kept && step.before.expect("it ran before") > step.after);
    assert_eq!(step.why, "p.map#4: `channels_first` moves before `normalize`");
    let left = optimised(&imagenet(), &["view-reordering"]);
    assert_eq!(calls(&left.plan, 0), ["channels_first", "normalize(-1)", "resize(8)", "decode"]);
}

#[test]
fn a_view_sinks_as_deep_as_it_can_and_not_below_what_others_need() {
    let plan = |shared: bool| {
        let mut bed = Bed::default();
        let files = bed.source(
            "files",
            &[Arg::Text("*".into())],
            &[("x", Type::tensor(DType::U8, &[4, 6, 3]))],
        );
        let root = bed.map(files, |it| {
            let x = it.field("x");
            let floats = Type::tensor(DType::F32, &[4, 6, 3]);
            let cast = it.graph.add(Expr::Cast(DType::F32, x), floats.clone());
            let levels = it.call("normalize", &[Arg::Expr(cast), Arg::Int(2)], floats.clone());
            let flipped = it.of("flip_x", levels, floats);
            let first = it.of("channels_first", flipped, Type::tensor(DType::F32, &[3, 4, 6]));
            let mut all = vec![("y", first)];
            if shared {
                all.push(("levels", levels));
            }
            all
        });
        bed.plan(root)
    };
    let made = optimised(&plan(false), &[]);
    assert_eq!(
        calls(&made.plan, 0),
        ["normalize(0)"],
        "{}",
        plan_text(&made.plan, &|_| String::new())
    );
    let text = plan_text(&made.plan, &|_| String::new());
    let places: Vec<_> = ["flip_x(", "channels_first(", "f32(", "normalize("]
        .map(|it| text.find(it).expect("it is called"))
        .to_vec();
    assert!(places.is_sorted(), "{text}");
    let left = optimised(&plan(true), &[]);
    assert_eq!(calls(&left.plan, 0), ["channels_first", "flip_x", "normalize(2)"]);
}

#[test]
fn fields_that_nothing_needs_are_dropped() {
    let mut bed = Bed::default();
    let files = bed.files();
    let read = bed.with(files, |it| vec![("bytes", it.read())]);
    let made = bed.with(read, |it| {
        let (path, bytes) = (it.field("path"), it.field("bytes"));
        let args = [Arg::Expr(path)];
        let label = it.call("class_of", &args, Type::scalar(DType::I32));
        vec![("image", it.prepared(bytes)), ("label", label)]
    });
    let shuffled = bed.operator("shuffle", made, &[Arg::Int(16)]);
    let root = bed.map(shuffled, |it| vec![("label", it.field("label"))]);
    let made = optimised(&bed.plan(root), &[]);
    let outputs: Vec<Vec<&str>> = made
        .plan
        .ops
        .rows()
        .iter()
        .map(|op| op.output.iter().map(|it| it.name.as_str()).collect())
        .collect();
    assert_eq!(outputs, [vec!["path"], vec!["path"], vec!["label"], vec!["label"], vec!["label"]]);
    assert_eq!(made.story[0].why, "`bytes` of p.map#1, `image` of p.map#2: unused");
}

#[test]
fn files_are_read_after_what_holds_records() {
    let mut bed = Bed::default();
    let files = bed.files();
    let read = bed.with(files, |it| vec![("bytes", it.read())]);
    let shuffled = bed.operator("shuffle", read, &[Arg::Int(16)]);
    let kept = bed.keep(shuffled, |it| {
        let path = it.field("path");
        it.is_even(path)
    });
    let taken = bed.operator("take", kept, &[Arg::Int(3)]);
    let root = bed.map(taken, |it| {
        let bytes = it.field("bytes");
        vec![("bytes", bytes), ("image", it.prepared(bytes))]
    });
    let made = optimised(&bed.plan(root), &["view-reordering"]);
    assert_eq!(made.story.len(), 1);
    assert_eq!(made.story[0].why, "p.map#5 reads `bytes` itself, where it is used");
    assert!((1..5).all(|it| made.plan.ops.rows()[it].output.len() == 1));
    assert_eq!(calls(&made.plan, 0), ["read_file"]);
    assert!(optimised(&imagenet(), &[]).story.iter().all(|it| it.pass != "late-materialization"));
}

#[test]
fn one_part_is_made_at_once() {
    let plan = |parts: usize, upright: bool| {
        let mut bed = Bed::default();
        let files = bed.files();
        let root = bed.map(files, |it| {
            let bytes = it.read();
            let args = [Arg::Expr(bytes), Arg::Bool(upright)];
            let image = it.call("decode", &args, picture());
            let shape = it.of("shape", image, Type::tensor(DType::I64, &[3]));
            let y = it.of("sum", shape, Type::scalar(DType::I64));
            let square = Type::tensor(DType::U8, &[8, 8, 3]);
            let one =
                it.call("crop", &[Arg::Expr(image), Arg::Expr(y), Arg::Int(8)], square.clone());
            let two = it.call("crop", &[Arg::Expr(image), Arg::Int(0), Arg::Int(8)], square);
            let all = [("one", one), ("two", two), ("shape", shape)];
            all.into_iter().enumerate().filter(|it| it.0 != 1 || parts > 1).map(|it| it.1).collect()
        });
        bed.plan(root)
    };
    let made = optimised(&plan(1, false), &[]);
    assert_eq!(made.story[0].why, "p.map#1: `decode_crop` computes only the part that is used");
    assert!(made.story[0].kept && made.plan.ops[made.plan.root].graph.parts);
    for left in [plan(2, false), plan(1, true)] {
        assert!(optimised(&left, &[]).story.is_empty());
    }
}

#[test]
fn what_filters_and_batches_need_stays() {
    let mut bed = Bed::default();
    let range = bed.range();
    let made = bed.map(range, |it| {
        let i = it.field("i");
        let slow = it.of("slow", i, Type::scalar(DType::I64));
        vec![("a", i), ("b", slow), ("c", i)]
    });
    let kept = bed.keep(made, |it| {
        let b = it.field("b");
        it.binary(plan::Binary::Eq, b, b)
    });
    let batch = bed.batch(kept, 4);
    let root = bed.map(batch, |it| vec![("a", it.field("a"))]);
    let made = optimised(&bed.plan(root), &[]);
    let names = |i: usize| -> Vec<&str> {
        made.plan.ops.rows()[i].output.iter().map(|it| it.name.as_str()).collect()
    };
    assert_eq!([names(1), names(2), names(3)], [["a", "b"]; 3]);
}

#[test]
fn the_verifier_sees_what_is_wrong() {
    let wrong = |change: fn(&mut Plan)| {
        let mut plan = imagenet();
        change(&mut plan);
        verify(&plan, &LIBRARY).expect_err("it does not hold")
    };
    use plan::OpId as Id;
    assert!(wrong(|it| it.root = Id(0)).contains("is read"));
    assert!(wrong(|it| it.ops[Id(2)].inputs = vec![Id(3)]).contains("come before"));
    assert!(wrong(|it| it.ops[Id(2)].output.clear()).contains("flow in"));
    assert!(
        wrong(|it| it.ops[Id(4)].output[1].ty = Type::scalar(DType::F32)).contains("field `label`")
    );
    assert!(wrong(|it| it.ops[Id(4)].output[1].name = "image".into()).contains("two fields"));
    assert!(wrong(|it| it.ops[Id(0)].output.clear()).contains("no column 0"));
    assert!(
        wrong(|it| it.ops[Id(5)].kind = OpKind::Where { keep: plan::ExprId(9) })
            .contains("no node")
    );
}
