//! What automatic augmentations draw from: operations, their magnitudes and policies, as torchvision has them.

use runtime::Philox;

/// What is done to a picture, by the number that `augment` knows it by. The order is torchvision's: all but the last one
/// are drawn by RandAugment and TrivialAugment, all but the first one by AutoAugment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Saturation,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    Autocontrast,
    Equalize,
    Invert,
}

use Operation::*;

impl Operation {
    /// All of them, each at the place of its number.
    pub(super) const ALL: [Self; 15] = [
        Identity,
        ShearX,
        ShearY,
        TranslateX,
        TranslateY,
        Rotate,
        Brightness,
        Saturation,
        Contrast,
        Sharpness,
        Posterize,
        Solarize,
        Autocontrast,
        Equalize,
        Invert,
    ];
    /// Those that RandAugment and TrivialAugment draw from.
    pub(super) const DRAWN: usize = 14;

    /// Whether it is done in one direction or in the other, by the sign of its magnitude.
    fn is_signed(self) -> bool {
        (ShearX as u8..=Sharpness as u8).contains(&(self as u8))
    }
}

/// How far the operations of an augmentation go at the most.
pub(super) struct Space {
    shear: f64,
    shift: Shift,
    degrees: f64,
    colour: f64,
    /// Bits that are left at the least magnitude, and how many fewer at the greatest.
    bits: (f64, f64),
}

enum Shift {
    /// A fraction of the side.
    Share(f64),
    Pixels(f64),
}

/// Of AutoAugment (Cubuk et al., CVPR 2019) and RandAugment (Cubuk et al., 2020).
pub(super) const STANDARD: Space = Space {
    shear: 0.3,
    shift: Shift::Share(150.0 / 331.0),
    degrees: 30.0,
    colour: 0.9,
    bits: (8.0, 4.0),
};
/// Of TrivialAugment (Müller and Hutter, ICCV 2021), its wide space.
pub(super) const WIDE: Space = Space {
    shear: 0.99,
    shift: Shift::Pixels(32.0),
    degrees: 135.0,
    colour: 0.99,
    bits: (8.0, 6.0),
};
/// Of AugMix (Hendrycks et al., ICLR 2020).
pub(super) const MIX: Space = Space {
    shear: 0.3,
    shift: Shift::Share(1.0 / 3.0),
    degrees: 30.0,
    colour: 0.9,
    bits: (4.0, 4.0),
};

impl Space {
    /// The magnitude at place `at` of `bins`, without a sign, for a picture with these sides.
    pub(super) fn magnitude(
        &self,
        operation: Operation,
        (at, bins): (usize, usize),
        [height, width]: [i64; 2],
    ) -> f64 {
        let linear = |end: f64| between((0.0, end), (at, bins));
        let shift = |side: i64| match self.shift {
            Shift::Share(it) => linear(it * side as f64),
            Shift::Pixels(it) => linear(it),
        };
        match operation {
            Identity | Autocontrast | Equalize | Invert => 0.0,
            ShearX | ShearY => linear(self.shear),
            TranslateX => shift(width),
            TranslateY => shift(height),
            Rotate => linear(self.degrees),
            Brightness | Saturation | Contrast | Sharpness => linear(self.colour),
            Posterize => {
                let (most, fewer) = self.bits;
                let step = ((bins - 1) as f64 / fewer) as f32;
                most - f64::from((at as f32 / step).round_ties_even())
            }
            Solarize => between((255.0, 0.0), (at, bins)),
        }
    }

    /// The same with a random sign, where the operation has one.
    pub(super) fn drawn(
        &self,
        operation: Operation,
        place: (usize, usize),
        sides: [i64; 2],
        random: &mut Philox,
    ) -> [f64; 2] {
        let magnitude = self.magnitude(operation, place, sides);
        let turned = operation.is_signed() && random.below(2) == 1;
        [f64::from(operation as u8), if turned { -magnitude } else { magnitude }]
    }
}

/// PyTorch's `linspace`: `f32`, counted from the nearer end, each number rounded once.
fn between((start, end): (f64, f64), (at, bins): (usize, usize)) -> f64 {
    let (start, end) = (start as f32, end as f32);
    let step = f64::from((end - start) / (bins - 1) as f32);
    let number = if at < bins / 2 {
        f64::from(start) + step * at as f64
    } else {
        f64::from(end) - step * (bins - 1 - at) as f64
    };
    f64::from(number as f32)
}

