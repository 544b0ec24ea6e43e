mod boundaries;

use super::super::{model::*, order::lineage};
use super::*;
use std::slice::from_ref;

/// The arguments of a call; left out where not said.
fn args(said: &[(usize, Arg)]) -> Vec<Arg> {
    let mut all = vec![Arg::None; 9];
    all[1] = Arg::Word("drop".to_owned());
    for (at, arg) in said {
        all[*at] = arg.clone();
    }
    all
}

fn tail(word: &str) -> (usize, Arg) {
    (1, Arg::Word(word.to_owned()))
}

fn record(entries: &[(&str, Arg)]) -> Arg {
    Arg::Record(entries.iter().map(|(name, arg)| ((*name).to_owned(), arg.clone())).collect())
}

fn ints(all: &[i64]) -> Arg {
    Arg::List(all.iter().map(|it| Arg::Int(*it)).collect())
}

/// Records of fixed extents.
fn plain(rows: usize) -> Table {
    table(&[("i", "i64"), ("x", "f32[2, 2]")], rows, |it| {
        vec![Value::scalar(it as i64), Value::new(&[2, 2], &[it as f32, 1.0, 2.0, 3.0])]
    })
}

fn length(it: usize) -> usize {
    it * 7 % 11
}

/// Records with `ids` of free length and a hidden column that says which.
fn ragged(rows: usize) -> Table {
    table(&[("ids", "i32[n]"), ("boxes", "u8[n, 2]"), ("$0", "i64")], rows, |it| {
        let ids: Vec<i32> = (1..=length(it) as i32).collect();
        let boxes = vec![it as u8; length(it) * 2];
        vec![
            Value::new(&[length(it)], &ids),
            Value::new(&[length(it), 2], &boxes),
            Value::scalar(length(it) as i64),
        ]
    })
}

/// The value in the corner of one of these extents, `pad` elsewhere.
fn padded(value: &Value, shape: &[usize], pad: &[u8]) -> Value {
    let mut bytes: Vec<u8> = pad.repeat(shape.iter().product());
    let row = value.shape.iter().skip(1).product::<usize>() * pad.len();
    let wide = shape.iter().skip(1).product::<usize>() * pad.len();
    assert_eq!(row, wide, "only the first axis is padded here");
    bytes[..value.bytes.len()].copy_from_slice(&value.bytes);
    Value { dtype: value.dtype, shape: shape.to_vec(), bytes }
}

/// A batch of records whose first `fields` fields are padded along the first axis.
fn batch_of(rows: &[&Record], pads: &[Vec<u8>], multiple: usize) -> Record {
    let ids: Vec<u64> = rows.iter().map(|it| it.id).collect();
    let values = pads.iter().enumerate().map(|(field, pad)| {
        let longest = rows.iter().map(|it| it.values[field].shape[0]).max().unwrap();
        let mut shape = rows[0].values[field].shape.clone();
        shape[0] = longest.next_multiple_of(multiple);
        let all: Vec<_> = rows.iter().map(|it| padded(&it.values[field], &shape, pad)).collect();
        Value::stacked(&all)
    });
    Record { id: lineage(&ids), values: values.collect() }
}

fn stacked(rows: &[Record]) -> Record {
    let ids: Vec<u64> = rows.iter().map(|it| it.id).collect();
    let column = |it: usize| Value::stacked(rows.iter().map(|row| &row.values[it]));
    Record { id: lineage(&ids), values: (0..rows[0].values.len()).map(column).collect() }
}

#[test]
fn rows_are_stacked() {
    for size in [1, 7, 50, 100, 101] {
        let input = plain(100);
        let call = |word| args(&[(0, Arg::Int(size as i64)), tail(word)]);
        let dropped = input.chunks_exact(size).map(stacked).collect();
        check(&ENTRY, &call("drop"), from_ref(&input), dropped);
        let kept = input.chunks(size).map(stacked).collect();
        check(&ENTRY, &call("keep"), &[input], kept);
    }
}

