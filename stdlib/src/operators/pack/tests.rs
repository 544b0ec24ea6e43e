//! Sequences are those of slow versions on lists, whatever cuts the input had.

mod grain;

use super::super::{model::*, order::lineage};
use super::*;
use plan::mix;

/// Records of these lengths: numbers that go on from one to the next, and two more for each.
fn records(lengths: &[usize]) -> Table {
    let fields = [("ids", "i32[?]"), ("mask", "u8[?, 2]")];
    let begins: Vec<usize> =
        lengths.iter().scan(0, |at, len| Some(std::mem::replace(at, *at + len))).collect();
    table(&fields, lengths.len(), |row| {
        let ids = (0..lengths[row]).map(|it| (begins[row] + it + 1) as i32).collect::<Vec<_>>();
        let mask: Vec<u8> = ids.iter().flat_map(|it| [*it as u8, 7]).collect();
        vec![Value::new(&[ids.len()], &ids), Value::new(&[ids.len(), 2], &mask)]
    })
}

/// Lengths from 0 to `most`.
fn lengths(seed: u64, records: u64, most: u64) -> Vec<usize> {
    (0..records).map(|it| (mix(seed, it) % (most + 1)) as usize).collect()
}

/// Records of pieces: row, start, length.
fn packed(input: &Table, length: usize, sequences: &[Vec<(usize, usize, usize)>]) -> Vec<Record> {
    let element = |row: usize, field: usize, at: usize, bytes: usize| {
        input.records[row].values[field].bytes[at * bytes..(at + 1) * bytes].to_vec()
    };
    let sequence = |pieces: &Vec<(usize, usize, usize)>| {
        let (mut ids, mut masks) = (Vec::new(), Vec::new());
        let (mut segments, mut positions) = (Vec::new(), Vec::new());
        for (number, (row, start, len)) in pieces.iter().enumerate() {
            for at in 0..*len {
                ids.extend(element(*row, 0, start + at, 4));
                masks.extend(element(*row, 1, start + at, 2));
                segments.push(number as i32 + 1);
                positions.push(at as i32);
            }
        }
        while segments.len() < length {
            ids.extend((-1_i32).to_le_bytes());
            masks.extend([0, 0]);
            segments.push(0);
            positions.push(0);
        }
        let of: Vec<u64> = pieces.iter().map(|it| input.records[it.0].id).collect();
        let id = match pieces[0].1 {
            0 => lineage(&of),
            start => mix(lineage(&of), start as u64),
        };
        let value = |dtype, shape: &[usize], bytes| Value { dtype, shape: shape.to_vec(), bytes };
        let values = vec![
            value(DType::I32, &[length], ids),
            value(DType::U8, &[length, 2], masks),
            Value::new(&[length], &segments),
            Value::new(&[length], &positions),
        ];
        Record { id, values }
    };
    sequences.iter().map(sequence).collect()
}

fn args(length: usize, fit: &str, (bins, block): (i64, i64), tail: &str) -> Vec<Arg> {
    let names = |name: &str| Arg::List(vec![Arg::Text(name.to_owned())]);
    vec![
        names("ids"),
        Arg::Int(length as i64),
        Arg::Word(fit.to_owned()),
        names("mask"),
        Arg::Record(vec![("ids".to_owned(), Arg::Int(-1))]),
        Arg::Int(bins),
        Arg::Int(block),
        Arg::Word(tail.to_owned()),
    ]
}

#[test]
fn end_to_end() {
    for (seed, records_, most, length) in
        [(1, 90, 9, 7), (2, 40, 3, 50), (3, 30, 40, 6), (4, 12, 0, 4), (5, 50, 20, 1)]
    {
        for tail in ["keep", "drop"] {
            let lens = lengths(seed, records_, most);
            let input = records(&lens);
            let mut sequences: Vec<Vec<(usize, usize, usize)>> = Vec::new();
            let mut left = 0;
            for (row, len) in lens.iter().enumerate() {
                for at in 0..*len {
                    if left == 0 {
                        sequences.push(Vec::new());
                        left = length;
                    }
                    left -= 1;
                    let now = sequences.last_mut().unwrap();
                    match now.last_mut().filter(|it| it.0 == row) {
                        Some(piece) => piece.2 += 1,
                        None => now.push((row, at, 1)),
                    }
                }
            }
            if tail == "drop" && left > 0 {
                sequences.pop();
            }
            let expected = packed(&input, length, &sequences);
            check(&ENTRY, &args(length, "split", (4, 8), tail), &[input], expected);
        }
    }
}

