"""Makes the pictures beside this, and `pixels.tsv`: what libwebp decodes them to.

    python3 -m venv venv && venv/bin/pip install pillow==13.0.0 numpy && venv/bin/python make.py

The encoder is the libwebp that Pillow brings, called through its C interface, since Pillow has no words
for segments, partitions, and the kind and the sharpness of the loop filter.
"""

import ctypes
import glob
import io
import os

import numpy
import PIL
from PIL import Image

FOLDER = os.path.dirname(os.path.abspath(__file__))
# WEBP_ENCODER_ABI_VERSION of libwebp 1.6.0.
ABI = 0x0210

NAMES = """quality method image_hint target_size target_psnr segments sns_strength filter_strength filter_sharpness
filter_type autofilter alpha_compression alpha_filtering alpha_quality passes show_compressed preprocessing partitions
partition_limit emulate_jpeg_size thread_level low_memory near_lossless exact use_delta_palette use_sharp_yuv qmin
qmax""".split()


class Config(ctypes.Structure):
    _fields_ = [("lossless", ctypes.c_int)] + [
        (it, ctypes.c_float if it in ("quality", "target_psnr") else ctypes.c_int) for it in NAMES
    ]


class Picture(ctypes.Structure):
    pass


WRITER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t, ctypes.POINTER(Picture)
)
Picture._fields_ = [
    ("use_argb", ctypes.c_int),
    ("colorspace", ctypes.c_int),
    ("width", ctypes.c_int),
    ("height", ctypes.c_int),
    ("planes", ctypes.c_void_p * 3),
    ("strides", ctypes.c_int * 2),
    ("a", ctypes.c_void_p),
    ("a_stride", ctypes.c_int),
    ("pad1", ctypes.c_uint32 * 2),
    ("argb", ctypes.c_void_p),
    ("argb_stride", ctypes.c_int),
    ("pad2", ctypes.c_uint32 * 3),
    ("writer", WRITER),
    ("custom_ptr", ctypes.c_void_p),
    ("rest", ctypes.c_void_p * 32),
]


