//! Plans by hand, and the programs that become of them, as text.

use super::lower;
use crate::{
    analysis::bed::{Bed, LIBRARY},
    explain::program_text,
    verify::verify,
};
use plan::{Arg, Binary, Code, DType, Expr, Otherwise, Plan, Policy, Program, Transform, Type};

fn lowered(plan: &Plan) -> Program {
    verify(plan, &LIBRARY).expect("the plan holds");
    lower(plan, &LIBRARY, &|it| format!("p.pipe:{}", it.start)).expect("it can be run")
}

/// The codes of what is wrong.
fn refused(plan: &Plan) -> Vec<&'static str> {
    verify(plan, &LIBRARY).expect("the plan holds");
    let wrong = lower(plan, &LIBRARY, &|_| String::new()).expect_err("it cannot be run");
    wrong.iter().map(|it| it.code.id).collect()
}

fn transforms(program: &Program) -> Vec<&Transform> {
    let transform = |it| match it {
        &plan::Stage { code: Code::Transform(ref it), .. } => Some(it),
        _ => None,
    };
    program.stages.rows().iter().filter_map(transform).collect()
}

/// `files |> where even(path) |> shuffle |> with bytes |> map { image else another, label } |> batch`
pub(crate) fn imagenet() -> Plan {
    let mut bed = Bed::default();
    let files = bed.files();
    let bytes = bed.with(files, |it| vec![("bytes", it.read())]);
    let kept = bed.keep(bytes, |it| {
        let path = it.field("path");
        it.is_even(path)
    });
    let shuffled = bed.shuffle(kept);
    let made = bed.map(shuffled, |it| {
        let (path, bytes) = (it.field("path"), it.field("bytes"));
        let value = it.prepared(bytes);
        let otherwise = Otherwise::Policy(Policy::Another { most: 0.001 });
        let ty = it.graph.ty(value).clone();
        let image = it.graph.add(Expr::Else { value, otherwise }, ty);
        let args = [Arg::Expr(path)];
        vec![("image", image), ("label", it.call("class_of", &args, Type::scalar(DType::I32)))]
    });
    let root = bed.batch(made, 128);
    bed.plan(root)
}

