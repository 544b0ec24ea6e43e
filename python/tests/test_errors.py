"""What goes wrong is an exception with a code that says what to do."""

import pickle
import signal
import threading
import time

import pytest
from conftest import IMAGES, run, threads

import pipec


def test_mistakes_of_a_program_are_drawn_with_code_and_span():
    with pytest.raises(pipec.CompileError) as caught:
        pipec.load("pipeline p =\n    range(10)\n    |> btch(2)\n    |> map { x: f32(j) }\n")
    error = caught.value
    assert error.code == "PC0107" and error.span.line == 3 and error.span.column == 8
    assert (error.span.end_line, error.span.end_column) == (3, 12)
    assert "did you mean `batch`?" in str(error) and "╭─[<program>:3:8]" in str(error)
    assert error.diagnostics[0].is_error and error.diagnostics[0].message
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.span, str(again)) == (error.code, error.span, str(error))


def test_a_parameter_that_is_not_set():
    with pytest.raises(pipec.CompileError, match="data") as caught:
        pipec.load('param data: path\npipeline p = files("{data}/*.jpg") |> map { path } ')
    assert caught.value.code == "PC0161"


def test_parameters_of_every_kind():
    text = "param n = 3\nparam x = 0.5\nparam on = true\npipeline p = range(n) |> map { x: f32(i) * x, on } |> batch(n)"
    batch = next(iter(pipec.load(text, params={"n": 2, "x": 0.25, "on": False})))
    assert batch["x"].tolist() == [0.0, 0.25] and batch["on"].tolist() == [False, False]


def test_warnings_are_warnings():
    text = "pipeline p = range(10) |> map { x: f32(i) } |> batch(20)"
    with pytest.warns(pipec.PipecWarning) if _warns(text) else _nothing():
        pipec.load(text)


def _warns(text):
    import warnings

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pipec.load(text)
    return bool(seen)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_a_file_that_is_not_there_names_those_that_are(tmp_path):
    (tmp_path / "train.pipe").write_text(IMAGES)
    with pytest.raises(pipec.InputError, match="train.pipe") as caught:
        pipec.load(tmp_path / "trian.pipe")
    assert isinstance(caught.value, OSError)


def test_a_damaged_picture_names_itself(tmp_path):
    # Pain 9.
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "torn.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    text = 'param data: path\npipeline p = files("{data}/**/*.jpg") |> map { image: decode_jpeg(bytes) POLICY |> resize(8, 8) } |> batch(1, tail: keep)'
    with pytest.raises(pipec.RecordError, match="torn.jpg") as caught:
        list(pipec.load(text.replace("POLICY", ""), params={"data": tmp_path}))
    assert caught.value.record.endswith("a/torn.jpg") and caught.value.code and caught.value.place
    quarantine = tmp_path / "bad.jsonl"
    skipping = pipec.load(
        text.replace("POLICY", "else skip(most: 1.0)"), params={"data": tmp_path}, quarantine=quarantine, epochs=1)
    assert list(skipping) == []
    assert "torn.jpg" in quarantine.read_text()
    assert sum(it["records"] for it in skipping.stats()["lost"].values()) == 1


def test_a_torn_mask_is_named_beside_its_picture(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"whatever")
    (tmp_path / "a.mask").write_bytes(b"no picture")
    text = 'param data: path\npipeline p = paths("{data}/*.jpg") |> map { mask: decode_jpeg(read_file(sibling(path, ".mask"))) }'
    with pytest.raises(pipec.RecordError, match="a.mask") as caught:
        list(pipec.load(text, params={"data": tmp_path}))
    assert caught.value.record.endswith("a.jpg") and caught.value.file.endswith("a.mask")


def test_a_field_that_there_is_not_is_told_with_those_that_there_are():
    pipe = pipec.load("pipeline p = range(4) |> map { image: i, label: i } |> batch(2)")
    for batch in [*pipe, *pipe.numpy()]:
        with pytest.raises(KeyError, match="did you mean `image`.*`image`, `label`") as caught:
            batch["imge"]
        assert isinstance(caught.value, pipec.PipecError) and caught.value.code == "PC0706"
        assert isinstance(batch, dict) and batch.get("imge") is None and "imge" not in batch
        assert pickle.loads(pickle.dumps(dict(batch))).keys() == batch.keys()


def test_hints_name_arguments_in_place_of_flags():
    with pytest.raises(pipec.CompileError, match=r"params=\{\"data\": …\}") as caught:
        pipec.load('param data: path\npipeline p = files("{data}/*.jpg")')
    assert "--set" not in str(caught.value) and "params=" in caught.value.diagnostics[0].help


def test_ranks_that_get_nothing_are_warned_of():
    pipe = pipec.load("pipeline p = range(40) |> batch(10)", rank=7, world_size=9)
    with pytest.warns(pipec.PipecWarning, match="none of the 9 ranks gets a batch"):
        assert list(pipe) == []


