"""Writes `warp.tsv`: what Pillow makes of small pictures and a few larger ones.

python warp.py > warp.tsv
"""

import math
import random

import numpy as np
from PIL import Image, __version__

METHODS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def picture(height, width, channels):
    i = np.arange(height * width * channels)
    return ((i * i * 37 + i * 11) % 256).astype(np.uint8).reshape(height, width, channels)


def warped(image, size, matrix, method, fill):
    channels = image.shape[2]
    picture = Image.fromarray(image[:, :, 0] if channels == 1 else image)
    way = Image.AFFINE if len(matrix) == 6 else Image.PERSPECTIVE
    color = fill[0] if channels == 1 else tuple(fill)
    made = picture.transform((size[1], size[0]), way, matrix, METHODS[method], fillcolor=color)
    return np.asarray(made).reshape(*size, channels)


def rotation(degrees, scale, centre_from, centre_to):
    a, b = (round(f(math.radians(degrees)), 15) / scale for f in (math.cos, math.sin))
    (y, x), (to_y, to_x) = centre_from, centre_to
    return [a, b, x - a * to_x - b * to_y, -b, a, y + b * to_x - a * to_y]


def cases():
    draw = random.Random(26)
    for degrees in (0, 90, 180, 17.3, -45):
        for scale in (1, 0.5, 2.5):
            for height, width in ((9, 7), (1, 1), (6, 14)):
                size = (draw.randint(4, 10), draw.randint(4, 10))
                centres = ((height / 2, width / 2), (size[0] / 2, size[1] / 2))
                yield (height, width), size, rotation(degrees, scale, *centres)
    yield (9, 7), (6, 6), [1, 0, -3, 0, 1, 2]
    yield (9, 7), (6, 6), [1, 0.3, 0, 0, 1, 0]
    yield (9, 7), (6, 6), [1, 0, 0, -0.25, 1, 0]
    yield (9, 7), (6, 6), [-1, 0, 7, 0, -1, 9]
    # Out of the picture, and too far away for fixed point.
    yield (9, 7), (3, 3), [1, 0.1, 100, 0.1, 1, 0]
    yield (9, 7), (3, 3), [1, 0.1, -40_000, 0.1, 1, 0]
    yield (9, 7), (5, 40), [1000, 0.5, 1, 20, 1, 3]
    for _ in range(12):
        tilt = [draw.uniform(-0.06, 0.06) for _ in range(2)]
        yield (9, 7), (8, 8), rotation(draw.uniform(-180, 180), 1, (4.5, 3.5), (4, 4)) + tilt
    for degrees, scale in ((30, 1), (-72.5, 1.7), (5, 0.4), (0, 1.3), (90, 1)):
        yield (60, 90), (70, 130), rotation(degrees, scale, (30, 45), (35, 65))
        yield (60, 90), (70, 130), rotation(degrees, scale, (30, 45), (35, 65)) + [0.001, -0.003]


def folded(levels):
    """Of many levels, one number."""
    number = 0
    for level in levels.tobytes():
        number = (number * 31 + level) % 2**32
    return f"{number:08x}"


print(f"# Made by warp.py with Pillow {__version__}, Image.transform: method, channels, sides before, sides after,")
print("# matrix, fill, then the levels, or where there are many, the last 32 bits of levels with the base 31.")
for number, (sides, size, matrix) in enumerate(cases()):
    for method in METHODS:
        channels = (3, 1)[(number + len(method)) % 2]
        fill = [200, 10, 77][:channels]
        levels = warped(picture(*sides, channels), size, matrix, method, fill)
        shown = levels.tobytes().hex() if levels.size < 400 else folded(levels)
        numbers = " ".join(repr(float(it)) for it in matrix)
        print(method, channels, *sides, *size, numbers, " ".join(map(str, fill)), shown, sep="\t")
