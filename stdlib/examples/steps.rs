//! Measures the picture steps of three recipes on the JPEGs of a folder, one core: prints
//! microseconds an image for each step, the median of some rounds. `steps FOLDER [ROUNDS]`.
#![expect(clippy::print_stdout, reason = "it is what it is for")]

use plan::{Arg, DType, ExprId, Extent, Type};
use runtime::{
    Args, Buffer, Call, Compute, Kernel, Kernels as _, Out, Philox, Pool, Scratch, Shape, Tensor,
};
use std::{hint::black_box, path::PathBuf, time::Instant};

const SIZE: usize = 224;
/// Pictures of a batch.
const BATCH: usize = 128;
/// Bytes of a row of a batch.
const ROW: usize = 3 * SIZE * SIZE * 4;
/// Names of the steps that are told apart.
const STEPS: [&str; 6] = ["read", "size", "draw", "decode", "resize", "normalize"];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        println!("usage: steps FOLDER [ROUNDS]");
        return;
    };
    let rounds = arguments.next().and_then(|it| it.parse().ok()).unwrap_or(5);
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    let mut recipes = [
        Recipe::training(false),
        Recipe::training(true),
        Recipe::evaluation(false),
        Recipe::evaluation(true),
    ];
    paths.retain(|it| recipes.iter_mut().all(|recipe| recipe.takes(it)));

    println!("{} pictures; us an image", paths.len());
    println!("{:<28}{}     total", "", STEPS.map(|it| format!("{it:>10}")).concat());
    let mut all = vec![Vec::new(); recipes.len()];
    for _ in 0..rounds {
        for (recipe, rows) in recipes.iter_mut().zip(&mut all) {
            rows.push(recipe.round(&paths));
        }
    }
    for (recipe, rows) in recipes.iter().zip(&all) {
        let median = |of: &dyn Fn(&[f64; 6]) -> f64| {
            let mut all: Vec<f64> = rows.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let each = |i: usize| format!("{:10.1}", median(&|it| it[i]));
        let steps: String = (0..STEPS.len()).map(each).collect();
        println!("{:<28}{steps}{:10.1}", recipe.name, median(&|it| it.iter().sum()));
    }
}

/// What is done with each picture.
struct Recipe {
    name: &'static str,
    is_training: bool,
    /// Whether only a part of the resized picture is made.
    is_part: bool,
    size: Compute,
    decode: Compute,
    resize: Compute,
    normalize: Compute,
    rooms: [Scratch; 3],
    batch: Buffer,
    at: usize,
    spent: [f64; 6],
}

impl Recipe {
    fn training(antialias: bool) -> Self {
        let name = if antialias { "training, antialias" } else { "training" };
        Self::new(name, "decode_jpeg_crop", (antialias, false))
    }

    fn evaluation(is_part: bool) -> Self {
        let name = if is_part { "evaluation, resize_crop" } else { "evaluation" };
        Self::new(name, "decode_jpeg", (true, is_part))
    }

    fn new(name: &'static str, decode: &str, (antialias, is_part): (bool, bool)) -> Self {
        let word = |it: &str| Arg::Word(it.into());
        let of = |it: [f64; 3]| Arg::List(it.iter().map(|it| Arg::Float(*it)).collect());
        let value = || Arg::Expr(ExprId(0));
        let (mean, std) = (of([0.485, 0.456, 0.406]), of([0.229, 0.224, 0.225]));
        let is_training = decode == "decode_jpeg_crop";
        let decoded = match is_training {
            true => vec![value(), value(), value(), value(), value()],
            false => vec![value(), Arg::Int(3), Arg::Bool(false)],
        };
        let resize = if is_part { "resize_crop" } else { "resize" };
        let mut resized = vec![value(); if is_part { 7 } else { 3 }];
        resized.extend([word("bilinear"), Arg::Bool(antialias), word("pillow")]);
        Self {
            name,
            is_training,
            is_part,
            size: kernel("jpeg_size", &[value()]),
            decode: kernel(decode, &decoded),
            resize: kernel(resize, &resized),
            normalize: kernel("normalize", &[value(), mean, std, Arg::Int(0)]),
            rooms: Default::default(),
            batch: Pool::default().buffer(BATCH * ROW),
            at: 0,
            spent: [0.0; 6],
        }
    }

    /// Whether a file can be decoded.
    fn takes(&mut self, path: &PathBuf) -> bool {
        self.one(path, 0).is_some()
    }

    fn round(&mut self, paths: &[PathBuf]) -> [f64; 6] {
        self.spent = [0.0; 6];
        for (id, path) in (0..).zip(paths) {
            self.one(path, id).expect("it was taken before");
        }
        black_box(self.batch.bytes());
        self.spent.map(|it| it / paths.len() as f64 * 1e6)
    }