/// Magnitudes that the policies of AutoAugment choose from.
pub(super) const BINS: usize = 10;

/// An operation of a policy, how likely it is done, and the place of its magnitude.
pub(super) type Step = (Operation, f64, usize);
/// Pairs of which one is drawn.
pub(super) type Policy = [[Step; 2]; 25];

/// AutoAugment's policy for ImageNet.
#[rustfmt::skip]
pub(super) const IMAGENET: Policy = [
    [(Posterize, 0.4, 8), (Rotate, 0.6, 9)],
    [(Solarize, 0.6, 5), (Autocontrast, 0.6, 0)],
    [(Equalize, 0.8, 0), (Equalize, 0.6, 0)],
    [(Posterize, 0.6, 7), (Posterize, 0.6, 6)],
    [(Equalize, 0.4, 0), (Solarize, 0.2, 4)],
    [(Equalize, 0.4, 0), (Rotate, 0.8, 8)],
    [(Solarize, 0.6, 3), (Equalize, 0.6, 0)],
    [(Posterize, 0.8, 5), (Equalize, 1.0, 0)],
    [(Rotate, 0.2, 3), (Solarize, 0.6, 8)],
    [(Equalize, 0.6, 0), (Posterize, 0.4, 6)],
    [(Rotate, 0.8, 8), (Saturation, 0.4, 0)],
    [(Rotate, 0.4, 9), (Equalize, 0.6, 0)],
    [(Equalize, 0.0, 0), (Equalize, 0.8, 0)],
    [(Invert, 0.6, 0), (Equalize, 1.0, 0)],
    [(Saturation, 0.6, 4), (Contrast, 1.0, 8)],
    [(Rotate, 0.8, 8), (Saturation, 1.0, 2)],
    [(Saturation, 0.8, 8), (Solarize, 0.8, 7)],
    [(Sharpness, 0.4, 7), (Invert, 0.6, 0)],
    [(ShearX, 0.6, 5), (Equalize, 1.0, 0)],
    [(Saturation, 0.4, 0), (Equalize, 0.6, 0)],
    [(Equalize, 0.4, 0), (Solarize, 0.2, 4)],
    [(Solarize, 0.6, 5), (Autocontrast, 0.6, 0)],
    [(Invert, 0.6, 0), (Equalize, 1.0, 0)],
    [(Saturation, 0.6, 4), (Contrast, 1.0, 8)],
    [(Equalize, 0.8, 0), (Equalize, 0.6, 0)],
];

/// AutoAugment's policy for CIFAR-10.
#[rustfmt::skip]
pub(super) const CIFAR10: Policy = [
    [(Invert, 0.1, 0), (Contrast, 0.2, 6)],
    [(Rotate, 0.7, 2), (TranslateX, 0.3, 9)],
    [(Sharpness, 0.8, 1), (Sharpness, 0.9, 3)],
    [(ShearY, 0.5, 8), (TranslateY, 0.7, 9)],
    [(Autocontrast, 0.5, 0), (Equalize, 0.9, 0)],
    [(ShearY, 0.2, 7), (Posterize, 0.3, 7)],
    [(Saturation, 0.4, 3), (Brightness, 0.6, 7)],
    [(Sharpness, 0.3, 9), (Brightness, 0.7, 9)],
    [(Equalize, 0.6, 0), (Equalize, 0.5, 0)],
    [(Contrast, 0.6, 7), (Sharpness, 0.6, 5)],
    [(Saturation, 0.7, 7), (TranslateX, 0.5, 8)],
    [(Equalize, 0.3, 0), (Autocontrast, 0.4, 0)],
    [(TranslateY, 0.4, 3), (Sharpness, 0.2, 6)],
    [(Brightness, 0.9, 6), (Saturation, 0.2, 8)],
    [(Solarize, 0.5, 2), (Invert, 0.0, 0)],
    [(Equalize, 0.2, 0), (Autocontrast, 0.6, 0)],
    [(Equalize, 0.2, 0), (Equalize, 0.6, 0)],
    [(Saturation, 0.9, 9), (Equalize, 0.6, 0)],
    [(Autocontrast, 0.8, 0), (Solarize, 0.2, 8)],
    [(Brightness, 0.1, 3), (Saturation, 0.7, 0)],
    [(Solarize, 0.4, 5), (Autocontrast, 0.9, 0)],
    [(TranslateY, 0.9, 9), (TranslateY, 0.7, 9)],
    [(Autocontrast, 0.9, 0), (Solarize, 0.8, 3)],
    [(Equalize, 0.8, 0), (Invert, 0.1, 0)],
    [(TranslateY, 0.7, 9), (Autocontrast, 0.9, 0)],
];

