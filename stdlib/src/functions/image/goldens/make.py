"""Makes `photometric.tsv`: what torchvision makes of some images with Pillow, and OpenCV of those to blur.

pip install torchvision pillow opencv-python-headless xxhash; python make.py
"""

from pathlib import Path

import cv2
import numpy as np
import PIL
import torchvision
import xxhash
from PIL import Image
from torchvision.transforms.v2 import functional as F

HERE = Path(__file__).parent

# Height, width, channels, the lowest level and how many levels there are from it on.
IMAGES = [(1, 1, 1, 7, 1), (37, 53, 3, 0, 256), (64, 65, 1, 0, 256), (40, 50, 3, 60, 90), (16, 17, 3, 128, 2), (90, 7, 1, 250, 6)]


def clahe(image, args):
    """OpenCV has it of one channel."""
    limit, tiles = args.split()
    found = cv2.createCLAHE(float(limit), (int(tiles), int(tiles)))
    channels = np.atleast_3d(np.asarray(image))
    return np.stack([found.apply(np.ascontiguousarray(channels[..., it])) for it in range(channels.shape[2])], 2)


# Functions here, their arguments, and those of torchvision.
CALLS = [
    ("autocontrast", [], F.autocontrast),
    ("equalize", [], F.equalize),
    ("invert", [], F.invert),
    *(("posterize", [bits], F.posterize) for bits in range(1, 9)),
    *(("solarize", [above], F.solarize) for above in (0, 1, 99.5, 128, 213, 255, 256)),
    *(("adjust_gamma", [gamma], F.adjust_gamma) for gamma in (0.0, 0.1, 0.45, 1.0, 1.7, 2.2, 5.0)),
    *(("adjust_sharpness", [factor], F.adjust_sharpness) for factor in (0.0, 0.1, 0.64, 1.0, 1.36, 1.9, 4.5)),
    *(("clahe", [f"{limit} {tiles}"], clahe) for limit, tiles in ((4.0, 8), (2.0, 1), (0.01, 3), (40.0, 5), (1.5, 16))),
    *(("median_blur", [size], lambda it, size: cv2.medianBlur(np.asarray(it), size)) for size in (1, 3, 5, 7, 15)),
]


def image(height, width, channels, low, count):
    """Levels that look random: the high bits of multiples of a large odd number."""
    places = np.arange(height * width * channels, dtype=np.uint64)
    levels = low + ((places * 0x9E3779B97F4A7C15) >> np.uint64(40)) % count
    levels = levels.astype(np.uint8).reshape(height, width, channels)
    return Image.fromarray(levels if channels == 3 else levels[..., 0])


def main():
    lines = [
        f"# Made with torchvision {torchvision.__version__} Pillow {PIL.__version__} and OpenCV {cv2.__version__} by make.py: function, argument, "
        "image (height, width, channels, lowest level,",
        "# number of levels), xxh3_64 of the result.",
    ]
    for name, args, call in CALLS:
        for of in IMAGES:
            found = np.asarray(call(image(*of), *args))
            text = " ".join(str(it) for it in of)
            lines.append("\t".join([name, *(str(it) for it in args or ["-"]), text, xxhash.xxh3_64_hexdigest(found.tobytes())]))
    (HERE / "photometric.tsv").write_text("\n".join(lines) + "\n")


main()