    /// From a file to its row of the batch.
    fn one(&mut self, path: &PathBuf, id: u64) -> Option<()> {
        let mut clock = Clock { since: Instant::now(), spent: &mut self.spent };
        let bytes = std::fs::read(path).ok()?;
        clock.lap(0);
        let [sizes, decoded, resized] = &mut self.rooms;
        let file = Tensor::text(DType::Bytes, &bytes);
        (self.size)(&Args::of(&[file]), &mut Out::grow(sizes)).ok()?;
        let sides = [0, 1].map(|it| sizes.tensor().element(it).int());
        clock.lap(1);
        let part = drawn(sides, id).map(|it| [it]);
        let scaled = scaled(sides).map(|it| [it]);
        clock.lap(2);
        let numbers = part.each_ref().map(|it| number(it));
        let args = [file, numbers[0], numbers[1], numbers[2], numbers[3]];
        let three = [3_i64];
        let args = match self.is_training {
            true => &args[..],
            false => &[file, number(&three), Tensor::nothing()],
        };
        (self.decode)(&Args::of(args), &mut Out::grow(decoded)).ok()?;
        clock.lap(3);
        let square = [[SIZE as i64], [SIZE as i64]];
        let to = if self.is_training { square } else { scaled };
        let nothing = Tensor::nothing();
        let at = to.map(|it| [(it[0] - SIZE as i64) / 2]);
        let mut args = vec![decoded.tensor(), number(&to[0]), number(&to[1])];
        if self.is_part {
            args.extend([&at[0], &at[1], &square[0], &square[1]].map(number));
        }
        args.extend([nothing; 3]);
        (self.resize)(&Args::of(&args), &mut Out::grow(resized)).ok()?;
        clock.lap(4);
        let mut image = resized.tensor();
        if self.is_training {
            image = if id.is_multiple_of(2) { image.flipped(1) } else { image };
        } else if !self.is_part {
            let [y, x] = [0, 1].map(|it| (image.shape()[it] - SIZE) / 2);
            image = image.narrowed(0, y, SIZE).narrowed(1, x, SIZE);
        }
        let image = image.permuted(&[2, 0, 1]);
        let room = &mut self.batch.bytes_mut()[self.at * ROW..][..ROW];
        self.at = (self.at + 1) % BATCH;
        let mut out = Out::slot(DType::F32, Shape::new(&[3, SIZE, SIZE]), room);
        (self.normalize)(&Args::of(&[image, nothing, nothing, nothing]), &mut out).ok()?;
        clock.lap(5);
        Some(())
    }
}

/// A number, as a kernel is given it.
fn number(of: &[i64; 1]) -> Tensor<'_> {
    Tensor::new(&[1], of).element(0)
}

/// A part of the picture: 8 to 100% of the area, 3:4 to 4:3.
fn drawn([height, width]: [i64; 2], id: u64) -> [i64; 4] {
    let mut random = Philox::new(1, id, 0);
    for _ in 0..10 {
        let area = (height * width) as f64 * random.uniform(0.08, 1.0);
        let aspect = random.uniform((0.75_f64).ln(), (4.0_f64 / 3.0).ln()).exp();
        let [h, w] = [area / aspect, area * aspect].map(|it| it.sqrt().round() as i64);
        if h <= height && w <= width {
            let [y, x] = [height - h, width - w].map(|it| random.below(it as u64 + 1) as i64);
            return [y, x, h, w];
        }
    }
    let side = height.min(width);
    [(height - side) / 2, (width - side) / 2, side, side]
}

/// The sides of a picture whose short side has 256 pixels.
fn scaled([height, width]: [i64; 2]) -> [i64; 2] {
    let short = height.min(width);
    [height, width].map(|it| 256 * it / short)
}

fn kernel(name: &str, args: &[Arg]) -> Compute {
    let build = stdlib::Kernels.function(name).expect("the library has it");
    let u8s = Type::Tensor { dtype: DType::U8, shape: vec![Extent::Unknown; 3] };
    let types: Vec<_> = args.iter().map(|_| Some(u8s.clone())).collect();
    let call = Call { args, types: &types, result: &u8s, sources: &[], outside: None };
    match build(&call) {
        Ok(Kernel::Compute(it)) => it,
        _ => unreachable!("these compute"),
    }
}

/// Adds up what each step takes.
struct Clock<'a> {
    since: Instant,
    spent: &'a mut [f64; 6],
}

impl Clock<'_> {
    fn lap(&mut self, step: usize) {
        let now = Instant::now();
        self.spent[step] += (now - self.since).as_secs_f64();
        self.since = now;
    }
}