#[test]
fn the_last_batch_is_filled_up() {
    let input = plain(10);
    let masked = input.chunks(4).map(|rows| {
        let mut batch = stacked(rows);
        let mut valid = [true; 4];
        valid[rows.len()..].fill(false);
        for value in &mut batch.values {
            value.bytes.resize(value.bytes.len() / rows.len() * 4, 0);
            value.shape[0] = 4;
        }
        batch.values.push(Value::new(&[4], &valid));
        batch
    });
    let masked = masked.collect();
    check(&ENTRY, &args(&[(0, Arg::Int(4)), tail("mask")]), &[input], masked);
}

/// Records with texts of any length beside a number.
fn captions(rows: usize) -> Table {
    table(&[("name", "str"), ("kind", "i64"), ("raw", "bytes")], rows, |it| {
        let raw = Value { dtype: DType::Bytes, ..Value::text(&"\0x".repeat(it % 3)) };
        vec![Value::text(&"žluť".repeat(it * 7 % 5)), Value::scalar(it as i64 % 2), raw]
    })
}

/// A batch of `captions`, filled up to `n` rows.
fn captioned(rows: &[&Record], n: usize) -> Record {
    let ids: Vec<u64> = rows.iter().map(|it| it.id).collect();
    let texts = |field: usize| Value::texts(rows.iter().map(|it| &it.values[field]), n);
    let mut kinds = Value::stacked(rows.iter().map(|it| &it.values[1]));
    kinds.bytes.resize(n * 8, 0);
    kinds.shape[0] = n;
    Record { id: lineage(&ids), values: vec![texts(0), kinds, texts(2)] }
}

#[test]
fn texts_become_a_column_of_texts() {
    let input = captions(50);
    for size in [1, 7, 50] {
        let call = |word| args(&[(0, Arg::Int(size as i64)), tail(word)]);
        let all: Vec<Vec<&Record>> = input.chunks(size).map(|it| it.iter().collect()).collect();
        let kept: Vec<Record> = all.iter().map(|it| captioned(it, it.len())).collect();
        let full = kept.iter().take(50 / size).cloned().collect();
        check(&ENTRY, &call("drop"), from_ref(&input), full);
        check(&ENTRY, &call("keep"), from_ref(&input), kept);
        let masked = all.iter().map(|it| {
            let mut batch = captioned(it, size);
            let valid: Vec<bool> = (0..size).map(|row| row < it.len()).collect();
            batch.values.push(Value::new(&[size], &valid));
            batch
        });
        check(&ENTRY, &call("mask"), from_ref(&input), masked.collect());
    }
    let call = args(&[(0, Arg::Int(4)), tail("keep"), (3, Arg::Column(1))]);
    let case = Case { entry: &ENTRY, args: &call, names: &[], inputs: from_ref(&input) };
    let expected = [field("name", "str[?]"), field("kind", "i64[?]"), field("raw", "bytes[?]")];
    assert_eq!(case.output().unwrap(), expected);
    let sorted = (0..2).flat_map(|kind| {
        let alike: Vec<&Record> = input.iter().skip(kind).step_by(2).collect();
        alike.chunks(4).map(|it| it.to_vec()).collect::<Vec<_>>()
    });
    let mut expected: Vec<Record> = sorted.map(|it| captioned(&it, it.len())).collect();
    // Full batches leave as they fill, in turn; the two that are left leave at the end.
    let odd = expected.split_off(expected.len() / 2);
    let expected = expected.into_iter().zip(odd).flat_map(|(a, b)| [a, b]).collect();
    check(&ENTRY, &call, &[input], expected);
}

