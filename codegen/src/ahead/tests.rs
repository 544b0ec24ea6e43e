use super::*;
use crate::{Input, Layout, NATIVE, Output, Place};
use plan::{Binary, DType, Unary};

/// `a * 3 + exp(b)`, and of whole numbers `(a + b) / 7`.
fn loops() -> [Loop; 2] {
    let of = |dtype, ops: Vec<(Op, DType)>| Loop {
        inputs: vec![Input { dtype, layout: Layout::Dense }; 2],
        outputs: vec![Output { op: ops.len() - 1, layout: Layout::Dense }],
        ops,
    };
    let floats = [
        Op::Input(0),
        Op::Input(1),
        Op::Float(3.0),
        Op::Binary(Binary::Mul, 0, 2),
        Op::Unary(Unary::Exp, 1),
        Op::Binary(Binary::Add, 3, 4),
    ];
    let ints = [
        Op::Input(0),
        Op::Input(1),
        Op::Int(7),
        Op::Binary(Binary::Add, 0, 1),
        Op::Binary(Binary::FloorDiv, 3, 2),
    ];
    let all = |dtype, ops: &[Op]| of(dtype, ops.iter().map(|it| (*it, dtype)).collect());
    [all(DType::F32, &floats), all(DType::I16, &ints)]
}

fn run<T: Copy + Default, const N: usize>(kernel: &Kernel, a: [T; N], b: [T; N]) -> [T; N] {
    let mut to = [T::default(); N];
    let place = |it: *mut u8| Place { first: it, step: 0 };
    let places = [
        place(a.as_ptr().cast_mut().cast()),
        place(b.as_ptr().cast_mut().cast()),
        place(to.as_mut_ptr().cast()),
    ];
    // SAFETY: each place has `N` elements.
    unsafe { kernel.run(&places, N) };
    to
}

/// For this machine; none where nothing is compiled on it.
fn made(cpu: &str) -> Option<(Target, Ahead)> {
    let host = Target::host().ok()?;
    let target = Target::named(cpu).unwrap();
    let ahead = ahead(&target, cpu, &loops());
    assert_eq!(ahead.loops.len(), 2);
    Some((host, ahead))
}

#[test]
fn what_was_made_before_is_run_as_what_is_made_now() {
    let Some((host, ahead)) = made(NATIVE) else { return };
    // SAFETY: it was made here.
    let library = unsafe { Library::new(&ahead, &host) }.unwrap();
    let a: [f32; 37] = std::array::from_fn(|it| it as f32 * 0.25 - 3.0);
    let b: [f32; 37] = std::array::from_fn(|it| 2.0 - it as f32 * 0.125);
    let [floats, ints] = loops();
    let found = run(&library.kernel(&floats).unwrap(), a, b);
    assert_eq!(found, run(&host.compile(&floats).unwrap(), a, b));
    assert_eq!(found, std::array::from_fn(|it| a[it] * 3.0 + libm::expf(b[it])));
    let (a, b) = ([-20_i16, 5, 32767, -32768, 0], [1_i16, 9, 32767, -1, 6]);
    let found = run(&library.kernel(&ints).unwrap(), a, b);
    // Sums that are too large end where `i16` does.
    assert_eq!(found, [-3, 2, 4681, -4682, 0]);
    assert!(library.kernel(&floats.strided()).is_none(), "nothing else is there");
}

#[test]
fn what_was_made_for_others_is_not_run() {
    let Some((host, whole)) = made(NATIVE) else { return };
    Library::check(&whole, &host).unwrap();
    let refused = |change: &dyn Fn(&mut Ahead)| {
        let mut other = whole.clone();
        change(&mut other);
        // SAFETY: it is refused, and never run.
        unsafe { Library::new(&other, &host) }.err().unwrap().0
    };
    let sealed = |change: &dyn Fn(&mut Ahead)| {
        refused(&|it| {
            change(it);
            it.seal = it.sum();
        })
    };
    for at in 0..whole.code.len() {
        assert_eq!(refused(&|it| it.code[at] ^= 1 << (at % 8)), "it is damaged", "byte {at}");
    }
    assert_eq!(refused(&|it| it.loops[0].at = it.loops[1].at), "it is damaged");
    assert_eq!(refused(&|it| it.loops[0].key ^= 1), "it is damaged");
    assert_eq!(sealed(&|it| it.loops[0].at = 1), "it is damaged");
    assert_eq!(sealed(&|it| it.loops[0].len = u32::MAX), "it is damaged");
    assert_eq!(sealed(&|it| it.code.clear()), "it is damaged");
    let by = sealed(&|it| it.maker.push('x'));
    assert!(by.starts_with("it was made by pipec"), "{by}");
    let of = sealed(&|it| it.architecture = "vax".into());
    assert!(of.starts_with("it is of vax, and this is "), "{of}");
    let lacks = sealed(&|it| it.features.push("dreams".into()));
    assert_eq!(lacks, "this processor has no dreams");
}

/// What is in the code is what its name says: other processors are not asked for more than they have.
#[test]
#[cfg(target_arch = "x86_64")]
fn processors_have_what_their_names_say() {
    let v2 = Target::named("x86-64-v2").unwrap();
    let v3 = Target::named("x86-64-v3").unwrap();
    assert!(v2.features().is_subset(&v3.features()));
    assert!(!v2.features().contains("avx") && v3.features().contains("avx2"));
    let old = Target::named("x86-64").err().unwrap();
    assert!(old.0.contains("no vectors"), "{old}");
    assert!(Target::named("z80").err().unwrap().0.contains("no processor `z80`"));
    let names = Target::names();
    assert!(["native", "haswell", "znver4"].iter().all(|it| names.iter().any(|of| of == it)));
    for target in [v2, v3] {
        let again = Target::with_features(target.features()).unwrap();
        assert_eq!(again.features(), target.features());
        let [floats, _] = loops();
        assert_eq!(again.code(&floats, <[u8]>::to_vec), target.code(&floats, <[u8]>::to_vec));
    }
}

/// A product and a sum are two operations with two roundings: one instruction for both has one.
#[test]
#[cfg(target_arch = "x86_64")]
fn nothing_is_fused() {
    let [floats, _] = loops();
    for cpu in ["x86-64-v2", "x86-64-v3", "x86-64-v4"] {
        let target = Target::named(cpu).unwrap();
        assert_eq!(target.features().contains("fma"), cpu != "x86-64-v2");
        for body in [floats.clone(), floats.clone().strided()] {
            let listing = target.listing(&body).unwrap();
            assert!(listing.asm.contains("mulps") && listing.asm.contains("addps"));
            assert!(!listing.asm.contains("fma") && !listing.asm.contains("fmadd"), "{listing:?}");
            assert!(!listing.clif.contains("fma"), "{listing:?}");
        }
    }
}
