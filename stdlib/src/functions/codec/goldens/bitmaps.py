"""Writes `bitmaps.tsv`: BMP and GIF files in hex, and xxh3_64 of what Pillow makes of them as RGB and as RGBA.

    pip install pillow xxhash && python bitmaps.py > bitmaps.tsv

Files that Pillow does not write are put together by hand.
"""

import io
import struct

import xxhash
from PIL import Image


def pattern(height, width, channels=1):
    return bytes(
        (7 * x * x + 13 * y + x * y + 50 * c) % 256 for y in range(height) for x in range(width) for c in range(channels)
    )


def noise(n):
    state, found = 1, []
    for _ in range(n):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        found.append(state >> 56)
    return bytes(found)


def saved(image, form, **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def paletted(height, width, colours, indices=None):
    image = Image.frombytes("P", (width, height), bytes(it % colours for it in indices or pattern(height, width)))
    image.putpalette([(37 * it + 90 * c) % 256 for it in range(colours) for c in range(3)])
    return image


def bmp(height, width, bits, method, pixels, masks=b"", palette=b"", info=40, colours=0):
    header = struct.pack("<IiiHHIIiiII", info, width, height, 1, bits, method, len(pixels), 0, 0, colours, 0)
    header += masks[: info - 40].ljust(info - 40, b"\0") + masks[info - 40 :]
    start = 14 + len(header) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + palette + pixels


def rows(pixels, stride):
    return b"".join(pixels[at : at + stride].ljust((stride + 3) // 4 * 4, b"\0") for at in range(0, len(pixels), stride))


def core(height, width, bits, palette, pixels):
    header = struct.pack("<IHHHH", 12, width, height, 1, bits) + palette
    return b"BM" + struct.pack("<IHHI", 26 + len(palette) + len(pixels), 0, 0, 14 + len(header)) + header + pixels


quads = bytes((37 * it + 90 * c) % 256 if c < 3 else 0 for it in range(16) for c in range(4))
triples = bytes((37 * it + 90 * c) % 256 for it in range(16) for c in range(3))
masks = lambda *all: struct.pack(f"<{len(all)}I", *all)

files = {
    "bmp-1": saved(Image.frombytes("1", (11, 5), pattern(5, 2)), "BMP"),
    "bmp-8-grey": saved(Image.frombytes("L", (11, 5), pattern(5, 11)), "BMP"),
    "bmp-8": saved(paletted(5, 11, 256), "BMP"),
    "bmp-24": saved(Image.frombytes("RGB", (7, 5), pattern(5, 7, 3)), "BMP"),
    "bmp-32-alpha": saved(Image.frombytes("RGBA", (7, 5), pattern(5, 7, 4)), "BMP"),
    "bmp-32": bmp(5, 7, 32, 0, pattern(5, 7, 4)),
    "bmp-24-top-down": bmp(-5, 7, 24, 0, rows(pattern(5, 7, 3), 21)),
    "bmp-4": bmp(5, 7, 4, 0, rows(pattern(5, 4), 4), palette=quads),
    "bmp-4-few-colours": bmp(5, 7, 4, 0, rows(bytes(it & 0x33 for it in pattern(5, 4)), 4), palette=quads[:16], colours=4),
    "bmp-16": bmp(5, 7, 16, 0, rows(pattern(5, 14), 14)),
    "bmp-16-565": bmp(5, 7, 16, 3, rows(pattern(5, 14), 14), masks=masks(0xF800, 0x7E0, 0x1F)),
    "bmp-32-masks": bmp(5, 7, 32, 3, pattern(5, 7, 4), masks=masks(0xFF0000, 0xFF00, 0xFF)),
    "bmp-32-v5": bmp(5, 7, 32, 3, pattern(5, 7, 4), masks=masks(0xFF0000, 0xFF00, 0xFF, 0xFF000000), info=124),
    "bmp-core-4": core(5, 7, 4, triples, rows(pattern(5, 4), 4)),
    "bmp-core-24": core(5, 7, 24, b"", rows(pattern(5, 7, 3), 21)),
    "bmp-rle8": bmp(4, 6, 8, 1, bytes([3, 7, 0, 3, 1, 2, 3, 0, 0, 0, 0, 2, 2, 1, 2, 9, 0, 0, 6, 4, 0, 1]), palette=quads, colours=16),
    "bmp-rle4": bmp(3, 7, 4, 2, bytes([5, 0x73, 0, 0, 0, 6, 0x12, 0x34, 0x56, 0, 0, 0, 7, 0xF0, 0, 1]), palette=quads),
    "gif-256": saved(paletted(9, 13, 256), "GIF", interlace=0),
    "gif-interlaced": saved(paletted(21, 13, 64), "GIF", interlace=1),
    "gif-2": saved(paletted(9, 13, 2), "GIF"),
    "gif-transparent": saved(paletted(9, 13, 16), "GIF", transparency=3),
    "gif-noise": saved(paletted(64, 80, 256, noise(64 * 80)), "GIF"),
    "gif-runs": saved(paletted(60, 90, 4, bytes(it // 1700 for it in range(5400))), "GIF"),
    "gif-frames": saved(paletted(9, 13, 16), "GIF", save_all=True, append_images=[paletted(9, 13, 7)]),
}
# The same frame at another place of a larger screen, and beyond a smaller one.
whole = bytearray(files["gif-transparent"])
at = whole.index(b"\x2c\0\0\0\0\x0d\0\x09\0")
for name, screen, place in [("gif-offset", (20, 15), (4, 3)), ("gif-beyond", (5, 5), (2, 1))]:
    moved = whole.copy()
    moved[6:10], moved[at + 1 : at + 5] = struct.pack("<HH", *screen), struct.pack("<HH", *place)
    files[name] = bytes(moved)
moved = bytearray(files["gif-256"])
at = moved.index(b"\x2c\0\0\0\0\x0d\0\x09\0")
moved[6:10], moved[at + 1 : at + 5] = struct.pack("<HH", 20, 15), struct.pack("<HH", 4, 3)
files["gif-offset-opaque"] = bytes(moved)

for name, file in files.items():
    image = Image.open(io.BytesIO(file))
    image.load()
    hashes = [f"{xxhash.xxh3_64_intdigest(image.convert(mode).tobytes()):016x}" for mode in ("RGB", "RGBA")]
    print(name, f"{image.height}x{image.width}", *hashes, file.hex(), sep="\t")