def libwebp():
    folder = os.path.join(os.path.dirname(PIL.__file__), "..", "pillow.libs")
    find = lambda name: glob.glob(os.path.join(folder, name))[0]
    ctypes.CDLL(find("libsharpyuv*"), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(find("libwebp-*"))


LIBRARY = libwebp()


def encode(pixels, quality, **settings):
    config = Config()
    assert LIBRARY.WebPConfigInitInternal(
        ctypes.byref(config), 0, ctypes.c_float(quality), ABI
    )
    for name, value in settings.items():
        setattr(config, name, value)
    assert LIBRARY.WebPValidateConfig(ctypes.byref(config)), settings
    picture = Picture()
    assert LIBRARY.WebPPictureInitInternal(ctypes.byref(picture), ABI)
    height, width, channels = pixels.shape
    picture.width, picture.height = width, height
    picture.use_argb = config.lossless
    parts = []
    writer = WRITER(lambda at, n, _: parts.append(ctypes.string_at(at, n)) or 1)
    picture.writer = writer
    read = LIBRARY.WebPPictureImportRGB if channels == 3 else LIBRARY.WebPPictureImportRGBA
    assert read(ctypes.byref(picture), pixels.tobytes(), channels * width)
    assert LIBRARY.WebPEncode(ctypes.byref(config), ctypes.byref(picture))
    LIBRARY.WebPPictureFree(ctypes.byref(picture))
    return b"".join(parts)


def drawn(height, width, seed):
    """Waves, edges and noise."""
    y, x = numpy.mgrid[0:height, 0:width]
    noise = numpy.random.default_rng(seed).normal(0, 3 + 5 * seed % 23, (height, width, 3))
    waves = [128 + 90 * numpy.sin(x / 11 + seed), 128 + 90 * numpy.cos(y / 13), (x * y / 50) % 256]
    edges = 60 * ((x // 9 + y // 7) % 2)[..., None]
    return numpy.clip(numpy.stack(waves, -1) + edges + noise, 0, 255).astype(numpy.uint8)


def transparent(height, width, seed):
    """The same, with an alpha that goes from side to side, and is the same in parts."""
    y, x = numpy.mgrid[0:height, 0:width]
    alpha = numpy.clip(x * 300 // width + (y // 9 % 3) * 20, 0, 255).astype(numpy.uint8)
    return numpy.dstack([drawn(height, width, seed), alpha])


def few(colours):
    """Pixels of few colours, so that a palette is worth it."""

    def draw(height, width, seed):
        numbers = numpy.random.default_rng(seed)
        palette = numbers.integers(0, 256, (colours, 3))
        y, x = numpy.mgrid[0:height, 0:width]
        return palette[(x // 3 + y // 4 + x * y // 90) % colours].astype(numpy.uint8)

    return draw


# Name, extents, quality, settings, and what is drawn.
PICTURES = [
    ("one", (1, 1), 75, {}),
    ("row", (1, 50), 60, {"method": 0}),
    ("column", (50, 1), 90, {}),
    ("odd", (37, 51), 40, {"segments": 4, "sns_strength": 100}),
    ("even", (64, 48), 85, {"segments": 1, "method": 6}),
    ("simple", (70, 45), 15, {"filter_type": 0, "filter_strength": 70, "method": 2}),
    ("sharp", (45, 66), 25, {"filter_sharpness": 7, "filter_strength": 100, "filter_type": 1}),
    ("soft", (66, 47), 5, {"filter_sharpness": 3, "filter_strength": 60, "filter_type": 1}),
    ("unfiltered", (40, 40), 50, {"filter_strength": 0}),
    ("partitions", (100, 33), 30, {"partitions": 3, "segments": 2}),
    ("finest", (33, 40), 100, {"method": 4}),
    ("coarsest", (90, 90), 0, {"method": 6, "segments": 3}),
    ("alpha_raw", (33, 41), 40, {"alpha_compression": 0, "alpha_filtering": 0}, transparent),
    ("alpha_fast", (41, 33), 60, {"alpha_filtering": 1}, transparent),
    ("alpha_best", (45, 45), 80, {"alpha_filtering": 2, "method": 6}, transparent),
    ("alpha_levels", (30, 60), 80, {"alpha_quality": 30}, transparent),
    ("lossless", (50, 37), 75, {"lossless": 1}),
    ("lossless_fast", (37, 50), 0, {"lossless": 1, "method": 0}),
    ("lossless_best", (64, 80), 100, {"lossless": 1, "method": 6}),
    ("lossless_alpha", (40, 30), 50, {"lossless": 1, "exact": 1}, transparent),
    ("lossless_near", (40, 44), 60, {"lossless": 1, "near_lossless": 20}),
    ("lossless_one", (1, 1), 75, {"lossless": 1}),
    ("palette_2", (40, 33), 75, {"lossless": 1}, few(2)),
    ("palette_4", (31, 35), 75, {"lossless": 1}, few(4)),
    ("palette_16", (30, 41), 75, {"lossless": 1}, few(16)),
    ("palette_200", (60, 60), 75, {"lossless": 1}, few(200)),
]


def fnv(data):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def main():
    from PIL import features

    lines = [
        f"# Made by make.py with Pillow {PIL.__version__}, libwebp {features.version('webp')}:",
        "# file, height, width, FNV-1a (64 bits) of the RGBA pixels.",
    ]
    for seed, (name, (height, width), quality, settings, *draw) in enumerate(PICTURES):
        pixels = (draw or [drawn])[0](height, width, seed)
        data = encode(pixels, quality, **settings)
        with open(os.path.join(FOLDER, name + ".webp"), "wb") as file:
            file.write(data)
        image = Image.open(io.BytesIO(data)).convert("RGBA")
        assert image.size == (width, height)
        lines.append(f"{name}.webp\t{height}\t{width}\t{fnv(image.tobytes()):016x}")
    with open(os.path.join(FOLDER, "pixels.tsv"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
