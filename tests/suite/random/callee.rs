//! What can be called: the library's functions, as their own signatures tell.

use crate::random::oracle::Oracle;
use compiler::{
    ast::{
        Declaration, DeclarationKind, EffectKind, Expr, ExprKind, Extent, Formal, Signature,
        TypeKind,
    },
    syntax,
};
use plan::{DType, FileId};

/// A function that a program may call.
pub(crate) struct Callee {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) fails: bool,
    /// What its parameters of any type were seen to take: see [`PANEL`].
    pub(crate) takes: Vec<Class>,
}

/// A parameter of a function.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
}

/// What is wanted for a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Any,
    Int,
    Float,
    Bool,
    Text,
    Bytes,
    Untyped,
    /// A list of numbers that is known before the run.
    Numbers,
    /// A list of values of one type.
    Values,
    Interval,
    Words(Vec<String>),
    /// Of a dtype, if it is said, and with these extents; none is free.
    Tensor(Option<DType>, Vec<Option<u64>>),
    /// What only a form of the language gives: a type, the sources.
    Special,
}

/// The kind of a value: its dtype, how many axes.
pub(crate) type Class = (DType, usize);

/// What parameters of any type are tried with.
pub(crate) const PANEL: [(Class, &str); 16] = [
    ((DType::Bool, 0), "(i > 3)"),
    ((DType::I64, 0), "(i + 1)"),
    ((DType::U8, 0), "u8(i)"),
    ((DType::F32, 0), "f32(i)"),
    ((DType::F64, 0), "f64(i)"),
    ((DType::Str, 0), "text_of(i)"),
    ((DType::Bytes, 0), "encode_png(plasma(i, 5, 6))"),
    ((DType::Bool, 1), "(arange(4) > i)"),
    ((DType::I64, 1), "(arange(4) + i)"),
    ((DType::F32, 1), "(f32(arange(4)) + f32(i))"),
    ((DType::F16, 1), "f16(f32(arange(4)) + f32(i))"),
    ((DType::I64, 2), "(reshape(arange(6), [2, 3]) + i)"),
    ((DType::F32, 2), "f32(reshape(arange(6), [2, 3]) + i)"),
    ((DType::U8, 3), "plasma(i, 5, 6)"),
    ((DType::F32, 3), "f32(plasma(i, 5, 6))"),
    ((DType::Bool, 3), "(plasma(i, 5, 6) > 99)"),
];

/// Functions that the first programs do not call: those from [`super::program::LATER`] on do, and often.
pub(crate) const LATER: [&str; 7] =
    ["bucketize", "decode_npy", "decode_text", "decompress", "lookup", "parse_table", "read_npy"];

/// Parameters that only steps of their own give: programs that were written before stay as they are.
const PARAMETERS_OF_STEPS: [(&str, &str); 1] = [("decode_png", "palette")];

/// Functions that only steps of their own call, in the last programs.
const OF_STEPS: [&str; 88] = [
    "add_noise",
    "adjust_gamma",
    "adjust_sharpness",
    "affine",
    "affine_matrix",
    "aug_mix",
    "augment",
    "auto_augment",
    "autocontrast",
    "box_areas",
    "boxes_from",
    "boxes_to",
    "chat",
    "clahe",
    "clip_boxes",
    "collage",
    "color_space",
    "count_matches",
    "count_of",
    "crop_boxes",
    "crop_points",
    "cutmix",
    "cutout",
    "detokenize",
    "draw_affine",
    "draw_aug_mix",
    "draw_auto_augment",
    "draw_erase",
    "draw_iou_crop",
    "draw_perspective",
    "draw_rand_augment",
    "draw_trivial_augment",
    "elastic",
    "embed",
    "equalize",
    "erase",
    "erase_box",
    "fill_in_middle",
    "flip_all",
    "flip_boxes",
    "flip_points",
    "html_text",
    "invert",
    "iou",
    "jpeg_noise",
    "keep_boxes",
    "letterbox",
    "mask_tokens",
    "match_anchors",
    "matches",
    "median_blur",
    "minhash",
    "mixup",
    "mosaic",
    "motion_blur",
    "normalize_text",
    "perspective",
    "perspective_matrix",
    "posterize",
    "rand_augment",
    "random_affine",
    "random_erase",
    "random_perspective",
    "random_rotate",
    "rasterize",
    "remap",
    "replace_all",
    "resize_all",
    "resize_boxes",
    "resize_long",
    "rotate",
    "shear_x",
    "shear_y",
    "solarize",
    "ssd_random_crop",
    "token_id",
    "tokenize",
    "tokenize_dropout",
    "translate_x",
    "translate_y",
    "trivial_augment",
    "vocabulary_size",
    "warp",
    "warp_boxes",
    "warp_points",
    "word_count",
    "word_ids",
    "zoom_out",
];

