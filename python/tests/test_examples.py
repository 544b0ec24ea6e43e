"""The README's lines and the examples, as a person would run them."""

import json
import pathlib
import re
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"


def python(*args, **kwargs):
    return subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True, timeout=400, check=False, **kwargs)


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_lines_of_the_readme(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    for text in blocks:
        done = python("-c", text, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_pipeline_of_the_examples():
    import pipec

    pipe = pipec.load(EXAMPLES / "train.pipe", params={"data": "sample:images?count=100", "batch_size": 10})
    assert len(pipe) == 10 and pipe.schema["image"].shape == (10, 3, 64, 64)
    assert next(iter(pipe))["image"].shape == (10, 3, 64, 64)


def train(tmp_path, losses, *args):
    return python(
        EXAMPLES / "train_torch.py", "--steps", 45, "--size", 32, "--data", "sample:images?count=200",
        "--losses", tmp_path / losses, *args)


def test_training_goes_on_after_a_kill_with_the_same_losses(tmp_path):
    # Issue 6: killed twice, within an epoch of 6 steps, also between two checkpoints.
    pytest.importorskip("torch", reason="PyTorch is not installed")
    whole = train(tmp_path, "whole.json")
    assert whole.returncode == 0, whole.stderr
    checkpoint = ("--checkpoint", tmp_path / "run.pt", "--every", 4)
    assert train(tmp_path, "going.json", *checkpoint, "--kill-at", 14).returncode == -signal.SIGKILL
    assert train(tmp_path, "going.json", *checkpoint, "--kill-at", 33).returncode == -signal.SIGKILL
    going = train(tmp_path, "going.json", *checkpoint)
    assert going.returncode == 0 and "resumed after step 32" in going.stdout, going.stderr
    curves = [json.loads((tmp_path / it).read_text()) for it in ("whole.json", "going.json")]
    assert len(curves[0]) == 45 and curves[0] == curves[1]
    assert sum(curves[0][-10:]) < sum(curves[0][:10])


def gpt(tmp_path, losses, *args, ranks=1):
    many = ("-m", "torch.distributed.run", "--nproc-per-node", ranks) if ranks > 1 else ()
    return python(
        *many, EXAMPLES / "train_gpt.py", "--steps", 30, "--length", 32, "--data", "sample:text?count=400",
        "--losses", tmp_path / losses, *args)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_gpt_goes_on_after_a_kill_with_the_same_losses(tmp_path, ranks):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    whole = gpt(tmp_path, "whole.json", ranks=ranks)
    assert whole.returncode == 0, whole.stderr
    checkpoint = ("--checkpoint", tmp_path / "run.pt", "--every", 4)
    assert gpt(tmp_path, "going.json", *checkpoint, "--kill-at", 14, ranks=ranks).returncode != 0
    going = gpt(tmp_path, "going.json", *checkpoint, ranks=ranks)
    assert going.returncode == 0 and "resumed after step 12" in going.stdout, going.stderr
    for rank in [""] if ranks == 1 else [".0", ".1"]:
        curves = [json.loads((tmp_path / (it + rank)).read_text()) for it in ("whole.json", "going.json")]
        assert len(curves[0]) == 30 and curves[0] == curves[1]
        assert sum(curves[0][-5:]) < sum(curves[0][:5])


def detector(tmp_path, losses, *args):
    return python(
        EXAMPLES / "train_detector.py", "--steps", 40, "--data", "sample:detection?count=60", "--losses", tmp_path / losses, *args)


def test_a_detector_goes_on_after_a_kill_with_the_same_losses(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    whole = detector(tmp_path, "whole.json")
    assert whole.returncode == 0, whole.stderr
    checkpoint = ("--checkpoint", tmp_path / "run.pt", "--every", 4)
    assert detector(tmp_path, "going.json", *checkpoint, "--kill-at", 14).returncode == -signal.SIGKILL
    assert detector(tmp_path, "going.json", *checkpoint, "--kill-at", 31).returncode == -signal.SIGKILL
    going = detector(tmp_path, "going.json", *checkpoint)
    assert going.returncode == 0 and "resumed after step 28" in going.stdout, going.stderr
    curves = [json.loads((tmp_path / it).read_text()) for it in ("whole.json", "going.json")]
    assert len(curves[0]) == 40 and curves[0] == curves[1]
    assert sum(curves[0][-10:]) < sum(curves[0][:10])


def test_jax_learns():
    pytest.importorskip("jax", reason="JAX is not installed")
    done = python(EXAMPLES / "train_jax.py", "--steps", 60, "--data", "sample:images?count=200")
    assert done.returncode == 0, done.stderr
    losses = [float(it) for it in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert len(losses) == 3 and losses[-1] < losses[0]