#[test]
fn texts_of_a_batch_stay_within_the_memory_of_the_run() {
    use runtime::{OperatorCall, Pool};
    let (input, pool) = (captions(8), Pool::default());
    let call = args(&[(0, Arg::Int(8))]);
    let case = Case { entry: &ENTRY, args: &call, names: &[], inputs: from_ref(&input) };
    let columns = case.output().unwrap();
    let mut chunk = ChunkBuilder::new(&input.fields, 8, 0, &pool);
    for row in 0..8 {
        chunk.ids.push_scalar(row as u64);
        chunk.columns[0].push_text(&[b'a'; 1000]);
        chunk.columns[1].push_scalar(0_i64);
        chunk.columns[2].push_text(b"");
    }
    let collate = |memory: u64| {
        let of = OperatorCall {
            args: &call,
            names: &[],
            inputs: from_ref(&input.fields),
            columns: &columns,
            key: 0,
            epoch: 0,
            state: None,
            rows: 1,
            memory,
            pool: &pool,
            kept: None,
            by_file: &[],
            filling: &Arc::default(),
        };
        build(&of).unwrap().parallel.unwrap()
    };
    let chunk = chunk.finish();
    let failure = collate(8_000)(chunk.clone(), 0).unwrap_err().to_string();
    assert!(
        failure.contains("`name` in one batch takes 8.1 kB, but the limit is 8 kB"),
        "{failure}"
    );
    assert_eq!(collate(9_000)(chunk, 0).unwrap().columns[0].row(0).rows(), Some(8));
}

#[test]
fn short_rows_are_padded() {
    let input = ragged(40);
    let pads = record(&[("ids", Arg::Int(-1)), ("boxes", Arg::Float(9.0))]);
    let multiple = record(&[("ids", Arg::Int(4)), ("boxes", ints(&[4, 1]))]);
    let call = args(&[(0, Arg::Int(8)), (2, pads), (6, multiple)]);
    let fields =
        Case { entry: &ENTRY, args: &call, names: &[], inputs: from_ref(&input) }.output().unwrap();
    assert_eq!(fields, [field("ids", "i32[8, ?]"), field("boxes", "u8[8, ?, 2]")]);

    let pads = [(-1_i32).to_ne_bytes().to_vec(), vec![9]];
    let expected =
        input.chunks_exact(8).map(|it| batch_of(&it.iter().collect::<Vec<_>>(), &pads, 4));
    let expected = expected.collect();
    check(&ENTRY, &call, &[input], expected);
}

fn names(all: &[&str]) -> (usize, Arg) {
    (7, Arg::List(all.iter().map(|it| Arg::Text((*it).to_owned())).collect()))
}

/// A batch of `ragged` with the rows end to end, filled up to `n` rows.
fn end_to_end(rows: &[&Record], n: usize) -> Record {
    let ids: Vec<u64> = rows.iter().map(|it| it.id).collect();
    let lengths = (0..n).map(|it| rows.get(it).map_or(0, |it| it.values[0].shape[0] as i64));
    let ends = lengths.scan(0, |end, it| {
        *end += it;
        Some(*end)
    });
    let offsets: Vec<i64> = [0].into_iter().chain(ends).collect();
    let values = (0..2).flat_map(|field| {
        let all = || rows.iter().map(|it| &it.values[field]);
        let mut shape = rows[0].values[field].shape.clone();
        shape[0] = all().map(|it| it.shape[0]).sum();
        let bytes = all().flat_map(|it| it.bytes.iter().copied()).collect();
        let dtype = rows[0].values[field].dtype;
        [Value { dtype, shape, bytes }, Value::new(&[n + 1], &offsets)]
    });
    Record { id: lineage(&ids), values: values.collect() }
}

