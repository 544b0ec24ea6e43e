"""Functions in Python that are called in processes of their own: `pipec.load(…, processes=)`."""

import os
import sys
import time

import pytest
from conftest import values

import pipec

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="`processes=` needs Linux")

FUNCTIONS = """
import os
import numpy as np

def back(x, one):
    return x[::-1]

def darker(image):
    image //= 2
    return image

def drawn(i, seed):
    return int(np.random.default_rng(seed).integers(1 << 40))

def times(s, i):
    return s * i

def where(i):
    return os.getpid()

def inner(i):
    raise ValueError(f"{i} is too blue")

def picky(i):
    return inner(i) if i == 4 else i

def fatal(i):
    if i % 10 == 3:
        os.kill(os.getpid(), 9)
    return i

def half(i):
    return i / 2

def chatty(i):
    print("seen", i)
    return i
"""


@pytest.fixture
def ours(tmp_path, monkeypatch):
    (tmp_path / "ours_elsewhere.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("ours_elsewhere", None)


def load(text, name, formals="i: i64", result="i64", effects="", processes=2, **kwargs):
    head = f'edition 2026\nextern fn f({formals}) {effects} -> {result} = "ours_elsewhere:{name}"\n'
    return pipec.load(head + text, processes=processes, **kwargs)


def is_there(pid):
    return os.path.exists(f"/proc/{pid}")


PICTURES = "pipeline p = range(24) |> map { image: plasma(i, 6 + i32(i) % 3, 8) } |> map { image: f(image) }"
CASES = [
    (PICTURES, ("darker", "image: u8[h, w, 3]", "u8[h, w, 3]"), "image"),
    ("pipeline p = range(200) |> shuffle |> map { y: f(i) } |> batch(10)", ("drawn", "i: i64", "i64", "random"), "y"),
    ('pipeline p = range(30) |> map { y: f("ü", i) }', ("times", "s: str, i: i64", "str"), "y"),
    ("pipeline p = range(30) |> map { y: f(i) } |> batch(3)", ("half", "i: i64", "f32"), "y"),
] + [
    (f"pipeline p = range(6) |> map {{ x: {it}([i, i + 1, i + 2]), one: {it}(i) }} |> map {{ y: f(x, one) }} |> batch(6)",
     ("back", f"x: {it}[n], one: {it}", f"{it}[n]"), "y")
    for it in "u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64".split()
]


@pytest.mark.parametrize("text, of, field", CASES)
def test_what_comes_is_what_comes_without(ours, text, of, field):
    both = []
    for processes, workers in ((0, 1), (2, 3)):
        pipe = load(text, *of, processes=processes, workers=workers, seed=5, epochs=1)
        blocks = [b[field] for b in pipe.numpy()]
        both.append([np.asarray(x).tolist() for b in blocks for x in b])
    assert both[0] == both[1] and both[0]


def test_each_has_its_own_process_which_ends_with_the_pipeline(ours):
    pipe = load("pipeline p = range(400) |> map { y: f(i) } |> batch(10)", "where", workers=4)
    pids = {it for epoch in range(2) for b in values(pipe, "y") for it in b}
    assert 1 <= len(pids) <= 2 and os.getpid() not in pids and all(map(is_there, pids))
    pipe.close()
    del pipe
    until = time.monotonic() + 5
    while any(map(is_there, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(is_there, pids))


def test_an_exception_is_told_with_where_it_was_raised(ours):
    pipe = load("pipeline p = range(9) |> map { y: f(i) } |> batch(3)", "picky")
    with pytest.raises(pipec.RecordError) as caught:
        list(pipe)
    error = caught.value
    assert error.code == "python" and error.place.startswith("<program>:3:")
    assert "`f` raised ValueError: 4 is too blue" in str(error) and "in inner" in str(error)
    assert "_process.py" not in str(error)
    # The process goes on.
    assert values(load("pipeline p = range(9) |> map { y: f(i) else -1 } |> batch(9)", "picky"), "y") == [
        [0, 1, 2, 3, -1, 5, 6, 7, 8]
    ]


def test_a_process_that_dies_costs_its_record_alone(ours):
    text = "pipeline p = range(30) |> map { y: f(i) else -1 } |> batch(30)"
    assert values(load(text, "fatal"), "y") == [[-1 if i % 10 == 3 else i for i in range(30)]]
    with pytest.raises(pipec.RecordError, match="the process that called `f` was killed"):
        list(load("pipeline p = range(30) |> map { y: f(i) } |> batch(30)", "fatal"))


def test_what_cannot_be_found_or_handed_over_is_told_at_the_start(ours):
    text = "pipeline p = range(4) |> map { y: f(i) } |> batch(2)"
    with pytest.raises(pipec.RunError, match="(?s)cannot find the function `f`: `ours_elsewhere:none`: AttributeError.*functions="):
        list(load(text, "none"))
    with pytest.raises(pipec.RunError, match="(?s)`f` cannot be pickled for another process.*remove `processes=`"):
        list(load(text, "none", functions={"f": lambda i: i}))
    assert values(load(text, "none", functions={"f": abs}), "y") == [[0, 1], [2, 3]]


def test_what_is_printed_comes_out(ours, capfd):
    assert len(values(load("pipeline p = range(4) |> map { y: f(i) } |> batch(2)", "chatty", epochs=1), "y")) == 2
    assert sorted(capfd.readouterr().out.split()) == sorted("seen 0 seen 1 seen 2 seen 3".split())


def test_explain_says_where_it_is_called(ours):
    text = "pipeline p = range(100) |> map { y: f(i) } |> batch(4)"
    told = load(text, "half", processes=3).explain(verbose=True)
    assert "`extern f` is called in 3 processes" in told and "GIL" not in told
    assert load(text, "half", processes=0).explain(verbose=True).count("GIL") >= 1


def test_nothing_is_left_open(ours):
    text = "pipeline p = range(4) |> map { y: f(i) } |> batch(2)"
    once = lambda: values(load(text, "where", processes=1), "y")
    once()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        once()
    assert len(os.listdir("/proc/self/fd")) <= before
    with pytest.raises(pipec.ArgumentError, match="`processes` must be .*found -1"):
        load(text, "where", processes=-1)
