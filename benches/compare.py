#!/usr/bin/env python3
"""Runs one of our pipelines and a peer in turn, and prints both sides and the ratio of each pair.

    benches/compare.py PIPEC PEERS w1 --pairs 5        PEERS: the folder with tfdata.py, run with PEER_PYTHON

The peer prints one JSON line with items_per_s and cpu_ms_per_item; ours is `pipec run --json`. Nothing else may
run meanwhile. Standard library only.
"""
import argparse, json, os, resource, statistics, subprocess, sys


def ours(pipec, workload, limit):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    here = os.path.dirname(os.path.abspath(__file__))
    command = [pipec, "run", f"{here}/{workload}.pipe", "--limit", str(limit), "--json"]
    summary = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=f"{here}/..").stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "items_per_s": summary["records_per_second"],
        "cpu_ms_per_item": cpu / summary["records"] * 1e3,
        "first_batch_s": summary["first_batch_seconds"],
        "peak_rss_mb": summary["memory_peak"] / 1e6,
    }


def peer(folder, workload, seconds):
    command = [os.environ.get("PEER_PYTHON", sys.executable), "tfdata.py", "--workload", workload.upper(),
               "--workers", "2", "--seconds", str(seconds)]
    lines = subprocess.run(command, check=True, capture_output=True, cwd=folder, text=True).stdout.splitlines()
    return json.loads([it for it in lines if it.startswith("{")][-1])


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("pipec"), arguments.add_argument("peers"), arguments.add_argument("workload")
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--limit", type=int, default=60, help="our batches")
    arguments.add_argument("--seconds", type=float, default=5, help="the peer's measured time")
    it = arguments.parse_args()
    rows = []
    for _ in range(it.pairs):
        a, b = ours(it.pipec, it.workload, it.limit), peer(it.peers, it.workload, it.seconds)
        rows.append((a, b))
        print(f"ours {a['items_per_s']:8.0f}/s {a['cpu_ms_per_item']:.3f} ms  peer {b['items_per_s']:8.0f}/s "
              f"{b['cpu_ms_per_item']:.3f} ms  ratio {a['items_per_s'] / b['items_per_s']:.2f}", flush=True)
    for name in ["items_per_s", "cpu_ms_per_item", "first_batch_s", "peak_rss_mb"]:
        for side, k in [("ours", 0), ("peer", 1)]:
            all = [row[k][name] for row in rows]
            print(f"{name:16} {side} median {statistics.median(all):10.3f}  [{min(all):.3f} .. {max(all):.3f}]")
    ratios = [a["items_per_s"] / b["items_per_s"] for a, b in rows]
    print(f"ratio of rates   median {statistics.median(ratios):.2f}  [{min(ratios):.2f} .. {max(ratios):.2f}]")


if __name__ == "__main__":
    main()
