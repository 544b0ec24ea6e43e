"""Makes `policies.tsv`, `magnitudes.tsv` and `augment.tsv`: what torchvision's automatic augmentations do.

pip install torchvision pillow xxhash; python make_augment.py
"""

from pathlib import Path

import numpy as np
import PIL
import torchvision
import xxhash
from PIL import Image
from torchvision.transforms import AugMix, AutoAugment, AutoAugmentPolicy, InterpolationMode, RandAugment, TrivialAugmentWide
from torchvision.transforms.autoaugment import _apply_op

HERE = Path(__file__).parent
ORIGIN = f"# Made with torchvision {torchvision.__version__} and Pillow {PIL.__version__} by make_augment.py: "

# As numbered by `augment`.
NAMES = [
    "Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness",
    "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert",
]


def policies():
    lines = [ORIGIN + "policy, then twice: operation, probability, magnitude (of 10)."]
    for policy in AutoAugmentPolicy:
        for pair in AutoAugment(policy).policies:
            entries = [f"{NAMES.index(name)} {p} {'-' if at is None else at}" for name, p, at in pair]
            lines.append("\t".join([policy.value, *entries]))
    (HERE / "policies.tsv").write_text("\n".join(lines) + "\n")


def magnitudes():
    lines = [ORIGIN + "space, operation, bins, height, width, signed, magnitudes."]
    size = (333, 500)
    spaces = [
        ("standard", RandAugment(), lambda it, bins: it._augmentation_space(bins, size), (31, 10, 2)),
        ("standard", AutoAugment(), lambda it, bins: it._augmentation_space(bins, size), (10,)),
        ("wide", TrivialAugmentWide(), lambda it, bins: it._augmentation_space(bins), (31, 7)),
        ("mix", AugMix(), lambda it, bins: it._augmentation_space(bins, size), (10,)),
    ]
    for name, of, space, all_bins in spaces:
        for bins in all_bins:
            for operation, (values, signed) in space(of, bins).items():
                if values.ndim:
                    numbers = " ".join(repr(float(it)) for it in values)
                    row = [name, str(NAMES.index(operation)), str(bins), *(str(it) for it in size), str(int(signed)), numbers]
                    lines.append("\t".join(row))
    (HERE / "magnitudes.tsv").write_text("\n".join(lines) + "\n")


def image(height, width, channels):
    """Levels that look random: the high bits of multiples of a large odd number."""
    places = np.arange(height * width * channels, dtype=np.uint64)
    levels = ((places * 0x9E3779B97F4A7C15) >> np.uint64(40)) % 256
    levels = levels.astype(np.uint8).reshape(height, width, channels)
    return Image.fromarray(levels if channels == 3 else levels[..., 0])


def images():
    lines = [ORIGIN + "operations and magnitudes, method, image (height, width, channels), xxh3_64 of the result."]
    space = TrivialAugmentWide()._augmentation_space(31)
    narrow = RandAugment()._augmentation_space(31, (41, 60))
    chains = []
    for at, name in enumerate(NAMES):
        for values, signed in [it[name] for it in (space, narrow) if name in it] or [(np.float64(0), False)]:
            for k in (3, 17, 30) if values.ndim else (0,):
                value = float(values[k]) if values.ndim else 0.0
                chains += [[(at, value)], [(at, -value)]] if signed else [[(at, value)]]
    chains += [[chains[(7 * i) % len(chains)][0], chains[(11 * i + 5) % len(chains)][0]] for i in range(24)]
    for chain in chains:
        for method in ("nearest", "bilinear"):
            # After another operation, levels lie exactly between two others, and what is interpolated may differ by 1.
            if method == "bilinear" and (len(chain) > 1 or not 1 <= chain[0][0] <= 5):
                continue
            for of in [(41, 60, 3), (24, 24, 1)]:
                found = image(*of)
                for at, value in chain:
                    found = _apply_op(found, NAMES[at], value, InterpolationMode(method), None)
                steps = " ".join(f"{at} {value!r}" for at, value in chain)
                text = " ".join(str(it) for it in of)
                lines.append("\t".join([steps, method, text, xxhash.xxh3_64_hexdigest(np.asarray(found).tobytes())]))
    (HERE / "augment.tsv").write_text("\n".join(lines) + "\n")


policies()
magnitudes()
images()
