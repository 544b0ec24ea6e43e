"""The Python of the cookbook and of the tutorial, as a reader would run it."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

import pipec

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def blocks(page):
    """The fenced blocks of a page: what is written behind the fence, and the text."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", (DOCS / page).read_text(), re.S | re.M)


def python(*args, cwd, **env):
    return subprocess.run(
        [sys.executable, *map(str, args)],
        cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=400, check=False)


RECIPES = [text for tag, text in blocks("COOKBOOK.md") if tag == "python"]


@pytest.mark.parametrize("recipe", RECIPES, ids=[re.search(r"pipeline (\w+)", it)[1] for it in RECIPES])
def test_a_recipe_runs(recipe, tmp_path):
    pytest.importorskip("numpy", reason="NumPy is not installed")
    (tmp_path / "recipe.py").write_text(recipe)
    done = python("recipe.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_recipes():
    assert len(RECIPES) >= 3


def test_formats_of_other_libraries_are_read(tmp_path):
    pytest.importorskip("numpy", reason="NumPy is not installed")
    pytest.importorskip("PIL", reason="Pillow is not installed")
    [recipe] = [text for tag, text in blocks("COOKBOOK.md") if tag == "python pillow"]
    (tmp_path / "recipe.py").write_text(recipe)
    done = python("recipe.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ranks_of_the_cookbook_share_the_batches(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    [recipe] = [text for tag, text in blocks("COOKBOOK.md") if tag == "python ranks"]
    (tmp_path / "train.py").write_text(recipe)
    done = python("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, "train.py",
                  cwd=tmp_path, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert said == ["rank 0: 16 batches", "rank 1: 16 batches"]


def fits(line, promised):
    """Whether a line is as promised, where `…` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, promised.split("…"))), line) is not None


def test_the_tutorial_goes_on_after_a_kill(tmp_path):
    pytest.importorskip("numpy", reason="NumPy is not installed")
    # As `pipec sample images photos --count 100` does.
    made = pipec.load('pipeline made = files("sample:images?count=100")', workers=2)
    for block in made:
        for path, data in zip(block["path"].tolist(), block["bytes"].tolist()):
            image = tmp_path.joinpath("photos", *pathlib.Path(path).parts[-2:])
            image.parent.mkdir(parents=True, exist_ok=True)
            image.write_bytes(data)

    told, printed, promised_lines = [], None, 0
    for tag, text in blocks("TUTORIAL.md"):
        if tag in ("pipe", "python"):
            (tmp_path / {"pipe": "train.pipe", "python": "train.py"}[tag]).write_text(text)
        elif tag.startswith("sh"):
            printed = None
            match = re.fullmatch(r"((?:\w+=\S+ )*)python (\S+)\n", text)
            if match:
                env = dict(it.split("=") for it in match[1].split())
                done = python(match[2], cwd=tmp_path, **env)
                expected = -signal.SIGKILL if tag == "sh fails" else 0
                assert done.returncode == expected, done.stdout + done.stderr
                printed = done.stdout.splitlines()
                told.append(printed)
        elif tag == "text" and printed is not None:
            for promised in text.splitlines():
                assert any(fits(line, promised) for line in printed), (promised, printed)
                promised_lines += 1
    killed, resumed, whole = told
    assert promised_lines >= 9
    # Killed and resumed, it prints what nobody killed prints, digit for digit.
    assert killed + resumed[1:] == whole
    losses = [float(line.rsplit(" ", 1)[1]) for line in whole]
    assert losses[-1] < losses[0]
