//! Buckets as `tf.data.Dataset.bucket_by_sequence_length` has them: batches, their order, what is left at the end, and
//! how far rows are padded. The slow version is written from its documentation.

use super::*;

/// What a batch of `bucket_by_sequence_length` holds: elements by their numbers, and the length that they are padded to.
type Batches = Vec<(Vec<usize>, usize)>;

/// The arguments of `bucket_by_sequence_length` that matter here.
struct Bucketing<'a> {
    boundaries: &'a [usize],
    batch_sizes: &'a [usize],
    pad_to_bucket_boundary: bool,
    drop_remainder: bool,
}

impl Bucketing<'_> {
    /// "Elements of the Dataset are grouped together by length and then are padded and batched."
    fn of(&self, lengths: &[usize]) -> Batches {
        // "upper length boundaries of the buckets"
        let bucket = |length: usize| {
            self.boundaries.iter().position(|it| length < *it).unwrap_or(self.boundaries.len())
        };
        let mut windows = vec![Vec::new(); self.boundaries.len() + 1];
        let mut batches = Vec::new();
        let batch = |bucket: usize, elements: &mut Vec<usize>| {
            let elements = std::mem::take(elements);
            let longest = elements.iter().map(|it| lengths[*it]).max().unwrap_or(0);
            // "If True, will pad dimensions with unknown size to bucket boundary minus 1"
            let to = match self.pad_to_bucket_boundary {
                true => self.boundaries[bucket] - 1,
                false => longest,
            };
            (elements, to)
        };
        for (element, length) in lengths.iter().enumerate() {
            let bucket = bucket(*length);
            windows[bucket].push(element);
            if windows[bucket].len() == self.batch_sizes[bucket] {
                batches.push(batch(bucket, &mut windows[bucket]));
            }
        }
        for (bucket, rest) in windows.iter_mut().enumerate() {
            if !rest.is_empty() && !self.drop_remainder {
                batches.push(batch(bucket, rest));
            }
        }
        batches
    }

    /// The same call here.
    fn call(&self) -> Vec<Arg> {
        let bounds: Vec<i64> = self.boundaries.iter().map(|it| *it as i64 - 1).collect();
        let kinds = bounds.len() + usize::from(!self.pad_to_bucket_boundary);
        let sizes: Vec<i64> = self.batch_sizes[..kinds].iter().map(|it| *it as i64).collect();
        let to = if self.pad_to_bucket_boundary { "bound" } else { "longest" };
        args(&[
            (0, ints(&sizes)),
            tail(if self.drop_remainder { "drop" } else { "keep" }),
            (2, record(&[("ids", Arg::Int(-1)), ("boxes", Arg::Int(9))])),
            (3, Arg::Column(2)),
            (4, ints(&bounds)),
            (8, Arg::Word(to.to_owned())),
        ])
    }
}

/// Records of a batch, padded to `to` elements.
fn padded_to(rows: &[&Record], to: usize) -> Record {
    let ids: Vec<u64> = rows.iter().map(|it| it.id).collect();
    let values = [(-1_i32).to_ne_bytes().to_vec(), vec![9]];
    let values = values.iter().enumerate().map(|(field, pad)| {
        let mut shape = rows[0].values[field].shape.clone();
        shape[0] = to;
        let all: Vec<_> = rows.iter().map(|it| padded(&it.values[field], &shape, pad)).collect();
        Value::stacked(&all)
    });
    Record { id: lineage(&ids), values: values.collect() }
}

fn case(call: &[Arg], input: &Table) -> Vec<Field> {
    Case { entry: &ENTRY, args: call, names: &[], inputs: from_ref(input) }.output().unwrap()
}

#[test]
fn batches_are_those_of_bucket_by_sequence_length() {
    // No row is longer than 10.
    for (n, boundaries, batch_sizes) in [
        (1000, &[3, 6, 11][..], &[9, 5, 4, 2][..]),
        (380, &[4, 11], &[3, 3, 3]),
        (90, &[11], &[7, 1]),
        (5, &[1, 2, 11], &[4, 4, 4, 4]),
    ] {
        for pad_to_bucket_boundary in [false, true] {
            for drop_remainder in [false, true] {
                let bucketing =
                    Bucketing { boundaries, batch_sizes, pad_to_bucket_boundary, drop_remainder };
                let input = ragged(n);
                let lengths: Vec<usize> = (0..n).map(length).collect();
                let expected = bucketing.of(&lengths).into_iter().map(|(elements, to)| {
                    let rows: Vec<&Record> = elements.iter().map(|it| &input[*it]).collect();
                    padded_to(&rows, to)
                });
                let expected = expected.collect();
                check(&ENTRY, &bucketing.call(), from_ref(&input), expected);
            }
        }
    }
}

