"""Constants of streams: computed when a program is loaded."""

import signal
import time

import numpy as np
import pytest

import pipec

PROGRAM = """
pipeline rides = range(1000) |> map { x: [f64(i % 17) + 1e9, f64(i * i % 31)], zone: i % 3 }
const SEEN = rides |> moments(of: x)
const ZONES = rides |> count(by: zone, classes: 3)
pipeline train = rides |> map { x, scaled: (x - SEEN.mean) / SEEN.std, n: ZONES[zone] } |> batch(1000)
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_becomes_a_value(workers):
    [batch] = pipec.load(PROGRAM, name="train", workers=workers).numpy()
    x = np.asarray(batch["x"])
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(batch["scaled"], scaled, rtol=1e-6, atol=1e-6)
    assert np.asarray(batch["n"]).tolist() == [[334, 333, 333][i % 3] for i in range(1000)]


def test_what_goes_wrong_is_said_of_the_constant():
    with pytest.raises(pipec.CompileError, match="cannot compute the constant `ZONES`"):
        pipec.load(PROGRAM.replace("classes: 3", "classes: 2"), name="train")


def test_a_signal_ends_it():
    """A stream that would go on for hours is left by Ctrl-C."""

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    since = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            pipec.load(
                "const N = range(1_000_000_000_000) |> moments(of: i)\n"
                "pipeline p = range(9) |> map { x: f64(i) - N.mean } |> batch(3)"
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - since < 20