/// All functions of the library that any program may call.
pub(crate) fn all(oracle: &Oracle) -> Vec<Callee> {
    let library = stdlib::library();
    let native = library.functions.iter().map(|it| {
        let signature = syntax::parse_signature(it.signature).expect("the library is well-formed");
        of(&signature, it.signature)
    });
    let written = library.written.iter().filter(|it| it.0 != "sources.pipe");
    let written = written.flat_map(|(_, text)| {
        declarations(text).into_iter().filter_map(|it| match it.kind {
            DeclarationKind::Fn(it) => Some(of(&it.signature, text)),
            _ => None,
        })
    });
    let mut all: Vec<Callee> = native.chain(written).collect();
    let is_drawn = |it: &str| !super::NOT_DRAWN.contains(&it) && !OF_STEPS.contains(&it);
    all.retain(|it| is_drawn(&it.name));
    for callee in all.iter_mut().filter(|it| it.parameters.iter().any(|it| it.kind.is_free())) {
        callee.takes = oracle.classes(callee);
    }
    all
}

/// Names that the library says in the language itself.
pub(crate) fn written_names() -> Vec<String> {
    let all = stdlib::library().written.iter().flat_map(|(_, text)| declarations(text));
    all.filter_map(|it| it.name().map(|it| it.text.clone())).collect()
}

fn declarations(text: &str) -> Vec<Declaration> {
    syntax::parse(text, FileId::default()).0.declarations
}

fn of(signature: &Signature, text: &str) -> Callee {
    let parameters = signature.formals.iter().map(|it| Parameter {
        name: it.name.text.clone(),
        kind: kind(it, text),
        optional: it.optional || it.default.is_some(),
    });
    let name = signature.name.text.as_str();
    let is_given = |it: &Parameter| !PARAMETERS_OF_STEPS.contains(&(name, it.name.as_str()));
    Callee {
        name: name.to_owned(),
        parameters: parameters.filter(is_given).collect(),
        fails: signature.has(EffectKind::Fails),
        takes: Vec::new(),
    }
}

impl Kind {
    /// Whether the signature leaves the type to the call.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Self::Any | Self::Values)
    }
}

fn kind(formal: &Formal, text: &str) -> Kind {
    match formal.type_.as_ref().map(|it| &it.kind) {
        Some(TypeKind::Words(words)) => {
            Kind::Words(words.iter().map(|it| it.text.clone()).collect())
        }
        Some(TypeKind::Named { name, extents }) => named(&name.text, extents, text),
        _ => untold(formal),
    }
}

fn named(name: &str, extents: &[Extent], text: &str) -> Kind {
    let dtype = DType::named(name);
    match name {
        "int" => Kind::Int,
        "float" => Kind::Float,
        "floats" => Kind::Numbers,
        "values" => Kind::Values,
        "interval" => Kind::Interval,
        "untyped" => Kind::Untyped,
        "type" | "sources" | "file" => Kind::Special,
        "bool" if extents.is_empty() => Kind::Bool,
        "str" => Kind::Text,
        "bytes" => Kind::Bytes,
        "any" => Kind::Any,
        "integer" if extents.len() < 3 => {
            Kind::Tensor(Some(DType::I64), extents.iter().map(|it| extent(it, text)).collect())
        }
        "integer" => Kind::Tensor(Some(DType::U8), vec![None; 3]),
        _ => Kind::Tensor(dtype, extents.iter().map(|it| extent(it, text)).collect()),
    }
}

fn extent(extent: &Extent, text: &str) -> Option<u64> {
    extent.span().text(text).parse().ok()
}

/// What a parameter without a type takes: its default tells, else its name.
fn untold(formal: &Formal) -> Kind {
    let picture = || Kind::Tensor(Some(DType::U8), vec![None, None, None]);
    match (formal.name.text.as_str(), formal.default.as_ref()) {
        (_, Some(Expr { kind: ExprKind::Interval { .. }, .. })) => Kind::Interval,
        (
            "value" | "p" | "low" | "high" | "brightness" | "contrast" | "saturation" | "hue",
            Some(_),
        ) => Kind::Float,
        ("image", None) => picture(),
        ("path", None) => Kind::Text,
        ("shape", None) => Kind::Numbers,
        ("height" | "width" | "size" | "kernel_size", _) | (_, Some(_)) => Kind::Int,
        _ => Kind::Any,
    }
}