#[test]
fn rows_keep_their_lengths() {
    let (input, both) = (ragged(50), names(&["boxes", "ids"]));
    for size in [1, 7, 50] {
        let call = |word| args(&[(0, Arg::Int(size as i64)), tail(word), both.clone()]);
        let all: Vec<Vec<&Record>> = input.chunks(size).map(|it| it.iter().collect()).collect();
        let kept: Vec<Record> = all.iter().map(|it| end_to_end(it, it.len())).collect();
        let full = kept.iter().take(50 / size).cloned().collect();
        check(&ENTRY, &call("drop"), from_ref(&input), full);
        check(&ENTRY, &call("keep"), from_ref(&input), kept);
        let masked = all.iter().map(|it| {
            let mut batch = end_to_end(it, size);
            let valid: Vec<bool> = (0..size).map(|row| row < it.len()).collect();
            batch.values.push(Value::new(&[size], &valid));
            batch
        });
        check(&ENTRY, &call("mask"), from_ref(&input), masked.collect());
    }
    // With buckets; one field is padded.
    let (kept, pad) = (names(&["boxes"]), record(&[("ids", Arg::Int(0))]));
    let by = (3, Arg::Column(2));
    let call = args(&[(0, Arg::Int(3)), tail("keep"), (2, pad), by, (4, ints(&[4])), kept]);
    let case = Case { entry: &ENTRY, args: &call, names: &[], inputs: from_ref(&input) };
    let fields = [("ids", "i32[?, ?]"), ("boxes.values", "u8[?, 2]"), ("boxes.offsets", "i64[?]")];
    assert_eq!(case.output().unwrap(), fields.map(|it| field(it.0, it.1)));
    let limits = Limits { block: 64 * 3 * 2, size: 3, keep: true };
    let expected = bucketed(&input, limits, |it| usize::from(it > 4), |_, _| false);
    let expected = expected.iter().map(|it| {
        let mut batch = end_to_end(it, it.len());
        let pads = [vec![0; 4], vec![0]];
        batch.values.splice(..2, batch_of(it, &pads, 1).values.into_iter().take(1));
        batch
    });
    check(&ENTRY, &call, from_ref(&input), expected.collect());
}

#[test]
fn an_inner_axis_is_padded_row_by_row() {
    let input = table(&[("x", "u8[?, ?]")], 2, |it| {
        if it == 0 {
            vec![Value::new(&[2, 1], &[1_u8, 2])]
        } else {
            vec![Value::new(&[1, 3], &[3_u8, 4, 5])]
        }
    });
    let call = args(&[(0, Arg::Int(2)), (2, record(&[("x", Arg::Int(7))]))]);
    let bytes = [1, 7, 7, 2, 7, 7, 3, 4, 5, 7, 7, 7_u8];
    let id = lineage(&[input[0].id, input[1].id]);
    let expected = Record { id, values: vec![Value::new(&[2, 2, 3], &bytes)] };
    check(&ENTRY, &call, &[input], vec![expected]);
}

#[test]
fn rows_that_differ_need_padding() {
    let found = refused(&ENTRY, &args(&[(0, Arg::Int(8))]), &[ragged(40)]);
    assert!(found.contains("`pad: { ids: 0 }`"), "{found}");
    // `by` may put those of the same extents together; where it does not, the run says so.
    let alike = table(&[("ids", "i32[n]"), ("key", "i64")], 8, |it| {
        vec![Value::new(&[it + 1], &vec![1_i32; it + 1]), Value::scalar(7_i64)]
    });
    let call = args(&[(0, Arg::Int(8)), (3, Arg::Column(1))]);
    let failure = run(&ENTRY, &call, &[alike], 3).unwrap_err();
    assert!(failure.to_string().contains("`pad: { ids: 0 }`"), "{failure}");
    // One row has no other to differ from.
    let single = table(&[("x", "u8[?]")], 4, |it| vec![Value::new(&[2], &[it as u8, 1])]);
    let expected = single.chunks(1).map(stacked).collect();
    check(&ENTRY, &args(&[(0, Arg::Int(1))]), &[single], expected);
}

/// Records of a block, rows of a batch, whether a short one stays.
struct Limits {
    block: usize,
    size: usize,
    keep: bool,
}

/// Buckets on lists: what `kind` says goes together, `full` says when a batch is.
fn bucketed<'a>(
    input: &'a [Record],
    limits: Limits,
    kind: impl Fn(usize) -> usize,
    full: impl Fn(&[&'a Record], &'a Record) -> bool,
) -> Vec<Vec<&'a Record>> {
    let Limits { block, size, keep } = limits;
    let mut out = Vec::new();
    for block in input.chunks(block) {
        let mut buckets = vec![Vec::new(); 20];
        for record in block {
            let bucket = &mut buckets[kind(record.values[0].shape[0])];
            if full(bucket, record) {
                out.push(std::mem::take(bucket));
            }
            bucket.push(record);
            if bucket.len() == size {
                out.push(std::mem::take(bucket));
            }
        }
        out.extend(buckets.into_iter().filter(|it| keep && !it.is_empty()));
    }
    out
}

