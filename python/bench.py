"""What Python costs: figures, each beside what it is held against.

    python bench.py next                          # one `next()` into NumPy, of batches that are there
    python bench.py tiny                          # tiny records in batches, records a second
    python bench.py w1 --native ./pipec --data D  # processor time an image, beside `pipec run`, by turns

`w1` runs `benches/w1.pipe` with the native program and through Python in turn, each in a process of its own and with
nothing kept, and compares the processor time of whole processes, start and end left out by the difference of two
lengths. Run it with nothing else on the machine (`taskset -c 0,1`).
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

# The sources beside this file lack the native part: what is installed is meant.
sys.path[:] = [it for it in sys.path if pathlib.Path(it or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import pipec  # noqa: E402

W1 = pathlib.Path(__file__).parent.parent / "benches" / "w1.pipe"


def next_cost(args):
    """Nanoseconds of a `next()` that need not wait: of the batches of a chunk the fastest half."""
    for fields in (1, 2, 4):
        names = ", ".join(f"x{i}: f32(i)" for i in range(fields))
        pipe = pipec.load(f"pipeline p = range(2_000_000) |> map {{ {names} }} |> batch(8)")
        batches = iter(pipe.numpy())
        next(batches)
        clock, took = time.perf_counter_ns, []
        for _ in range(200_000):
            begun = clock()
            next(batches)
            took.append(clock() - begun)
        empty = []
        for _ in range(100_000):
            begun = clock()
            empty.append(clock() - begun)
        clock_cost = statistics.median(empty)
        tell("next", fields=fields, median_ns=statistics.median(took) - clock_cost, p90_ns=statistics.quantiles(took, n=10)[8] - clock_cost)


def tiny(args):
    """Records of 8 bytes, in batches of so many, through NumPy and our own arrays."""
    for form in ("numpy", "own"):
        for rows in (16, 256):
            rates = []
            for _ in range(5):
                pipe = pipec.load(f"pipeline p = range({rows * 300_000}) |> batch({rows})", epochs=1)
                view = iter(pipe.numpy() if form == "numpy" else pipe)
                next(view)
                begun, n = time.perf_counter(), 0
                for batch in view:
                    n += 1
                rates.append(n * rows / (time.perf_counter() - begun))
            tell("tiny", form=form, rows=rows, records_per_second=statistics.median(rates))


# Batches of the short run of `w1`.
FIRST = 40

CONSUMER = """
import sys, pipec
pipe, left = pipec.load(sys.argv[1], params=dict(it.split("=", 1) for it in sys.argv[3:]), epochs=1, workers=2, keep=False), int(sys.argv[2])
for batch in pipe.numpy():
    left -= 1
    if left == 0: break
"""


def cpu(command):
    """Processor time of a process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def w1(args):
    """Processor time an image: that of a long run less that of a short one, by turns, ratio of each pair.

    The short one is as long as it takes until all memory was touched once: a loop in Python holds a batch more.
    """
    sets = [f"data={args.data}"] if args.data else []
    native = lambda n: [args.native, "run", W1, "--limit", str(n), "--workers", "2", "--no-cache", *sum((["--set", it] for it in sets), [])]
    python = lambda n: [sys.executable, "-c", CONSUMER, W1, str(n), *sets]
    ratios, each = [], {"native": [], "python": []}
    for turn in range(args.turns):
        order = [("native", native), ("python", python)][:: 1 if turn % 2 else -1]
        took = {name: cpu(command(args.batches)) - cpu(command(FIRST)) for name, command in order}
        for name, seconds in took.items():
            each[name].append(seconds / ((args.batches - FIRST) * 128) * 1e6)
        ratios.append(took["python"] / took["native"])
    tell("w1", native_us=statistics.median(each["native"]), python_us=statistics.median(each["python"]),
         overhead=statistics.median(ratios) - 1, ratios=[round(it, 4) for it in ratios])


def tell(what, **figures):
    print(json.dumps({"bench": what, **{k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}}), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["next", "tiny", "w1"])
    options.add_argument("--native", default="pipec")
    options.add_argument("--data", help="a folder of JPEGs")
    options.add_argument("--batches", type=int, default=140)
    options.add_argument("--turns", type=int, default=5)
    args = options.parse_args()
    {"next": next_cost, "tiny": tiny, "w1": w1}[args.what](args)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
