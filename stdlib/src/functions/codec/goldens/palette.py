"""Writes `palette.tsv`: PNGs with a palette as Pillow writes them, in hex, and the indices that it reads from them.

    pip install pillow && python palette.py > palette.tsv
"""

import io

from PIL import Image

for bits in (1, 2, 4, 8):
    height, width = 5, 11
    indices = bytes((7 * x * x + 13 * y + x * y) % 256 % (1 << bits) for y in range(height) for x in range(width))
    image = Image.frombytes("P", (width, height), indices)
    image.putpalette([(37 * it + 5 * c) % 256 for it in range(1 << bits) for c in range(3)])
    file = io.BytesIO()
    image.save(file, "PNG", bits=bits)
    found = Image.open(io.BytesIO(file.getvalue()))
    assert found.mode == "P" and found.tobytes() == indices
    print(bits, f"{height}x{width}", file.getvalue().hex(), found.tobytes().hex(), sep="\t")