fn zero_pads() -> ((usize, Arg), [Vec<u8>; 2]) {
    ((2, record(&[("ids", Arg::Int(0)), ("boxes", Arg::Int(0))])), [vec![0; 4], vec![0]])
}

#[test]
fn records_are_sorted_into_buckets() {
    let (pad, pads) = zero_pads();
    for word in ["drop", "keep"] {
        let call = args(&[
            (0, Arg::Int(3)),
            tail(word),
            pad.clone(),
            (3, Arg::Column(2)),
            (4, ints(&[2, 5])),
        ]);
        let kind = |it| {
            if it <= 2 {
                0
            } else if it <= 5 {
                1
            } else {
                2
            }
        };
        let input = ragged(1500);
        let groups = bucketed(
            &input,
            Limits { block: 64 * 3 * 3, size: 3, keep: word == "keep" },
            kind,
            |_, _| false,
        );
        let expected = groups.iter().map(|it| batch_of(it, &pads, 1)).collect();
        check(&ENTRY, &call, from_ref(&input), expected);
    }
}

#[test]
fn equal_keys_go_together() {
    let (pad, pads) = zero_pads();
    let call = args(&[(0, Arg::Int(2)), tail("keep"), pad, (3, Arg::Column(2))]);
    let input = ragged(2500);
    let groups =
        bucketed(&input, Limits { block: 64 * 2 * 16, size: 2, keep: true }, |it| it, |_, _| false);
    let expected = groups.iter().map(|it| batch_of(it, &pads, 1)).collect();
    check(&ENTRY, &call, from_ref(&input), expected);
}

#[test]
fn tokens_end_a_batch() {
    let (pad, pads) = zero_pads();
    let longest = |rows: &[&Record]| rows.iter().map(|it| it.values[0].shape[0]).max().unwrap_or(0);
    let full = |rows: &[&Record], next: &Record| {
        !rows.is_empty() && (rows.len() + 1) * longest(rows).max(next.values[0].shape[0]) > 24
    };
    let input = ragged(1500);

    let call = args(&[(5, Arg::Int(24)), pad.clone(), (3, Arg::Column(2))]);
    let groups =
        bucketed(&input, Limits { block: usize::MAX, size: usize::MAX, keep: true }, |_| 0, full);
    let expected = groups.iter().map(|it| batch_of(it, &pads, 1)).collect();
    check(&ENTRY, &call, from_ref(&input), expected);

    let bounds = (4, ints(&[3, 9]));
    let call = args(&[(5, Arg::Int(24)), (0, Arg::Int(6)), pad, (3, Arg::Column(2)), bounds]);
    let kind = |it| {
        if it <= 3 {
            0
        } else if it <= 9 {
            1
        } else {
            2
        }
    };
    let groups =
        bucketed(&input, Limits { block: 64 * (6 + 2 + 2), size: 6, keep: true }, kind, full);
    let expected = groups.iter().map(|it| batch_of(it, &pads, 1)).collect();
    check(&ENTRY, &call, from_ref(&input), expected);
}

#[test]
fn a_record_that_is_too_long_is_alone() {
    let (pad, pads) = zero_pads();
    let input = ragged(5);
    let call = args(&[(5, Arg::Int(1)), pad, (3, Arg::Column(2))]);
    let expected = input.iter().map(|it| batch_of(&[it], &pads, 1)).collect();
    check(&ENTRY, &call, from_ref(&input), expected);
}

