//! Pictures are found by their axes, and drawn as they were before they were normalised.

use super::*;

type Found = Option<(bool, Channels)>;

fn axes(dtype: DType, shape: &[u64], batched: bool) -> Found {
    Axes::of(&Type::tensor(dtype, shape), batched).map(|it| (it.stack, it.channels))
}

#[test]
fn pictures_are_found_by_their_axes() {
    use Channels::{First, Last, None as Grey};
    let cases: [(DType, &[u64], bool, Found); 12] = [
        (DType::F32, &[3, 8, 8], false, Some((false, First))),
        (DType::F32, &[4, 8, 8, 1], true, Some((false, Last))),
        (DType::U8, &[6, 8, 8, 3], false, Some((true, Last))),
        (DType::F16, &[6, 3, 8, 8], false, Some((true, First))),
        (DType::U8, &[2, 6, 8, 8, 3], true, Some((true, Last))),
        (DType::U16, &[8, 8, 1], false, Some((false, Last))),
        (DType::U8, &[28, 28], false, Some((false, Grey))),
        (DType::U8, &[8, 8], false, None),
        (DType::F32, &[28, 28], false, None),
        (DType::F32, &[3, 8, 8], true, None),
        (DType::I64, &[3, 8, 8], false, None),
        (DType::U8, &[2, 6, 8, 8, 3], false, None),
    ];
    for (dtype, shape, batched, expected) in cases {
        assert_eq!(axes(dtype, shape, batched), expected, "{dtype}{shape:?} {batched}");
    }
}

fn tile(image: &Tensor<'_>) -> Tile {
    Tile::of(image, &Levels::after(None), "t".to_owned()).unwrap()
}

#[test]
fn floats_are_stretched_unless_they_are_levels() {
    let planes: Vec<f32> = (0..12).map(|it| it as f32 - 5.0).collect();
    let stretched = tile(&Tensor::new(&[3, 2, 2], &planes).permuted(&[1, 2, 0]));
    assert_eq!((stretched.height, stretched.width), (96, 96));
    assert_eq!(&stretched.rgb[..3], [0, 93, 185]);
    assert_eq!(&stretched.rgb[stretched.rgb.len() - 3..], [70, 162, 255]);

    for (levels, byte) in [([0.2_f32, 0.4, 0.4], 51), ([20.0, 40.0, 40.0], 20)] {
        assert_eq!(tile(&Tensor::new(&[1, 1, 3], &levels)).rgb[0], byte, "{levels:?}");
    }
    let broken = tile(&Tensor::new(&[1, 1, 3], &[f32::NAN, 0.0, 1.0]));
    assert_eq!(&broken.rgb[..3], [0, 0, 255]);
}

#[test]
fn large_pictures_are_averaged() {
    let grey: Vec<u8> = (0..450 * 2).map(|it| if it % 3 == 0 { 90 } else { 0 }).collect();
    let tile = tile(&Tensor::new(&[450, 2, 1], &grey));
    assert_eq!((tile.height, tile.width), (150, 1));
    assert_eq!(&tile.rgb[..3], [30, 30, 30]);
}

#[test]
fn masks_colour_the_picture() {
    let grey = [100_u8; 200 * 2];
    let mut classes = [0_u8; 200 * 2];
    classes[..100].fill(1);
    classes[100..200].fill(255);
    let tile = tile(&Tensor::new(&[200, 2, 1], &grey));
    let mask = Tensor::new(&[200, 2], &classes);
    let drawn = tile.with_mask(&Mask::of(&mask).unwrap(), "t + mask".to_owned());
    let at = |y: usize| &drawn.rgb[y * 2 * 3..][..3];
    assert_eq!([at(0), at(60), at(150)], [[165, 62, 87], [162; 3], [100; 3]]);
    assert_eq!(at(49), [230, 25, 75], "where a class ends, its colour alone");
    assert_eq!(drawn.legend, [("1".to_owned(), [230, 25, 75])]);
}

#[test]
fn masks_are_whole_numbers_of_few_kinds() {
    let levels: Vec<u8> = (0..64).collect();
    assert!(Mask::of(&Tensor::new(&[8, 8], &levels)).is_none(), "levels of grey");
    assert!(Mask::of(&Tensor::new(&[2, 2], &[0.5_f32; 4])).is_none());
    let black_and_white = Tensor::new(&[1, 2, 1], &[0_u8, 255]);
    assert_eq!(Mask::of(&black_and_white).unwrap().legend().len(), 1);
    let instances = Tensor::new(&[2, 1, 2], &[true, false, true, true]);
    let mask = Mask::of(&instances).unwrap();
    assert_eq!((mask.at(0, 0), mask.at(0, 1), mask.size()), (1, 2, (1, 2)));
    let ignored = Mask::of(&Tensor::new(&[1, 2], &[-1_i64, 0])).unwrap();
    assert!(ignored.colour(-1).is_some() && ignored.legend().is_empty());
}

#[test]
fn a_mask_without_a_picture_has_the_colours_of_its_classes() {
    let classes: Vec<u8> = (0..40 * 40).map(|it| [0, 1, 20, 255][it / 400]).collect();
    let classes = Tensor::new(&[40, 40], &classes);
    let mask = Mask::of(&classes).unwrap();
    assert!(mask.is_dark());
    let drawn = Tile::of_mask(&mask, "mask".to_owned());
    let at = |y: usize| &drawn.rgb[y * drawn.width * 3..][..3];
    assert_eq!([at(0), at(20), at(40), at(60)], [[0; 3], [230, 25, 75], [255, 225, 25], [224; 3]]);
    let named: Vec<_> = drawn.legend.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(named, ["1", "20"]);
    for levels in [[0_u8, 255], [0, 0], [64, 192]] {
        let levels = Tensor::new(&[1, 2, 1], &levels);
        assert!(!Mask::of(&levels).unwrap().is_dark(), "black and white");
    }
}

