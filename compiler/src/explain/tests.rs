//! What `explain` shows of plans by hand.

use super::explain;
use crate::{
    estimate::View,
    lower::{
        bed::{Bed, LIBRARY},
        tests::imagenet,
    },
    passes::{Settings, optimise},
};
use model::Machine;
use plan::{Arg, Plan};

fn explained(plan: &Plan) -> String {
    let made = optimise(plan.clone(), &LIBRARY, &Settings { cores: 2, without: &[] });
    let made = made.expect("it can be run");
    let view = View {
        machine: Machine::new(2.0, 0.0),
        choices: Vec::new(),
        seen: None,
        pass_lens: Vec::new(),
    };
    explain(&made, &LIBRARY, &|it| format!("p.pipe:{}", it.start), view).text()
}

#[test]
fn images() {
    let text = explained(&imagenet());
    let expected = "\
p: ~2 239 records/s (~17 batches/s) on 2 cores, bound by p.map#4 (decode)

step         written at  a record    bytes  share  workers  records that leave
p.files#0    p.pipe:0     ~100 ns    ~64 B  < 1 %        2  { path: str }
p.map#1      p.pipe:1      ~12 µs  ~110 kB    1 %        2  { path: str, bytes: bytes }
p.where#2    p.pipe:2      ~50 ns           < 1 %        2
p.shuffle#3  p.pipe:3           –             0 %   source
  a permutation of the index: a record moves a third of the data set on average, and nothing is held
p.map#4      p.pipe:4     ~881 µs    772 B   99 %        2  { image: f32[3, 8, 8], label: i32 }
    decode                ~880 µs  ~605 kB   99 %
p.batch#5    p.pipe:5     ~0.4 ns    99 kB  < 1 %        1  { image: f32[128, 3, 8, 8], label: i32[128] }

  step       a batch   per core  cores used   capacity
  p.files#0   ~13 µs    ~10 M/s        0.00    ~10 M/s
  p.map#1    ~1.5 ms  ~83 333/s        0.03  ~83 333/s
  p.where#2  ~6.4 µs    ~20 M/s        0.00    ~20 M/s
> p.map#4    ~113 ms   ~1 135/s        1.97   ~2 270/s
  p.batch#5   ~50 ns   ~2.6 G/s        0.00   ~2.6 G/s

time       ~893 µs of processor time a record, ~114 ms a batch
memory     ~2.1 MB: 296 kB batches, ~1.8 MB chunks
rewritten  sink-views: p.map#4: `channels_first` moves before `normalize` (no faster, no slower)
bounds     2 cores of processor: ~2 239 records/s
verdict    hardware: 100 % of the cores are used
next       twice the cores: ~4 479 records/s (+100 %); one more core: ~3 359 records/s (+50 %)
resume     from a saved state, at most one batch or chunk is done again
ranks      every rank does all up to p.where#2, and what follows for its own batches alone

~ assumed: nothing of it has been measured on this machine
";
    assert_eq!(text, expected, "{text}");
}

#[test]
fn streams_that_are_joined_stand_before_it() {
    let mut bed = Bed::default();
    let one = bed.range();
    let one = bed.operator("shuffle", one, &[Arg::Int(300)]);
    let inputs = [one, bed.range()];
    let zip = bed.zip(inputs);
    let root = bed.batch(zip, 64);
    let text = explained(&bed.plan(root));
    let expected = "\
p: ~149 M records/s (~2.3 M batches/s) on 2 cores, bound by p.shuffle#1, which is done in order

step                written at  a record   bytes  share  workers  records that leave
  p.range#0         p.pipe:0     ~0.5 ns   8.0 B    4 %        2  { i: i64 }
  p.shuffle#1  → a  p.pipe:1     ~5.0 ns           37 %        1
    a record moves 100 places on average, and less than 300
  p.range#2  → b    p.pipe:2     ~0.5 ns   8.0 B    4 %        2  { i: i64 }
p.zip#3             p.pipe:3     ~5.0 ns    16 B   37 %        1  { a.i: i64, b.i: i64 }
p.batch#4           p.pipe:4     ~2.4 ns  1.0 kB   18 %        1  { a.i: i64[64], b.i: i64[64] }

  step         a batch  per core  cores used  capacity
  p.range#0     ~32 ns  ~2.0 G/s        0.07  ~2.0 G/s
> p.shuffle#1  ~320 ns  ~200 M/s        0.75  ~200 M/s
  p.range#2     ~32 ns  ~2.0 G/s        0.07  ~2.0 G/s
  p.zip#3      ~320 ns  ~200 M/s        0.75  ~200 M/s
  p.batch#4    ~152 ns  ~420 M/s        0.36  ~420 M/s

time     ~13 ns of processor time a record, ~856 ns a batch
memory   1.8 MB: 3.1 kB batches, 1.8 MB chunks, 9.6 kB held by operators
bounds   2 cores of processor: ~149 M records/s; `p.shuffle#1`, done in order by one thread: ~200 M records/s; `p.zip#3`, done in order by one thread: ~200 M records/s; `p.batch#4`, done in order by one thread: ~420 M records/s
verdict  hardware: 100 % of the cores are used
next     one more core: ~200 M records/s (+34 %); twice the cores: ~200 M records/s (+34 %)
resume   from a saved state, at most the window of p.shuffle#1 (300 records) is done again
ranks    every rank does all up to p.zip#3, and what follows for its own batches alone

~ assumed: nothing of it has been measured on this machine
";
    assert_eq!(text, expected, "{text}");
}
