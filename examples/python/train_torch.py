"""Trains a small ResNet on generated images, on the CPU. It can be killed at any time: the next run resumes
from the last checkpoint, and its losses are bit-identical to those of an uninterrupted run.

    python train_torch.py                              # 300 steps
    python train_torch.py --checkpoint run.pt          # resumes when started again after a kill
    python train_torch.py --loader dataloader          # the same loop around torch's DataLoader …
    python train_torch.py --loader tfdata              # … and around tf.data, to compare
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
CLASSES = 10


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
        self.around = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.path(x) + self.around(x))


def resnet():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Block(16, 32, 2), Block(32, 64, 2), Block(64, 128, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, CLASSES))


def endless(loader):
    """Yields the batches of epoch after epoch: each iteration is the next one."""
    while True:
        yield from loader


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--checkpoint", help="checkpoint file to resume from, written every --every steps")
    options.add_argument("--every", type=int, default=10)
    options.add_argument("--kill-at", type=int, help="kill the process at this step")
    options.add_argument("--losses", help="write the losses to this file, as JSON")
    options.add_argument("--loader", choices=["pipec", "dataloader", "tfdata"], default="pipec")
    options.add_argument("--size", type=int, default=64)
    options.add_argument("--data", default="sample:images?count=1000")
    args = options.parse_args()

    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = resnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    # With pipec:
    pipe = pipec.load(HERE / "train.pipe", params={"size": args.size, "data": args.data}, seed=1)
    loader = pipe.torch()
    if args.loader != "pipec":
        import others

        loader = getattr(others, args.loader)(pipe, args.size)

    step, losses = 0, []
    if args.checkpoint and os.path.exists(args.checkpoint):
        saved = torch.load(args.checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step, losses = saved["step"], saved["losses"]
        print(f"resumed after step {step}")

    begun, waited = time.perf_counter(), 0.0
    batches = endless(loader)
    while step < args.steps:
        asked = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - asked
        loss = nn.functional.cross_entropy(model(batch["image"]), batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        losses.append(loss.item())
        if step % 20 == 0:
            print(f"step {step}: loss {sum(losses[-20:]) / len(losses[-20:]):.3f}", flush=True)
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