@pytest.mark.parametrize("told,said", [
    ({"rank": 2, "world": 2}, "rank 2 is out of range for world size 2"),
    ({"rank": 2, "world_size": 2}, "rank 2 is out of range for world size 2"),
    ({"rank": 0, "world_size": 2, "world": 3}, "former name `world` is 3"),
    ({"rank": 0}, "set together"),
    ({"workers": 0}, "workers"),
    ({"memory": "2 bananas"}, "2GiB"),
    ({"seed": -1}, "seed"),
    ({"rows": 0.5}, "integer"),
    ({"objective": "fast"}, "`objective`: expected time, rate, bytes@RATE, .*, found `fast`"),
    ({"objective": "cost@3"}, "prices of an hour and of a GB-month"),
    ({"objective": 4000}, "`objective` must be text such as"),
])
def test_wrong_arguments(told, said):
    with pytest.raises(pipec.ArgumentError, match=said) as caught:
        pipec.load("pipeline p = range(10) |> batch(2)", **told)
    assert caught.value.code == "PC0704"


def test_an_objective_that_cannot_be():
    pipe = pipec.load("pipeline p = range(10) |> batch(2)")
    for wrong in (lambda: pipe.explain(objective="bytes@"), lambda: pipe.tune(1.0, objective="bytes@")):
        with pytest.raises(ValueError, match="expected records per second after `@`.*, found `bytes@`"):
            wrong()


def test_a_length_that_only_reading_tells():
    pipe = pipec.load("pipeline p = range(10) |> where i % 3 == 0 |> batch(2)")
    with pytest.raises(TypeError, match="PC0703"):
        len(pipe)
    assert len(list(pipe)) == 2


@pytest.mark.parametrize("text,n", [
    ("range(10) |> batch(3)", 3),
    ("range(10) |> batch(3, tail: keep)", 4),
    ("range(10) |> shuffle |> map { x: f32(i) } |> batch(3, tail: mask)", 4),
    ("range(10) |> take(7) |> repeat(3) |> batch(2)", 10),
    ("range(10) |> skip(4) |> shuffle(window: 3) |> batch(2)", 3),
    ("zip({ a: range(4), b: range(4) }) |> batch(2)", 2),
    ("range(10)", 1),
])
def test_lengths(text, n):
    pipe = pipec.load(f"pipeline p = {text}")
    assert len(pipe) == n == len(list(pipe))


def test_an_iterator_that_was_overtaken(numbers):
    first = iter(numbers)
    next(first)
    second = iter(numbers)
    next(second)
    with pytest.raises(pipec.IterationError, match="PC0702"):
        next(first)
    assert len(list(second)) == 99 and list(second) == []


SLOW = "pipeline p = range(100_000_000) |> map { x: i } |> where hash(text_of(x)) == 1 |> batch(1)"


def test_ctrl_c_ends_the_waiting_at_once():
    # Pain 33: nothing is left behind that the next run would trip over, for there is nothing to leave.
    program = f"""
        import os, signal, threading, time, pipec
        # What is started in the background of a shell ignores it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        pipe = pipec.load({SLOW!r})
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        try:
            next(iter(pipe))
        except KeyboardInterrupt:
            waited = time.monotonic() - begun
        del pipe
        time.sleep(0.05)
        timer.join()
        print(waited, len(os.listdir("/proc/self/task")))
    """
    waited, left = run(program).split()
    # Far less than the pipeline would take; how long exactly, is up to what else the machine does.
    assert float(waited) < 20 and int(left) == 1


def test_others_run_while_somebody_waits():
    # Pain 11: a thread of Python counts while the main thread waits for a batch.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe = pipec.load(SLOW)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    def interrupt():
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    counter = threading.Thread(target=count, daemon=True)
    interrupter = threading.Thread(target=interrupt, daemon=True)
    counter.start()
    interrupter.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(iter(pipe))
        during = counted[0]
    finally:
        stop.set()
        counter.join()
        interrupter.join()
        signal.signal(signal.SIGINT, before)
    assert during > 10_000


def test_an_iterator_dropped_half_way_leaves_no_thread():
    before = threads()
    for _ in range(20):
        pipe = pipec.load(IMAGES, workers=2)
        next(iter(pipe))
        assert threads() > before
        del pipe
        # The system lists a thread for a moment after it has ended.
        until = time.monotonic() + 5
        while threads() > before and time.monotonic() < until:
            time.sleep(0.001)
        assert threads() == before


def test_threads_may_share_an_iterator(numbers):
    seen, batches = [], iter(numbers)

    def take():
        for batch in batches:
            seen.append(batch["i"].tolist())

    takers = [threading.Thread(target=take) for _ in range(4)]
    for it in takers:
        it.start()
    for it in takers:
        it.join()
    assert sorted(i for it in seen for i in it) == list(range(1000))