#[test]
fn mistakes_are_found_before_the_run() {
    let by = (3, Arg::Column(2));
    let size = (0, Arg::Int(4));
    let cases: Vec<(Vec<Arg>, Table, &str)> = vec![
        (args(&[]), plain(1), "needs a size"),
        (
            args(&[size.clone(), (2, record(&[("name", Arg::Int(0)), ("ids", Arg::Int(0))]))]),
            records(1),
            "`pad` names `name`, which is `str`",
        ),
        (
            args(from_ref(&size)),
            table(&[("names", "str[4]")], 0, |_| Vec::new()),
            "a batch of batches",
        ),
        (args(&[(0, Arg::Int(0))]), plain(1), "`size` is 0"),
        (args(&[(5, Arg::Int(9))]), plain(1), "needs `by`"),
        (args(&[size.clone(), (4, ints(&[1]))]), plain(1), "needs `by`"),
        (args(&[size.clone(), by.clone(), (4, ints(&[2, 1]))]), ragged(1), "must be increasing"),
        (args(&[(5, Arg::Int(9)), by, tail("mask")]), ragged(1), "remove `tail: mask`"),
        (args(&[size.clone(), (3, Arg::Column(0))]), ragged(1), "`by` is `i32[n]`"),
        (
            args(&[size.clone(), (2, record(&[("y", Arg::Int(0))]))]),
            plain(1),
            "the fields are `i`, `x`",
        ),
        (
            args(&[size.clone(), (2, record(&[("i", Arg::Float(0.5))]))]),
            plain(1),
            "`pad` of `i` must be a number of its type, `i64`",
        ),
        (
            args(&[size.clone(), (2, record(&[("x", Arg::Int(-1))]))]),
            table(&[("x", "u64[?]")], 0, |_| Vec::new()),
            "write `i64(x)` before `batch`",
        ),
        (args(&[size.clone(), (6, record(&[("x", Arg::Int(8))]))]), plain(1), "`pad: { x: 0 }`"),
        (
            args(&[size.clone(), names(&["idz"])]),
            ragged(1),
            "`ragged` names `idz`, which is not a field; the fields are",
        ),
        (args(&[size.clone(), names(&["name"])]), records(1), "strings keep their lengths anyway"),
        (args(&[size.clone(), names(&["i"])]), records(1), "each record has one number"),
        (
            args(&[size.clone(), names(&["x"])]),
            records(1),
            "`f32[3]`: it has the same length in every record",
        ),
        (
            args(&[size.clone(), names(&["x"])]),
            table(&[("x", "u8[?, ?]")], 0, |_| Vec::new()),
            "may differ only in their first axis",
        ),
        (
            args(&[size.clone(), names(&["ids"]), (2, record(&[("ids", Arg::Int(0))]))]),
            ragged(1),
            "`pad` and `ragged` both name `ids`",
        ),
    ];
    for (args, input, message) in cases {
        let found = refused(&ENTRY, &args, &[input]);
        assert!(found.contains(message), "{found} instead of {message}");
    }
}

/// Rows that were written into one buffer are not copied.
#[test]
fn neighbours_become_a_batch_where_they_lie() {
    use runtime::{OperatorCall, Pool};
    let (input, pool) = (plain(8), Pool::default());
    let call = args(&[(0, Arg::Int(4))]);
    let case = Case { entry: &ENTRY, args: &call, names: &[], inputs: from_ref(&input) };
    let columns = case.output().unwrap();
    let mut out = ChunkBuilder::new(&input.fields, 8, 0, &pool);
    for row in 0..8_i64 {
        out.ids.push_scalar(row as u64);
        out.columns[0].push_scalar(row);
        out.columns[1].push(&Tensor::new(&[2, 2], &[row as f32; 4]));
    }
    let chunk = out.finish();
    let mut running = build(&OperatorCall {
        args: &args(&[(0, Arg::Int(4))]),
        names: &[],
        inputs: &[input.fields],
        columns: &columns,
        key: 0,
        epoch: 0,
        state: None,
        rows: 1,
        memory: 1 << 30,
        pool: &pool,
        kept: None,
        by_file: &[],
        filling: &Arc::default(),
    })
    .unwrap();
    let mut groups = Vec::new();
    for row in 0..8 {
        running.serial.push(0, Some(chunk.cut(row..row + 1)), &mut groups).unwrap();
    }
    let batch = running.parallel.unwrap()(groups.remove(1), 1).unwrap();
    assert_eq!(batch.columns[1].row(0).shape(), [4, 2, 2]);
    assert_eq!(batch.columns[1].row(0).as_ptr(), chunk.columns[1].row(4).as_ptr());
}