#[test]
fn into_the_first_that_has_room() {
    for (seed, records_, most, length, bins) in
        [(1, 90, 9, 10, 3), (2, 60, 5, 5, 1), (3, 200, 7, 31, 5), (4, 9, 0, 4, 2)]
    {
        let lens = lengths(seed, records_, most);
        let input = records(&lens);
        let (mut all, mut open) = (Vec::new(), Vec::<Vec<(usize, usize, usize)>>::new());
        for (row, len) in lens.iter().enumerate().filter(|it| *it.1 > 0) {
            let filled = |it: &Vec<(usize, usize, usize)>| it.iter().map(|it| it.2).sum::<usize>();
            let place = match open.iter().position(|it| filled(it) + len <= length) {
                Some(place) => place,
                None => {
                    if open.len() == bins as usize {
                        all.append(&mut open);
                    }
                    open.push(Vec::new());
                    open.len() - 1
                }
            };
            open[place].push((row, 0, *len));
        }
        all.append(&mut open);
        let expected = packed(&input, length, &all);
        check(&ENTRY, &args(length, "first", (bins, 8), "keep"), &[input], expected);
    }
}

#[test]
fn the_best_in_a_block() {
    for (seed, records_, most, length, block) in [
        (1, 90, 9, 10, 16),
        (2, 60, 25, 8, 64),
        (3, 200, 7, 31, 1),
        (4, 64, 30, 31, 7),
        (5, 9, 0, 4, 2),
    ] {
        let lens = lengths(seed, records_, most);
        let input = records(&lens);
        let mut all = Vec::new();
        for (number, lens) in lens.chunks(block).enumerate() {
            let row = |it: usize| number * block + it;
            let mut pieces = Vec::new();
            for (it, len) in lens.iter().enumerate() {
                let parts =
                    (0..*len).step_by(length).map(|at| (row(it), at, (len - at).min(length)));
                pieces.extend(parts);
            }
            pieces.sort_by_key(|it| std::cmp::Reverse(it.2));
            let mut of: Vec<Vec<(usize, usize, usize)>> = Vec::new();
            for piece in pieces {
                let room = |it: &Vec<(usize, usize, usize)>| {
                    length - it.iter().map(|it| it.2).sum::<usize>()
                };
                let fitting = of.iter_mut().filter(|it| room(it) >= piece.2);
                match fitting.min_by_key(|it| room(it)) {
                    Some(sequence) => sequence.push(piece),
                    None => of.push(vec![piece]),
                }
            }
            of.iter_mut().for_each(|it| it.sort_unstable());
            of.sort_by_key(|it| it[0]);
            all.extend(of);
        }
        let expected = packed(&input, length, &all);
        check(&ENTRY, &args(length, "best", (4, block as i64), "keep"), &[input], expected);
    }
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let with = |change: &dyn Fn(&mut Vec<Arg>)| {
        let mut args = args(8, "split", (4, 8), "keep");
        change(&mut args);
        refused(&ENTRY, &args, &[records(&[1])])
    };
    let names =
        |names: &[&str]| Arg::List(names.iter().map(|it| Arg::Text((*it).to_owned())).collect());
    assert!(with(&|it| it[0] = names(&["x"])).contains("no field `x`"));
    assert!(with(&|it| it[0] = names(&["ids", "ids"])).contains("several are packed"));
    assert!(with(&|it| it[3] = names(&[])).contains("`mask` is not packed"));
    assert!(with(&|it| it[3] = names(&["ids"])).contains("named twice"));
    assert!(with(&|it| it[1] = Arg::Int(0)).contains("`length` is 0"));
    assert!(
        with(&|it| it[4] = Arg::Record(vec![("y".to_owned(), Arg::Int(0))]))
            .contains("`pad` names `y`")
    );
    let long = run(&ENTRY, &args(8, "first", (4, 8), "keep"), &[records(&[3, 9])], 0).unwrap_err();
    assert!(long.to_string().contains("a record has 9 elements, but a sequence of `pack` has 8"));
    let fields = [("ids", "i32[?]"), ("mask", "u8[?, 2]")];
    let uneven =
        table(&fields, 1, |_| vec![Value::new(&[2], &[1, 2]), Value::new(&[1, 2], &[1_u8, 2])]);
    let uneven = run(&ENTRY, &args(1, "split", (4, 8), "keep"), &[uneven], 0).unwrap_err();
    assert!(uneven.to_string().contains("2 elements of `ids` and 1 of `mask`"), "{uneven}");
}