#[test]
fn images_are_filtered_read_and_written_into_the_batch() {
    let text = program_text(&lowered(&imagenet()));
    let expected = "program p: { image: f32[128, 3, 8, 8], label: i32[128] } in batches

s0 = source files(\"*.jpg\") shuffle 00000000000003eb    # p.files#0
    -> { path: str }, 4 rows per chunk

s1 = transform s0    # p.where#2
    v0 = column 0 (path): str
    v1 = hash(v0): u64
    v2 = 2: u64
    v3 = 0: u64
    v4 = v1 % v2: u64
    v5 = v4 == v3: bool
    keep v5
    { path: v0 }
    else fail
    -> { path: str }, 4 rows per chunk

s2 = read s1    # p.map#1
    v0 = column 0 (path): str
    v1 = read_file(v0): bytes
    v2 = v1 else another(most: 0.001): bytes
    { path: v0, $v1: v2 }
    else fail through s0, s1
    -> { path: str, $v1: bytes }, 4 rows per chunk

s3 = transform s2    # p.map#4
    v0 = column 0 (path): str
    v1 = column 1 ($v1): bytes
    v2 = decode(v1, false): u8[?, ?, 3]
    v3 = resize(v2, 8): u8[8, 8, 3]
    v4 = normalize(v3, -1): f32[8, 8, 3]
    v5 = channels_first(v4): f32[3, 8, 8]
    v6 = v5 else another(most: 0.001): f32[3, 8, 8]
    v7 = class_of(v0): i32
    { image: v6, label: v7 } into batches of 128
    else fail through s0, s1, s2
    -> { image: f32[3, 8, 8], label: i32 }, 4 rows per chunk

s4 = batch s3 (128, none, none)    # p.batch#5
    -> { image: f32[128, 3, 8, 8], label: i32[128] }, 4 rows per chunk
";
    assert_eq!(text, expected, "{text}");
}

#[test]
fn plain_arithmetic_is_one_stage_at_once() {
    let mut bed = Bed::default();
    let range = bed.range();
    let made = bed.map(range, |it| {
        let (i, two) = (it.field("i"), it.int(2));
        let odd = it.binary(Binary::Rem, i, two);
        vec![("i", i), ("x", it.binary(Binary::Add, i, two)), ("odd", odd)]
    });
    let kept = bed.keep(made, |it| {
        let (odd, one) = (it.field("odd"), it.int(1));
        it.binary(Binary::Eq, odd, one)
    });
    let shuffled = bed.operator("shuffle", kept, &[Arg::Int(8192)]);
    let root = bed.batch(shuffled, 256);
    let program = lowered(&bed.plan(root));
    let all = transforms(&program);
    assert_eq!(all.len(), 1);
    assert!(all[0].vector && all[0].filters.len() == 1 && all[0].into_batch.is_none());
    assert_eq!(program.stages.len(), 4);
    assert_eq!(program.stages.rows()[0].rows, 8192);
    assert_eq!(program.stages.rows()[1].steps, ["p.map#1", "p.where#2"]);
}

#[test]
fn a_division_by_what_may_be_zero_is_not_done_at_once() {
    let vector = |constant: bool| {
        let mut bed = Bed::default();
        let range = bed.range();
        let root = bed.map(range, |it| {
            let i = it.field("i");
            let by = if constant { it.int(3) } else { i };
            vec![("x", it.binary(Binary::FloorDiv, i, by))]
        });
        transforms(&lowered(&bed.plan(root)))[0].vector
    };
    assert!(vector(true));
    assert!(!vector(false));
}

#[test]
fn only_what_cannot_go_is_written_into_the_batch() {
    let rows = |filter: bool, policy: Policy| {
        let mut bed = Bed::default();
        bed.on_fault(policy);
        let range = bed.range();
        let mut op = bed.map(range, |it| {
            let i = it.field("i");
            vec![("x", it.binary(Binary::FloorDiv, i, i))]
        });
        if filter {
            op = bed.keep(op, |it| {
                let x = it.field("x");
                it.binary(Binary::Eq, x, x)
            });
        }
        let root = bed.batch(op, 16);
        transforms(&lowered(&bed.plan(root))).last().and_then(|it| it.into_batch)
    };
    assert_eq!(rows(false, Policy::Fail), Some(16));
    assert_eq!(rows(false, Policy::Another { most: 0.5 }), Some(16));
    assert_eq!(rows(false, Policy::Skip { most: 0.5 }), None);
    assert_eq!(rows(true, Policy::Fail), None);
}

#[test]
fn a_step_keeps_its_own_policy() {
    let mut bed = Bed::default();
    let files = bed.files();
    bed.on_fault(Policy::Skip { most: 0.5 });
    let read = bed.map(files, |it| vec![("path", it.field("path")), ("bytes", it.read())]);
    bed.on_fault(Policy::Fail);
    let root = bed.map(read, |it| {
        let bytes = it.field("bytes");
        vec![("image", it.prepared(bytes))]
    });
    let program = lowered(&bed.plan(root));
    let all = transforms(&program);
    let text = program_text(&program);
    assert_eq!(all.len(), 2, "{text}");
    assert!(all[0].reads && all[0].on_fault == Policy::Fail, "{text}");
    assert_eq!(text.matches("else skip(most: 0.5)").count(), 1, "{text}");
    assert_eq!(program.stages.rows()[2].label(), "p.pipe:2", "{text}");
}

#[test]
fn what_is_read_on_a_condition_is_read_where_it_stands() {
    let mut bed = Bed::default();
    let files = bed.files();
    let root = bed.map(files, |it| {
        let path = it.field("path");
        let keep = it.is_even(path);
        let (bytes, none) = (it.read(), it.field("path"));
        let image = it.prepared(bytes);
        let other = it.call(
            "resize",
            &[Arg::Expr(none), Arg::Int(8)],
            Type::tensor(DType::F32, &[3, 8, 8]),
        );
        let ty = it.graph.ty(image).clone();
        vec![("path", none), ("image", it.graph.add(Expr::Select(keep, image, other), ty))]
    });
    let program = lowered(&bed.plan(root));
    let all = transforms(&program);
    assert!(all.len() == 1 && !all[0].reads, "{}", program_text(&program));
}

#[test]
fn what_both_branches_need_is_read_ahead() {
    let mut bed = Bed::default();
    let files = bed.files();
    let root = bed.map(files, |it| {
        let coin = it.call("coin", &[Arg::Float(0.5)], Type::scalar(DType::Bool));
        let bytes = it.read();
        let image = it.prepared(bytes);
        let ty = it.graph.ty(image).clone();
        let flipped = it.of("flip_x", image, ty.clone());
        vec![("image", it.graph.add(Expr::Select(coin, flipped, image), ty))]
    });
    let program = lowered(&bed.plan(root));
    let reads: Vec<bool> = transforms(&program).iter().map(|it| it.reads).collect();
    assert_eq!(reads, [true, false], "{}", program_text(&program));
}

#[test]
fn bytes_alone_are_one_stage_that_reads() {
    let mut bed = Bed::default();
    let files = bed.files();
    let read = bed.with(files, |it| vec![("bytes", it.read())]);
    let root = bed.operator("shuffle", read, &[Arg::Int(10)]);
    let program = lowered(&bed.plan(root));
    let columns: Vec<&str> =
        program.stages.rows()[1].columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(columns, ["path", "bytes"]);
    assert_eq!(program.stages.len(), 3);
    assert!(transforms(&program)[0].reads);
}

#[test]
fn the_index_is_permuted_in_the_source() {
    let mut bed = Bed::default();
    let range = bed.range();
    let skipped = bed.operator("skip", range, &[Arg::Int(5)]);
    let made = bed.map(skipped, |it| vec![("i", it.field("i"))]);
    let taken = bed.operator("take", made, &[Arg::Int(50)]);
    let skipped = bed.operator("skip", taken, &[Arg::Int(10)]);
    let shuffled = bed.shuffle(skipped);
    let again = bed.shuffle(shuffled);
    let inner = bed.operator("repeat", again, &[Arg::Int(2)]);
    let root = bed.operator("repeat", inner, &[Arg::Int(3)]);
    let program = lowered(&bed.plan(root));
    assert_eq!(program.stages.len(), 1, "{}", program_text(&program));
    let Code::Source { shuffles, skip, take, laps, .. } = &program.stages.rows()[0].code else {
        panic!("a source is first")
    };
    assert_eq!((&shuffles[..], *skip, *take, *laps), (&[1005, 1006][..], 15, Some(40), Some(6)));
}

/// Makes what is shuffled.
type Make = fn(&mut Bed) -> plan::OpId;

#[test]
fn what_has_no_index_cannot_be_permuted() {
    let cases: [(Make, &[&str]); 7] = [
        (|bed| bed.source("pipe", &[], &[("i", Type::scalar(DType::I64))]), &["PC0301"]),
        (
            |bed| {
                let range = bed.range();
                bed.twice(range)
            },
            &["PC0301"],
        ),
        (
            |bed| {
                let range = bed.range();
                bed.batch(range, 4)
            },
            &["PC0301"],
        ),
        (
            |bed| {
                let range = bed.range();
                let kept = bed.keep(range, |it| {
                    let i = it.field("i");
                    it.binary(Binary::Eq, i, i)
                });
                bed.operator("take", kept, &[Arg::Int(3)])
            },
            &["PC0301"],
        ),
        (
            |bed| {
                let range = bed.range();
                bed.operator("repeat", range, &[Arg::Int(2)])
            },
            &["PC0301"],
        ),
        (
            |bed| {
                let (range, other) = (bed.range(), bed.range());
                let kept = bed.keep(range, |it| {
                    let i = it.field("i");
                    it.binary(Binary::Eq, i, i)
                });
                bed.zip([kept, other])
            },
            &["PC0301"],
        ),
        (
            |bed| {
                let range = bed.range();
                let batch = bed.batch(range, 4);
                bed.operator("repeat", batch, &[Arg::Int(2)])
            },
            &["PC0302", "PC0301"],
        ),
    ];
    for (make, codes) in cases {
        let mut bed = Bed::default();
        let op = make(&mut bed);
        let root = bed.shuffle(op);
        assert_eq!(refused(&bed.plan(root)), codes);
    }
}

#[test]
fn another_needs_the_index() {
    let plan = |indexed: bool, twice: bool| {
        let mut bed = Bed::default();
        let name = if indexed { "files" } else { "pipe" };
        let args: &[Arg] = if indexed { &[Arg::Text("*".into())] } else { &[] };
        let mut op = bed.source(name, args, &[("path", Type::scalar(DType::Str))]);
        if twice {
            op = bed.twice(op);
        }
        bed.on_fault(Policy::Another { most: 0.1 });
        let root = bed.map(op, |it| vec![("bytes", it.read())]);
        bed.plan(root)
    };
    assert_eq!(transforms(&lowered(&plan(true, false)))[0].another.len(), 1);
    assert_eq!(refused(&plan(false, false)), ["PC0303"]);
    assert_eq!(refused(&plan(true, true)), ["PC0303"]);
}

#[test]
fn a_skip_must_not_misalign_a_zip() {
    let mut bed = Bed::default();
    bed.on_fault(Policy::Skip { most: 0.1 });
    let files = bed.files();
    let read = bed.map(files, |it| vec![("bytes", it.read())]);
    let range = bed.range();
    let root = bed.zip([read, range]);
    assert_eq!(refused(&bed.plan(root)), ["PC0304"]);
}

#[test]
fn arguments_of_the_record_become_hidden_columns() {
    let mut bed = Bed::default();
    let range = bed.range();
    let weighed = bed.weighed("sample", range, |it| {
        let i = it.field("i");
        it.of("slow", i, Type::scalar(DType::I64))
    });
    let root = bed.weighed("sample", weighed, |it| it.field("i"));
    let program = lowered(&bed.plan(root));
    let stages = program.stages.rows();
    assert_eq!(stages.len(), 4, "{}", program_text(&program));
    assert_eq!(stages[1].columns[1].name, "$weight");
    let args = |i: usize| match &stages[i].code {
        Code::Operator { args, .. } => args.clone(),
        _ => panic!("stage {i} is an operator"),
    };
    assert_eq!((args(2), args(3)), (vec![Arg::Column(1)], vec![Arg::Column(0)]));
    assert_eq!(stages[2].columns.len(), 1);
}

#[test]
fn what_multiplies_records_ends_a_stage() {
    let mut bed = Bed::default();
    let range = bed.range();
    let twice = bed.twice(range);
    let drawn = bed.map(twice, |it| {
        let coin = it.call("coin", &[Arg::Float(0.5)], Type::scalar(DType::Bool));
        vec![("coin", coin)]
    });
    let again = bed.twice(drawn);
    let root = bed.batch(again, 4);
    let program = lowered(&bed.plan(root));
    assert_eq!(transforms(&program).len(), 2, "{}", program_text(&program));
    assert!(transforms(&program).iter().all(|it| it.into_batch.is_none()));
}
