"""Trains a small GPT on generated texts, on the CPU. It can be killed at any time: the next run resumes from the last
checkpoint, and its losses are bit-identical to those of an uninterrupted run.

    python train_gpt.py                                        # 200 steps
    python train_gpt.py --checkpoint run.pt                    # resumes when started again after a kill
    torchrun --nproc-per-node 2 train_gpt.py --checkpoint run  # two ranks, each with its own lanes and checkpoint
"""

import argparse
import json
import os
import pathlib
import signal
import time

import torch
import torch.distributed as dist
from torch import nn

import pipec

HERE = pathlib.Path(__file__).parent


class Block(nn.Module):
    """Causal self-attention and two linear layers."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        parts = self.mixed(self.before(x)).view(n, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(n, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class GPT(nn.Module):
    def __init__(self, tokens, length, width=64, depth=2, heads=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.places(places))))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--checkpoint", help="checkpoint file to resume from, written every --every steps")
    options.add_argument("--every", type=int, default=10)
    options.add_argument("--kill-at", type=int, help="kill the process at this step")
    options.add_argument("--losses", help="write the losses to this file, as JSON")
    options.add_argument("--length", type=int, default=128)
    options.add_argument("--data", default="sample:text?count=2000")
    args = options.parse_args()

    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if ranks > 1 else 0
    # Of each rank: its own place in the data.
    checkpoint = args.checkpoint and f"{args.checkpoint}.{rank}"

    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tokenizer = f"{args.data}/tokenizer.json"
    pipe = pipec.load(HERE / "gpt.pipe", params={"data": args.data, "model": tokenizer, "length": args.length}, seed=1)
    loader = pipe.torch()
    tokens = 4096
    model = GPT(tokens, args.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    step, losses = 0, []
    if checkpoint and os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step, losses = saved["step"], saved["losses"]
        print(f"rank {rank} resumed after step {step}")

    begun, waited = time.perf_counter(), 0.0
    batches = iter(loader)
    while step < args.steps:
        asked = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - asked
        logits = model(batch["input"])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch["target"].flatten())
        optimizer.zero_grad()
        loss.backward()
        if ranks > 1:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= ranks
        optimizer.step()
        step += 1
        losses.append(loss.item())
        if rank == 0 and step % 20 == 0:
            print(f"step {step}: loss {sum(losses[-20:]) / len(losses[-20:]):.3f}", flush=True)
        if checkpoint and step % args.every == 0:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                     "loader": loader.state_dict(), "step": step, "losses": losses}
            torch.save(saved, checkpoint + ".new")
            if ranks > 1:
                # Either all ranks have a checkpoint of this step, or none has replaced its older one.
                dist.barrier()
            os.replace(checkpoint + ".new", checkpoint)
        if step == args.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    seconds = time.perf_counter() - begun
    if args.losses:
        pathlib.Path(f"{args.losses}.{rank}" if ranks > 1 else args.losses).write_text(json.dumps(losses))
    if rank == 0:
        print(f"{seconds:.1f} s, {waited / seconds:.1%} of it waiting for batches")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
