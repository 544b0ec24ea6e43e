"""Writes `tests/suite/run/image-maps.pipe`: what torchvision, on a Pillow image, and OpenCV make of one of 7 x 5 pixels.

python maps.py > ../../../../../tests/suite/run/image-maps.pipe, then UPDATE=1 for what it gives: all of it must be true.
"""

import math

import cv2
import numpy as np
import PIL
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode as Mode
from torchvision.transforms.v2 import functional as F

i = np.arange(35)
LEVELS = ((i * i * 37 + i * 11) % 256).astype(np.uint8).reshape(7, 5)
IMAGE = Image.fromarray(LEVELS)
MODES = {"nearest": Mode.NEAREST, "bilinear": Mode.BILINEAR, "bicubic": Mode.BICUBIC}


def affine(mode, angle=0.0, translate=(0, 0), scale=1.0, shear=(0.0, 0.0), fill=0, center=None):
    return F.affine(IMAGE, angle, list(translate), scale, list(shear), MODES[mode], fill, center)


def sheared(x, y):
    shear = [math.degrees(math.atan(it)) for it in (x, y)]
    return affine("nearest", shear=shear, center=[0, 0])


def letterboxed(height, width):
    """As the LetterBox of Ultralytics 8.3 does it."""
    rows, columns = LEVELS.shape
    scale = min(height / rows, width / columns)
    new = round(columns * scale), round(rows * scale)
    across, along = (width - new[0]) / 2, (height - new[1]) / 2
    top, bottom = round(along - 0.1), round(along + 0.1)
    left, right = round(across - 0.1), round(across + 0.1)
    image = cv2.resize(LEVELS, new, interpolation=cv2.INTER_LINEAR)
    return cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(114, 114, 114))


FROM = [[0, 0], [4, 0], [4, 6], [0, 6]]
TO = [[1, 0], [4, 1], [3, 5], [0, 6]]
CORNERS = f"f32({FROM}), f32({TO})"
CASES = [
    ("rotate(image, 17.3)", F.rotate(IMAGE, 17.3), 0),
    ("rotate(image, -45, method: bilinear, fill: 9)", F.rotate(IMAGE, -45, Mode.BILINEAR, fill=9), 0),
    ("rotate(image, 200, method: bicubic)", F.rotate(IMAGE, 200, Mode.BICUBIC), 0),
    ("rotate(image, 90)", F.rotate(IMAGE, 90), 0),
    ("rotate(image, 180, method: bilinear)", F.rotate(IMAGE, 180, Mode.BILINEAR), 0),
    ("rotate(image, 90, expand: true, method: bicubic)", F.rotate(IMAGE, 90, Mode.BICUBIC, expand=True), 0),
    ("rotate(image, 270, expand: true, method: bilinear)", F.rotate(IMAGE, 270, Mode.BILINEAR, expand=True), 0),
    ("rotate(image, 30, expand: true, method: bilinear, fill: 200)", F.rotate(IMAGE, 30, Mode.BILINEAR, expand=True, fill=200), 0),
    ("rotate(image, -17.3, expand: true)", F.rotate(IMAGE, -17.3, expand=True), 0),
    ("affine(image, 17.3, y: 2, x: 1, scale: 1.25, shear_y: 5.0, shear_x: 10.0)", affine("nearest", 17.3, (1, 2), 1.25, (10, 5)), 0),
    ("affine(image, -60, scale: 0.7, shear_x: -20.0, method: bilinear, fill: 33)", affine("bilinear", -60, scale=0.7, shear=(-20, 0), fill=33), 1),
    ("affine(image, 8.0, y: -1, method: bicubic)", affine("bicubic", 8.0, (0, -1)), 1),
    ("shear_x(image, 0.3)", sheared(0.3, 0), 0),
    ("shear_x(image, -0.45)", sheared(-0.45, 0), 0),
    ("shear_y(image, 0.3)", sheared(0, 0.3), 0),
    ("translate_x(image, 2)", affine("nearest", translate=(2, 0)), 0),
    ("translate_y(image, -3, fill: 5)", affine("nearest", translate=(0, -3), fill=5), 0),
    (f"perspective(image, {CORNERS})", F.perspective(IMAGE, FROM, TO), 1),
    (f"perspective(image, {CORNERS}, method: nearest, fill: 8)", F.perspective(IMAGE, FROM, TO, Mode.NEAREST, fill=8), 0),
    ("letterbox(image, 16)", letterboxed(16, 16), 1),
    ("letterbox(image, 5, 8)", letterboxed(5, 8), 1),
]

print("edition 2026")
print(f"# torchvision {torchvision.__version__.split('+')[0]} with Pillow {PIL.__version__}, and OpenCV {cv2.__version__}: goldens/maps.py of the library's image functions.")
print("pipeline p =")
print("    range(1)")
print("    |> map { levels: i64(arange(35)) }")
print("    |> map { image: u8(reshape((levels * levels * 37 + levels * 11) % 256, [7, 5, 1])) }")
print("    |> map {")
for number, (call, _, _) in enumerate(CASES):
    print(f"        m{number + 1:02}: {call},")
print("    }")
print("    |> map {")
for number, (_, made, off) in enumerate(CASES):
    name, made = f"m{number + 1:02}", np.asarray(made).astype(int)
    levels = ", ".join(map(str, made.ravel()))
    same = f"i64(reshape({name}, [-1])) - [{levels}]"
    print(f"        {name}: all({name}.shape == [{made.shape[0]}, {made.shape[1]}, 1])")
    print(f"            and all(abs({same}) <= {off})," if off else f"            and all({same} == 0),")
print("    }")
