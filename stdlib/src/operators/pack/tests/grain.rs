//! Sequences are those of Grain, element by element: `goldens/grain.json` says how they were made.

use super::*;
use serde_json::Value as Json;

/// What Grain has packed: how, the lengths of the records, and the sequences.
const GRAIN: &str = include_str!("../goldens/grain.json");

/// The numbers of an array.
fn numbers(of: &Json) -> Vec<i32> {
    let all = of.as_array().expect("an array").iter();
    all.map(|it| i32::try_from(it.as_i64().expect("a number")).unwrap()).collect()
}

#[test]
fn sequences_are_those_of_grain() {
    let goldens: Json = serde_json::from_str(GRAIN).unwrap();
    let cases = goldens["cases"].as_array().unwrap();
    assert!(cases.len() >= 5);
    for case in cases {
        let names: Vec<&str> =
            case["fields"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        let lengths: Vec<Vec<i32>> =
            case["records"].as_array().unwrap().iter().map(numbers).collect();
        let fields: Vec<(&str, &str)> = names.iter().map(|it| (*it, "i32[?]")).collect();
        // Elements of a field are numbered from 1, from record to record.
        let input = table(&fields, lengths.len(), |row| {
            let values = (0..names.len()).map(|field| {
                let begin: i32 = lengths[..row].iter().map(|it| it[field]).sum();
                let ids: Vec<i32> = (1..=lengths[row][field]).map(|it| begin + it).collect();
                Value::new(&[ids.len()], &ids)
            });
            values.collect()
        });
        let named = |it: (&&str, i32)| ((*it.0).to_owned(), Arg::Int(it.1.into()));
        let length = names.iter().zip(numbers(&case["length"])).map(named).collect();
        let bins = case["bins"].as_i64().unwrap();
        let mut call = args(1, case["fit"].as_str().unwrap(), (bins, 8), "keep");
        call[0] = Arg::List(names.iter().map(|it| Arg::Text((*it).to_owned())).collect());
        call[1] = Arg::Record(length);
        (call[3], call[4]) = (Arg::None, Arg::None);
        let columns =
            Case { entry: &ENTRY, args: &call, names: &[], inputs: std::slice::from_ref(&input) }
                .output()
                .unwrap();
        let sequences = case["sequences"].as_array().unwrap();
        for cut in 0..5 {
            let found = run(&ENTRY, &call, std::slice::from_ref(&input), cut).unwrap();
            assert_eq!(found.len(), sequences.len(), "{case}");
            for (found, expected) in found.iter().zip(sequences) {
                for (field, value) in columns.iter().zip(&found.values) {
                    let all = numbers(&expected[&field.name]);
                    assert_eq!(*value, Value::new(&[all.len()], &all), "{}", field.name);
                }
            }
        }
    }
}
