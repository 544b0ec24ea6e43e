"""What the tests share."""

import faulthandler
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import pipec

# A test that hangs says where.
faulthandler.enable()

IMAGES = """
edition 2026
pipeline train =
    files("sample:images?count=40")
    |> shuffle
    |> map { image: decode_jpeg(bytes) |> random_resized_crop(32) |> normalize(mean: 0.5, std: 0.25), label: class_of(path), draw: uniform(0.0, 1.0) }
    |> batch(4)
"""
NUMBERS = """
edition 2026
pipeline numbers = range(1000) |> shuffle |> map { i, x: f32(i) + uniform(0.0, 0.5) } |> batch(10)
"""
FIFTEEN = "pipeline p = range(150) |> shuffle |> map { i, x: f32(i) + uniform(0.0, 0.5) } |> batch(10)"
"""As many batches as two or four processes cannot share evenly."""


@pytest.fixture
def numbers():
    return pipec.load(NUMBERS, seed=7, workers=2)


def values(batches, field="i"):
    """The elements of a field, batch by batch."""
    return [it[field].tolist() for it in batches]


def threads():
    """Threads of this process."""
    return len(os.listdir("/proc/self/task"))


def descriptors():
    """Open files of this process."""
    return len(os.listdir("/proc/self/fd"))


def resident():
    """Bytes of memory that this process has."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run(program, *args, timeout=60, **kwargs):
    """Runs a program of Python in a process of its own; gives what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *args],
        capture_output=True, text=True, timeout=timeout, check=False, **kwargs,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