/// Records of two fields of these lengths, numbers that say where they come from.
fn pairs(lengths: &[(usize, usize)]) -> Table {
    table(&[("source", "i32[?]"), ("target", "u8[?, 2]")], lengths.len(), |row| {
        let (n, m) = lengths[row];
        let source: Vec<i32> = (0..n).map(|it| (row * 100 + it) as i32).collect();
        let target: Vec<u8> = (0..m).flat_map(|it| [row as u8, it as u8]).collect();
        vec![Value::new(&[n], &source), Value::new(&[m, 2], &target)]
    })
}

/// Sequences of whole pairs, by their rows.
fn packed_pairs(input: &Table, lengths: (usize, usize), sequences: &[Vec<usize>]) -> Vec<Record> {
    let bytes = |row: usize, field: usize| input.records[row].values[field].bytes.clone();
    let filled = |mut bytes: Vec<u8>, n: usize, pad: &[u8]| {
        while bytes.len() < n * pad.len() {
            bytes.extend(pad);
        }
        bytes
    };
    let of = |rows: &Vec<usize>, field: usize, length: usize| {
        let (mut segments, mut positions) = (Vec::new(), Vec::new());
        for (number, row) in rows.iter().enumerate() {
            let n = input.records[*row].values[field].shape[0];
            segments.extend(vec![number as i32 + 1; n]);
            positions.extend(0..n as i32);
        }
        segments.resize(length, 0);
        positions.resize(length, 0);
        [Value::new(&[length], &segments), Value::new(&[length], &positions)]
    };
    let sequence = |rows: &Vec<usize>| {
        let all = |field| rows.iter().flat_map(|it| bytes(*it, field)).collect();
        let source = filled(all(0), lengths.0, &(-1_i32).to_le_bytes());
        let target = filled(all(1), lengths.1, &[0, 0]);
        let ids: Vec<u64> = rows.iter().map(|it| input.records[*it].id).collect();
        let mut values = vec![
            Value { dtype: DType::I32, shape: vec![lengths.0], bytes: source },
            Value { dtype: DType::U8, shape: vec![lengths.1, 2], bytes: target },
        ];
        values.extend(of(rows, 0, lengths.0));
        values.extend(of(rows, 1, lengths.1));
        Record { id: lineage(&ids), values }
    };
    sequences.iter().map(sequence).collect()
}

fn args_of_pairs((n, m): (usize, usize), fit: &str, (bins, block): (i64, i64)) -> Vec<Arg> {
    let text = |it: &str| Arg::Text(it.to_owned());
    let mut args = args(1, fit, (bins, block), "keep");
    args[0] = Arg::List(vec![text("source"), text("target")]);
    args[1] = Arg::Record(vec![
        ("target".to_owned(), Arg::Int(m as i64)),
        ("source".to_owned(), Arg::Int(n as i64)),
    ]);
    args[3] = Arg::None;
    args[4] = Arg::Record(vec![("source".to_owned(), Arg::Int(-1))]);
    args
}

/// Lengths of pairs, some of which have no elements in one field, or in both.
fn lengths_of_pairs(seed: u64, records: u64, (n, m): (usize, usize)) -> Vec<(usize, usize)> {
    let below = |it: u64, most: usize| (mix(seed, it) % (most as u64 + 1)) as usize;
    (0..records).map(|it| (below(2 * it, n), below(2 * it + 1, m))).collect()
}

/// Elements of these rows in each field.
fn sum(lens: &[(usize, usize)], rows: &[usize]) -> (usize, usize) {
    rows.iter().fold((0, 0), |all, it| (all.0 + lens[*it].0, all.1 + lens[*it].1))
}

#[test]
fn several_fields_go_into_the_first_sequence_that_has_room_for_all() {
    for (seed, records, most, length, bins) in [
        (1, 90, (9, 5), (10, 12), 3),
        (2, 60, (5, 5), (5, 5), 1),
        (3, 200, (7, 20), (31, 20), 5),
        (4, 20, (1, 1), (3, 2), 4),
    ] {
        let lens = lengths_of_pairs(seed, records, most);
        let (mut all, mut open) = (Vec::new(), Vec::<Vec<usize>>::new());
        for (row, len) in lens.iter().enumerate().filter(|it| *it.1 != (0, 0)) {
            let fits = |it: &Vec<usize>| {
                let (n, m) = sum(&lens, it);
                n + len.0 <= length.0 && m + len.1 <= length.1
            };
            match open.iter_mut().find(|it| fits(it)) {
                Some(sequence) => sequence.push(row),
                None => {
                    if open.len() == bins as usize {
                        all.append(&mut open);
                    }
                    open.push(vec![row]);
                }
            }
        }
        all.append(&mut open);
        let input = pairs(&lens);
        let expected = packed_pairs(&input, length, &all);
        check(&ENTRY, &args_of_pairs(length, "first", (bins, 8)), &[input], expected);
    }
}