#[test]
fn types_tell_what_is_the_same_in_all_batches() {
    let call = |sizes: &[i64], bounds: &[i64], multiple: i64| {
        args(&[
            (0, ints(sizes)),
            (2, record(&[("ids", Arg::Int(-1)), ("boxes", Arg::Int(9))])),
            (3, Arg::Column(2)),
            (4, ints(bounds)),
            (6, record(&[("ids", Arg::Int(multiple))])),
            (8, Arg::Word("bound".to_owned())),
        ])
    };
    let input = ragged(9);
    let fields = |it: &[(&str, &str)]| it.iter().map(|it| field(it.0, it.1)).collect::<Vec<_>>();
    let one = case(&call(&[4], &[10], 8), &input);
    assert_eq!(one, fields(&[("ids", "i32[4, 16]"), ("boxes", "u8[4, 10, 2]")]));
    let alike = case(&call(&[4, 4], &[5, 10], 1), &input);
    assert_eq!(alike, fields(&[("ids", "i32[4, ?]"), ("boxes", "u8[4, ?, 2]")]));
    let others = case(&call(&[4, 2], &[5, 10], 1), &input);
    assert_eq!(others, fields(&[("ids", "i32[?, ?]"), ("boxes", "u8[?, ?, 2]")]));
    // What is padded to 10 is rounded up to 16.
    let found = run(&ENTRY, &call(&[9], &[10], 8), from_ref(&input), 1).unwrap();
    assert_eq!(found[0].values[0].shape, [9, 16]);
}

#[test]
fn short_batches_of_a_bucket_are_filled_up() {
    let input = ragged(40);
    let call = args(&[
        (0, ints(&[7, 3])),
        tail("mask"),
        (2, record(&[("ids", Arg::Int(-1)), ("boxes", Arg::Int(9))])),
        (3, Arg::Column(2)),
        (4, ints(&[4, 10])),
        (8, Arg::Word("bound".to_owned())),
    ]);
    let found = run(&ENTRY, &call, from_ref(&input), 2).unwrap();
    let valid = |it: &Record| it.values[2].bytes.iter().filter(|it| **it == 1).count();
    assert_eq!(found.iter().map(valid).sum::<usize>(), 40);
    for batch in &found {
        let [rows, to] = batch.values[0].shape[..] else { panic!("{batch:?}") };
        assert!([(7, 4), (3, 10)].contains(&(rows, to)), "{rows} rows of {to}");
        assert_eq!(batch.values[1].shape, [rows, to, 2]);
        assert_eq!(batch.values[2].shape, [rows]);
    }
}

#[test]
fn the_bound_counts_as_tokens() {
    let input = ragged(300);
    let call = args(&[
        (5, Arg::Int(24)),
        (2, record(&[("ids", Arg::Int(-1)), ("boxes", Arg::Int(9))])),
        (3, Arg::Column(2)),
        (4, ints(&[4, 10])),
        (8, Arg::Word("bound".to_owned())),
    ]);
    let found = run(&ENTRY, &call, from_ref(&input), 0).unwrap();
    let shapes: Vec<&[usize]> = found.iter().map(|it| &it.values[0].shape[..]).collect();
    let full = shapes.iter().filter(|it| **it == [6, 4] || **it == [2, 10]).count();
    assert!(full >= shapes.len() - 4, "{shapes:?}");
    assert_eq!(shapes.iter().map(|it| it[0]).sum::<usize>(), 300);
}

#[test]
fn what_has_no_bound_is_refused() {
    let by = (3, Arg::Column(2));
    let to = (8, Arg::Word("bound".to_owned()));
    let pad = (2, record(&[("ids", Arg::Int(0)), ("boxes", Arg::Int(0))]));
    let size = (0, Arg::Int(4));
    let cases: [(Vec<(usize, Arg)>, &str); 7] = [
        (vec![size.clone(), by.clone(), pad.clone(), to.clone()], "`to: bound` needs `bounds`"),
        (
            vec![size.clone(), by.clone(), (4, ints(&[4])), to.clone(), names(&["ids", "boxes"])],
            "`pad` must give the values",
        ),
        (
            vec![
                size.clone(),
                by.clone(),
                (4, Arg::List(vec![Arg::Float(4.5)])),
                pad.clone(),
                to.clone(),
            ],
            "`bounds` has 4.5",
        ),
        (vec![(0, ints(&[4, 2])), by.clone(), pad.clone()], "`bounds` must say which"),
        (
            vec![(0, ints(&[4, 2])), by.clone(), (4, ints(&[4, 8])), pad.clone()],
            "2 numbers for 3 buckets: one for each of `bounds`, and one for records beyond",
        ),
        (
            vec![(0, ints(&[4, 2])), by.clone(), (4, ints(&[8])), pad.clone(), to.clone()],
            "2 numbers for 1 bucket: one for each of `bounds`",
        ),
        (vec![(0, ints(&[4, 0])), by.clone(), (4, ints(&[8])), pad.clone()], "`size` is 0"),
    ];
    for (said, message) in cases {
        let found = refused(&ENTRY, &args(&said), &[ragged(1)]);
        assert!(found.contains(message), "{found} instead of {message}");
    }
    // The longest has 10 elements.
    let call = args(&[size.clone(), by, (4, ints(&[4, 9])), pad.clone(), to.clone()]);
    let beyond = run(&ENTRY, &call, &[ragged(40)], 0).unwrap_err().to_string();
    assert!(beyond.contains("`by` is 10 for a record, but the last of `bounds` is 9"), "{beyond}");
    // What is not measured by `by` may be longer.
    let other = table(&[("ids", "i32[n]"), ("boxes", "u8[?]"), ("$0", "i64")], 4, |_| {
        vec![Value::new(&[1], &[1_i32]), Value::new(&[3], &[1_u8; 3]), Value::scalar(1_i64)]
    });
    let call = args(&[size, (3, Arg::Column(2)), (4, ints(&[2])), pad, to]);
    let longer = run(&ENTRY, &call, &[other], 0).unwrap_err().to_string();
    assert!(longer.contains("`boxes` has 3 elements along axis 0"), "{longer}");
}
