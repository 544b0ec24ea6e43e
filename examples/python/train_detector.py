"""Trains a small detector (SSD) on generated images with boxes, on the CPU. It can be killed at any time: the next run
resumes from the last checkpoint, and its losses are bit-identical to those of an uninterrupted run.

    python train_detector.py                       # 200 steps
    python train_detector.py --checkpoint run.pt   # resumes when started again after a kill
"""

import argparse
import json
import os
import pathlib
import signal
import time

import torch
from torch import nn

import pipec

HERE = pathlib.Path(__file__).parent
# Shapes that are drawn in the images, and boxes of each cell that are moved and scaled: see `detector.pipe`.
LABELS, ANCHORS = 5, 3


class Detector(nn.Module):
    """For each anchor, a score for background and for each label, and four offsets."""

    def __init__(self):
        super().__init__()
        layers, before = [], 3
        for after in (16, 32, 64, 64):
            layers += [nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
            before = after
        self.body = nn.Sequential(*layers, nn.Conv2d(before, before, 3, 1, 1), nn.ReLU())
        self.head = nn.Conv2d(before, ANCHORS * (LABELS + 1 + 4), 3, 1, 1)

    def forward(self, image):
        # The anchors of a size stand together, those of a row of cells one after the other.
        out = self.head(self.body(image)).unflatten(1, (ANCHORS, LABELS + 1 + 4)).flatten(3)
        out = out.transpose(2, 3).flatten(1, 2)
        return out[..., : LABELS + 1], out[..., LABELS + 1 :]


def loss_of(scores, offsets, batch):
    """The two losses of SSD. Of the background, the three anchors that are the most wrong count for each one of a box."""
    is_box = batch["label"] > 0
    wrong = nn.functional.cross_entropy(scores.flatten(0, 1), batch["label"].flatten(), reduction="none").view_as(is_box)
    background = wrong.detach().masked_fill(batch["label"] != 0, -1.0)
    place = background.argsort(dim=1, descending=True, stable=True).argsort(dim=1, stable=True)
    counts = is_box | ((batch["label"] == 0) & (place < 3 * is_box.sum(1, keepdim=True)))
    boxes = is_box.sum().clamp(min=1)
    moved = nn.functional.smooth_l1_loss(offsets[is_box], batch["offsets"][is_box], reduction="sum")
    return ((wrong * counts).sum() + moved) / boxes


def endless(loader):
    """Yields the batches of epoch after epoch: each iteration is the next one."""
    while True:
        yield from loader


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--checkpoint", help="checkpoint file to resume from, written every --every steps")
    options.add_argument("--every", type=int, default=10)
    options.add_argument("--kill-at", type=int, help="kill the process at this step")
    options.add_argument("--losses", help="write the losses to this file, as JSON")
    options.add_argument("--data", default="sample:detection?count=400")
    args = options.parse_args()

    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    loader = pipec.load(HERE / "detector.pipe", params={"data": args.data}, seed=1).torch()

    step, losses = 0, []
    if args.checkpoint and os.path.exists(args.checkpoint):
        saved = torch.load(args.checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step, losses = saved["step"], saved["losses"]
        print(f"resumed after step {step}")

    begun, waited, right = time.perf_counter(), 0.0, []
    batches = endless(loader)
    while step < args.steps:
        asked = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - asked
        scores, offsets = model(batch["image"])
        loss = loss_of(scores, offsets, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        losses.append(loss.item())
        is_box = batch["label"] > 0
        right.append((scores.argmax(-1) == batch["label"])[is_box].float().mean().item())
        if step % 20 == 0:
            print(f"step {step}: loss {sum(losses[-20:]) / 20:.3f}, {sum(right[-20:]) / len(right[-20:]):.0%} of the anchors "
                  "of boxes have the right label", flush=True)
        if args.checkpoint and step % args.every == 0:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                     "loader": loader.state_dict(), "step": step, "losses": losses}
            torch.save(saved, args.checkpoint + ".new")
            os.replace(args.checkpoint + ".new", args.checkpoint)
        if step == args.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    seconds = time.perf_counter() - begun
    if args.losses:
        pathlib.Path(args.losses).write_text(json.dumps(losses))
    print(f"{seconds:.1f} s, {waited / seconds:.1%} of it waiting for batches")


if __name__ == "__main__":
    main()