#[test]
fn several_fields_in_the_fullest_sequence_of_a_block() {
    for (seed, records, most, length, block) in [
        (1, 90, (9, 5), (10, 12), 16),
        (2, 60, (8, 8), (8, 8), 64),
        (3, 200, (7, 20), (31, 20), 50),
        (4, 20, (1, 1), (3, 2), 7),
        (5, 30, (5, 9), (21, 9), 1),
    ] {
        let lens = lengths_of_pairs(seed, records, most);
        // The larger share, times both lengths.
        let share = |(n, m): (usize, usize)| (n * length.1).max(m * length.0);
        let mut all = Vec::new();
        for (number, of_block) in lens.chunks(block).enumerate() {
            let mut rows: Vec<usize> = (0..of_block.len()).map(|it| number * block + it).collect();
            rows.retain(|it| lens[*it] != (0, 0));
            rows.sort_by_key(|it| std::cmp::Reverse(share(lens[*it])));
            let mut of: Vec<Vec<usize>> = Vec::new();
            for row in rows {
                let fits = |it: &&mut Vec<usize>| {
                    let (n, m) = sum(&lens, it);
                    n + lens[row].0 <= length.0 && m + lens[row].1 <= length.1
                };
                let full = |it: &&mut Vec<usize>| std::cmp::Reverse(share(sum(&lens, it)));
                match of.iter_mut().filter(fits).min_by_key(full) {
                    Some(sequence) => sequence.push(row),
                    None => of.push(vec![row]),
                }
            }
            of.iter_mut().for_each(|it| it.sort_unstable());
            of.sort_by_key(|it| it[0]);
            all.extend(of);
        }
        let input = pairs(&lens);
        let expected = packed_pairs(&input, length, &all);
        check(&ENTRY, &args_of_pairs(length, "best", (4, block as i64)), &[input], expected);
    }
}

#[test]
fn several_fields_that_would_not_stay_together_are_refused() {
    let with = |change: &dyn Fn(&mut Vec<Arg>)| {
        let mut args = args_of_pairs((8, 8), "first", (4, 8));
        change(&mut args);
        refused(&ENTRY, &args, &[pairs(&[(1, 1)])])
    };
    let lengths = |all: &[(&str, i64)]| {
        Arg::Record(all.iter().map(|it| (it.0.to_owned(), Arg::Int(it.1))).collect())
    };
    let split = with(&|it| it[2] = Arg::Word("split".to_owned()));
    assert!(split.contains("would not stay together: write `fit: first`"), "{split}");
    let along = with(&|it| it[3] = Arg::List(vec![Arg::Text("loss".to_owned())]));
    assert!(along.contains("`[source, target, loss]`"), "{along}");
    assert!(with(&|it| it[1] = lengths(&[("source", 8)])).contains("nothing of `target`"));
    let other = with(&|it| it[1] = lengths(&[("source", 8), ("target", 8), ("x", 1)]));
    assert!(other.contains("`length` names `x`"), "{other}");
    assert!(with(&|it| it[1] = lengths(&[("source", 8), ("target", 0)])).contains("is 0"));
    for fit in ["first", "best"] {
        let call = args_of_pairs((8, 8), fit, (4, 8));
        let long = run(&ENTRY, &call, &[pairs(&[(3, 1), (1, 9)])], 0).unwrap_err().to_string();
        assert!(long.contains("a record has 9 elements of `target`"), "{long}");
        assert!(long.contains("`where len(target) <= 8`") && !long.contains("cuts"), "{long}");
    }
    // One number is the length of all.
    let mut call = args_of_pairs((8, 8), "best", (4, 8));
    call[1] = Arg::Int(3);
    let input = pairs(&[(2, 1), (1, 2)]);
    let expected = packed_pairs(&input, (3, 3), &[vec![0, 1]]);
    check(&ENTRY, &call, &[input], expected);
}