#[test]
fn labels_are_told_with_their_classes() {
    let classes = vec!["cat".to_owned(), "dog".to_owned()];
    let field = FieldPeek { name: "label".to_owned(), ty: "i64".to_owned(), classes };
    for (number, told) in [(1_i64, "label=1 (dog)"), (2, "label=2"), (-1, "label=-1")] {
        assert_eq!(scalar(&field, &Tensor::new(&[], &[number])), told);
    }
}

#[test]
fn pictures_of_a_ragged_field_are_of_no_row() {
    let field = |name: &str, dtype, shape: &[Extent]| Field {
        name: name.to_owned(),
        ty: Type::Tensor { dtype, shape: shape.to_vec() },
    };
    let picture = |n: Extent| [n, Extent::Known(8), Extent::Known(8), Extent::Known(3)];
    let fields = [
        field("image", DType::U8, &picture(Extent::Known(4))),
        field("pages.values", DType::U8, &picture(Extent::Unknown)),
        field("pages.offsets", DType::I64, &[Extent::Known(5)]),
    ];
    let drawn: Vec<bool> = axes_of(&fields, true).iter().map(Option::is_some).collect();
    assert_eq!(drawn, [true, false, false]);
}

#[test]
fn a_row_of_a_batch_is_told_with_its_texts() {
    use runtime::{Builder, Pool};
    let builder = |ty: &Type| Builder::new(ty, 1, &Pool::default());
    let mut names = builder(&Type::scalar(DType::Str));
    ["data/a.jpg", "b"].iter().for_each(|it| names.push_text(it.as_bytes()));
    let (names, of_batch) = (names.finish(), Type::tensor(DType::Str, &[3]));
    let (mut ids, mut texts) = (builder(&Type::scalar(DType::U64)), builder(&of_batch));
    ids.push_scalar(7_u64);
    texts.push_texts(&names, 3);
    let record = Chunk { rows: 1, epoch: 0, ids: ids.finish(), columns: vec![texts.finish()] };
    let fields = [Field { name: "name".to_owned(), ty: of_batch }];
    let told =
        [FieldPeek { name: "name".to_owned(), ty: "str[3]".to_owned(), classes: Vec::new() }];
    let pictures = Pictures {
        fields: &fields,
        told: &told,
        batched: true,
        axes: vec![None],
        levels: vec![Levels::after(None)],
    };
    assert_eq!(pictures.caption(&record, Some(0)), ["name=a.jpg", "row 0"]);
    assert_eq!(pictures.caption(&record, Some(2)), ["name=", "row 2"]);
    assert_eq!(pictures.caption(&record, None), ["0000000000000007"]);
}

#[test]
fn only_paths_are_shortened_in_captions() {
    for (path, name) in [
        ("data/New York/img 1.jpg", "img 1.jpg"),
        ("./a.jpeg", "a.jpeg"),
        ("/data/shards/0001", "0001"),
    ] {
        assert_eq!(shortened(path), name);
    }
    for text in [
        "a man and/or a dog.",
        "1/2",
        "1/2.5",
        "cat/dog",
        "https://a.org/b.jpg",
        "x/",
        "2024/01/02",
    ] {
        assert_eq!(shortened(text), text);
    }
}

#[test]
fn boxes_are_drawn_around_things() {
    let grey = [100_u8; 100 * 100];
    let mut tile = tile(&Tensor::new(&[100, 100, 1], &grey));
    let found = |values: &[f32]| boxes_of(&Tensor::new(&[values.len() / 4, 4], values));
    tile.add_boxes(&found(&[10.0, 20.0, 30.0, 40.0, 0.0, 0.0, 0.0, 0.0]).unwrap());
    let at = |y: usize, x: usize| &tile.rgb[(y * 100 + x) * 3..][..3];
    let colour = mask::colour_of(0);
    for (y, x) in [(20, 10), (20, 29), (39, 10), (39, 29), (30, 10), (39, 20)] {
        assert_eq!(at(y, x), colour, "{y} {x}");
    }
    for (y, x) in [(19, 10), (30, 20), (40, 29), (0, 0)] {
        assert_eq!(at(y, x), [100; 3], "{y} {x}");
    }
    // Boxes of another picture, fractions, and numbers that are no boxes.
    let before = tile.rgb.clone();
    tile.add_boxes(&found(&[10.0, 20.0, 300.0, 40.0]).unwrap());
    assert_eq!(tile.rgb, before);
    assert_eq!(found(&[0.1, 0.2, 0.5, 0.6]), None);
    assert_eq!(found(&[30.0, 20.0, 10.0, 40.0]), None);
}

#[test]
fn masks_of_instances_may_be_bytes() {
    let instances = Tensor::new(&[2, 1, 2], &[1_u8, 0, 1, 1]);
    let mask = Mask::of(&instances).unwrap();
    assert_eq!((mask.at(0, 0), mask.at(0, 1), mask.size()), (1, 2, (1, 2)));
    assert!(Mask::of(&Tensor::new(&[2, 1, 2], &[9_u8, 0, 1, 1])).is_none());
}
