"""Writes `outlines.json`: outlines in COCO's format, and the masks that pycocotools draws.

    pip install pycocotools numpy && python outlines.py > outlines.json

A mask is written as the lengths of its runs of zeros and ones, down the columns.
"""

import json
import math
import random
from importlib.metadata import version

import numpy as np
from pycocotools import mask as coco

random.seed(26)


def polygon(kind, height, width):
    n = random.choice([3, 4, 5, 8, 16, 40])
    if kind == "round":
        x, y = random.uniform(0, width), random.uniform(0, height)
        radius = [random.uniform(0.5, max(height, width) / 2) for _ in range(n)]
        angles = sorted(random.uniform(0, 2 * math.pi) for _ in range(n))
        points = [(x + r * math.cos(a), y + r * math.sin(a)) for r, a in zip(radius, angles)]
    elif kind == "crossing":
        points = [(random.uniform(0, width), random.uniform(0, height)) for _ in range(n)]
    elif kind == "outside":
        points = [(random.uniform(-2, 3) * width, random.uniform(-2, 3) * height) for _ in range(n)]
    elif kind == "on the grid":
        points = [(random.randrange(width * 10) / 10, random.randrange(height * 10) / 10) for _ in range(n)]
    else:
        point = (random.uniform(0, width), random.uniform(0, height))
        step = random.uniform(0, 3)
        points = [(point[0] + random.uniform(0, step), point[1] + random.uniform(0, step)) for _ in range(n - 1)]
        points += [points[0]]
    digits = random.choice([0, 1, 2, 3])
    return [round(it, digits) for point in points for it in point]


def runs(mask):
    column = mask.flatten(order="F")
    edges = np.flatnonzero(np.diff(column)) + 1
    ends = [0, *edges.tolist(), len(column)]
    counts = [b - a for a, b in zip(ends, ends[1:])]
    return [0, *counts] if column[0] else counts


def outline(height, width):
    kind = random.choice(["round", "crossing", "outside", "on the grid", "small", "runs", "text", "several"])
    if kind in ("runs", "text"):
        mask = (np.random.default_rng(random.randrange(10**6)).random((height, width)) < 0.2).astype(np.uint8)
        if random.random() < 0.5:
            mask[:, width // 3 : width // 2 + 1] = 1
        if kind == "runs":
            return {"counts": runs(mask), "size": [height, width]}
        text = coco.encode(np.asfortranarray(mask))["counts"].decode()
        return {"counts": text, "size": [height, width]}
    kinds = ["round", "outside", "small"] if kind == "several" else [kind]
    return [polygon(it, height, width) for it in kinds]


def mask(outline, height, width):
    found = coco.frPyObjects(outline, height, width) if isinstance(outline, list) else outline
    if isinstance(outline, list):
        found = coco.merge(found)
    elif isinstance(outline["counts"], list):
        found = coco.frPyObjects(outline, height, width)
    return runs(coco.decode(found))


cases = []
for height, width in [(1, 1), (1, 9), (9, 1), (12, 17), (30, 41), (64, 50)]:
    outlines = [outline(height, width) for _ in range(12)]
    masks = [mask(it, height, width) for it in outlines]
    cases.append({"size": [height, width], "outlines": outlines, "masks": masks})

print(json.dumps({"origin": "pycocotools " + version("pycocotools"), "cases": []})[:-2])
print(",\n".join(json.dumps(it, separators=(",", ":")) for it in cases))
print("]}")