/// AutoAugment's policy for SVHN.
#[rustfmt::skip]
pub(super) const SVHN: Policy = [
    [(ShearX, 0.9, 4), (Invert, 0.2, 0)],
    [(ShearY, 0.9, 8), (Invert, 0.7, 0)],
    [(Equalize, 0.6, 0), (Solarize, 0.6, 6)],
    [(Invert, 0.9, 0), (Equalize, 0.6, 0)],
    [(Equalize, 0.6, 0), (Rotate, 0.9, 3)],
    [(ShearX, 0.9, 4), (Autocontrast, 0.8, 0)],
    [(ShearY, 0.9, 8), (Invert, 0.4, 0)],
    [(ShearY, 0.9, 5), (Solarize, 0.2, 6)],
    [(Invert, 0.9, 0), (Autocontrast, 0.8, 0)],
    [(Equalize, 0.6, 0), (Rotate, 0.9, 3)],
    [(ShearX, 0.9, 4), (Solarize, 0.3, 3)],
    [(ShearY, 0.8, 8), (Invert, 0.7, 0)],
    [(Equalize, 0.9, 0), (TranslateY, 0.6, 6)],
    [(Invert, 0.9, 0), (Equalize, 0.6, 0)],
    [(Contrast, 0.3, 3), (Rotate, 0.8, 4)],
    [(Invert, 0.8, 0), (TranslateY, 0.0, 2)],
    [(ShearY, 0.7, 6), (Solarize, 0.4, 8)],
    [(Invert, 0.6, 0), (Rotate, 0.8, 4)],
    [(ShearY, 0.3, 7), (TranslateX, 0.9, 3)],
    [(ShearX, 0.1, 6), (Invert, 0.6, 0)],
    [(Solarize, 0.7, 2), (TranslateY, 0.6, 7)],
    [(ShearY, 0.8, 4), (Invert, 0.8, 0)],
    [(ShearX, 0.7, 9), (TranslateY, 0.8, 3)],
    [(ShearY, 0.8, 5), (Autocontrast, 0.7, 0)],
    [(ShearX, 0.7, 2), (Invert, 0.1, 0)],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
        text.lines().filter(|it| !it.starts_with('#')).map(|it| it.split('\t').collect())
    }

    fn number<T: std::str::FromStr>(text: &str) -> T {
        text.parse().ok().expect("it is a number")
    }

    #[test]
    fn operations_have_their_numbers() {
        for (i, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, i);
        }
    }

    #[test]
    fn policies_are_those_of_torchvision() {
        let mut seen = 0;
        for row in rows(include_str!("goldens/policies.tsv")) {
            let policy = match row[0] {
                "imagenet" => &IMAGENET,
                "cifar10" => &CIFAR10,
                _ => &SVHN,
            };
            let pair = policy[seen % 25];
            for ((operation, p, at), text) in pair.into_iter().zip(&row[1..]) {
                let fields: Vec<&str> = text.split(' ').collect();
                assert_eq!(operation as usize, number::<usize>(fields[0]), "{row:?}");
                assert_eq!(p, number::<f64>(fields[1]), "{row:?}");
                let expected = if fields[2] == "-" { 0 } else { number(fields[2]) };
                assert_eq!(at, expected, "{row:?}");
            }
            seen += 1;
        }
        assert_eq!(seen, 75);
    }

    #[test]
    fn magnitudes_are_those_of_torchvision() {
        let mut seen = 0;
        for row in rows(include_str!("goldens/magnitudes.tsv")) {
            let space = match row[0] {
                "standard" => &STANDARD,
                "wide" => &WIDE,
                _ => &MIX,
            };
            let operation = Operation::ALL[number::<usize>(row[1])];
            let (bins, sides) = (number(row[2]), [number(row[3]), number(row[4])]);
            assert_eq!(operation.is_signed(), row[5] == "1", "{operation:?}");
            for (at, expected) in row[6].split(' ').enumerate() {
                let found = space.magnitude(operation, (at, bins), sides);
                assert_eq!(found, number::<f64>(expected), "{operation:?} {at} of {bins}");
                seen += 1;
            }
        }
        assert!(seen > 1_000);
    }
}
