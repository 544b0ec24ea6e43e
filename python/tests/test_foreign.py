"""Functions in Python that a pipeline calls: `extern fn`."""

import pickle
import threading

import pytest
from conftest import run, values

import pipec

np = pytest.importorskip("numpy")

HEAD = 'edition 2026\nextern fn f({}) {} -> {} = "ours:f"\n'


def load(text, f=None, formals="i: i64", result="i64", effects="", **kwargs):
    functions = {} if f is None else {"f": f}
    return pipec.load(HEAD.format(formals, effects, result) + text, functions=functions, **kwargs)


PICTURES = """pipeline p = range(24) |> map { image: plasma(i, 6 + i32(i) % 3, 8) } |> map { image: f(image) } |> with { h: extent(image, 0) }"""


def test_a_function_is_called_with_the_values_of_each_record():
    pipe = load("pipeline p = range(10) |> map { y: f(i, 3) + 1 } |> batch(5)", lambda i, k: i * k, "i: i64, k: i64")
    assert values(pipe, "y") == [[1, 4, 7, 10, 13], [16, 19, 22, 25, 28]]


@pytest.mark.parametrize("dtype", "u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64 bool".split())
def test_every_dtype_goes_in_and_out(dtype):
    seen = []

    def f(x, one):
        seen.append((x.dtype, type(one)))
        return x[::-1]

    text = f"pipeline p = range(6) |> map {{ x: {dtype}([i, i + 1, i + 2]), one: {dtype}(i) }} |> map {{ y: f(x, one) }} |> batch(6)"
    if dtype == "bool":
        text = text.replace("bool([i, i + 1, i + 2])", "[i > 1, i > 2, i > 3]").replace("bool(i)", "i > 1")
    got = next(iter(load(text, f, f"x: {dtype}[n], one: {dtype}", f"{dtype}[n]").numpy()))["y"]
    if dtype == "bool":
        expected = (np.arange(6)[:, None] > np.array([1, 2, 3]))[:, ::-1]
    else:
        expected = (np.arange(6)[:, None] + np.array([2, 1, 0])).astype(got.dtype)
    assert (got == expected).all() and got.dtype == expected.dtype
    kind = bool if dtype == "bool" else float if dtype.startswith("f") else int
    assert {it[0] for it in seen} == {got.dtype} and {it[1] for it in seen} == {kind}


def test_numbers_and_texts_of_python_itself_are_taken():
    pipe = load('pipeline p = range(3) |> map { s: f("n", i) }', lambda s, i: s * i, "s: str, i: i64", "str")
    assert next(iter(pipe))["s"].tolist() == ["", "n", "nn"]
    pipe = load("pipeline p = range(3) |> map { x: f(i) } |> batch(3)", lambda i: i / 2, result="f32")
    assert values(pipe, "x") == [[0.0, 0.5, 1.0]]
    pipe = load('pipeline p = range(2) |> map { b: f(i) }', lambda i: b"\x00" * i, result="bytes")
    assert next(iter(pipe))["b"].tolist() == [b"", b"\x00"]


def test_an_array_is_the_functions_to_change_and_to_keep():
    kept = []

    def f(image):
        kept.append(image)
        image += 1
        return image

    pipe = load(PICTURES, f, "image: u8[h, w, 3]", "u8[h, w, 3]", workers=2, epochs=1)
    block = next(iter(pipe.numpy()))
    assert block["h"].tolist() == [6 + i % 3 for i in range(24)]
    images = [np.asarray(it) for it in block["image"]]
    assert len(kept) == 24 and all((a == b).all() for a, b in zip(images, kept))
    plain = pipec.load("edition 2026\n" + PICTURES.replace("f(image)", "image"))
    before = [np.asarray(it) for it in next(iter(plain.numpy()))["image"]]
    assert all((a == b + np.uint8(1)).all() for a, b in zip(images, before))


@pytest.mark.parametrize("workers", [1, 3])
def test_random_numbers_follow_from_seed_epoch_and_record(workers):
    def f(i, seed):
        return int(np.random.default_rng(seed).integers(1 << 40))

    text = "pipeline p = range(200) |> shuffle |> map { i, r: f(i), again: f(i) } |> batch(10)"
    pipe = load(text, f, effects="random", seed=3, workers=workers)
    epochs = [{i: (r, s) for b in pipe.numpy() for i, r, s in zip(*(b[it].tolist() for it in ("i", "r", "again")))} for _ in range(2)]
    assert len({it for epoch in epochs for pair in epoch.values() for it in pair}) == 800
    one = load(text, f, effects="random", seed=3, workers=1)
    assert {i: (r, s) for b in one.numpy() for i, r, s in zip(*(b[it].tolist() for it in ("i", "r", "again")))} == epochs[0]


def test_it_goes_on_where_it_stood():
    text = "pipeline p = range(100) |> shuffle |> map { y: f(i) } |> batch(5)"
    pipe = load(text, lambda i, seed: seed % 1000 + i, effects="random", workers=2)
    batches = iter(pipe)
    begun = [next(batches)["y"].tolist() for _ in range(7)]
    state = pipe.state_dict()
    rest = values(batches, "y")
    other = load(text, lambda i, seed: seed % 1000 + i, effects="random", workers=1)
    other.load_state_dict(state)
    assert values(other, "y") == rest and len(begun) + len(rest) == 20


def test_an_exception_is_a_fault_that_tells_its_traceback():
    def inner(i):
        raise ValueError(f"{i} is too blue")

    pipe = load("pipeline p = range(9) |> map { y: f(i) } |> batch(3)", lambda i: inner(i) if i == 4 else i)
    batches = iter(pipe)
    assert next(batches)["y"].tolist() == [0, 1, 2]
    with pytest.raises(pipec.RecordError) as caught:
        list(batches)
    error = caught.value
    assert error.code == "python" and error.place.startswith("<program>:3:")
    assert "`f` raised ValueError: 4 is too blue" in str(error) and "in inner" in str(error)
    assert isinstance(error.__cause__, ValueError)


def test_a_fault_is_dealt_with_as_the_program_says(tmp_path):
    def f(i):
        if i % 10 == 3:
            raise KeyError(i)
        return i

    quarantine = tmp_path / "bad.jsonl"
    text = "pipeline p = range(30) |> map { y: f(i) else skip(most: 0.5) } |> batch(27)"
    assert values(load(text, f, quarantine=quarantine, epochs=1), "y") == [[i for i in range(30) if i % 10 != 3]]
    assert len(quarantine.read_text().splitlines()) == 3
    text = "pipeline p = range(30) |> map { y: f(i) else -1 } |> batch(30)"
    assert values(load(text, f), "y") == [[-1 if i % 10 == 3 else i for i in range(30)]]


@pytest.mark.parametrize(
    "given, says",
    [
        (lambda x: x.astype("f8"), "`f` returned f64[3], but it is declared as f32[3]"),
        (lambda x: x[:2], "`f` returned f32[2], but it is declared as f32[3]"),
        (lambda x: x[None], "`f` returned f32[1, 3], but it is declared as f32[3]"),
        (lambda x: None, "object"),
        (lambda x: "text", "`f` returned str, but it is declared as f32[3]"),
        (lambda x: x + 1j, "complex"),
    ],
)
def test_what_is_given_is_what_was_declared(given, says):
    pipe = load("pipeline p = range(3) |> map { y: f(f32([i, i, i])) } |> batch(3)", given, "x: f32[n]", "f32[n]")
    with pytest.raises(pipec.RecordError) as caught:
        list(pipe)
    assert says in str(caught.value), str(caught.value)


def test_a_whole_number_is_not_rounded_nor_wrapped():
    text = "pipeline p = range(3) |> map { y: f(i) } |> batch(3)"
    for given, says in ((lambda i: 0.5, "TypeError"), (lambda i: 300, "OverflowError")):
        with pytest.raises(pipec.RecordError, match=says):
            list(load(text, given, result="u8"))


def test_functions_are_imported_from_where_the_declaration_says(tmp_path, monkeypatch):
    (tmp_path / "ours_of_test.py").write_text("class Box:\n    @staticmethod\n    def twice(i):\n        return 2 * i\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = 'edition 2026\nextern fn twice(i: i64) -> i64 = "ours_of_test:Box.twice"\npipeline p = range(4) |> map { y: twice(i) } |> batch(4)'
    assert values(pipec.load(text), "y") == [[0, 2, 4, 6]]
    with pytest.raises(pipec.RunError, match="(?s)cannot find the function `f`: `ours:f`: ModuleNotFoundError.*functions="):
        list(load("pipeline p = range(4) |> map { y: f(i) }"))
    with pytest.raises(pipec.ArgumentError, match="`g`.*it calls `f`"):
        pipec.load(HEAD.format("i: i64", "", "i64") + "pipeline p = range(4) |> map { y: f(i) }", functions={"g": print})


def test_only_a_pure_one_is_kept_from_epoch_to_epoch():
    for effects, target, calls in (("", "ours:f", 60), ("pure", "ours:f@1", 20)):
        seen = []
        text = f'edition 2026\nextern fn f(image: u8[h, w, 3]) {effects} -> u8[h, w, 3] = "{target}"\n'
        text += "pipeline p = range(20) |> map { x: f(plasma(i, 64, 64)) } |> batch(5)"
        pipe = pipec.load(text, functions={"f": lambda it: seen.append(1) or it}, epochs=3)
        for _ in range(3):
            assert len(list(pipe)) == 4
        assert len(seen) == calls, effects


def test_calls_come_one_at_a_time_and_see_each_record_once():
    inside, most, seen = [], [], []

    def f(i):
        inside.append(i)
        most.append(len(inside))
        seen.append(i)
        inside.pop()
        return i

    pipe = load("pipeline p = range(5000) |> map { y: f(i) } |> shuffle(window: 64) |> batch(10)", f, workers=4, epochs=1)
    assert sorted(i for b in pipe for i in b["y"].tolist()) == list(range(5000))
    assert sorted(seen) == list(range(5000)) and max(most) == 1


def test_where_it_hangs_on_a_condition_it_is_called_there():
    seen = []
    text = "pipeline p = range(20) |> map { y: if i % 2 == 0 then f(i) else -i } |> batch(20)"
    assert values(load(text, lambda i: seen.append(i) or 10 * i, epochs=1), "y") == [[10 * i if i % 2 == 0 else -i for i in range(20)]]
    assert sorted(seen) == list(range(0, 20, 2))
    text = "pipeline p = range(4) |> map { y: [f(i * k) for k in arange(3)] } |> batch(4)"
    assert values(load(text, lambda i: i + 1), "y") == [[[1, 1, 1], [1, 2, 3], [1, 3, 5], [1, 4, 7]]]


def test_others_run_while_it_waits_and_threads_end():
    before = threading.active_count()
    gate = threading.Event()
    pipe = load("pipeline p = range(40) |> map { y: f(i) } |> batch(4)", lambda i: gate.wait(10) and i, result="i64", workers=2)
    batches = iter(pipe)
    threading.Timer(0.05, gate.set).start()
    assert next(batches)["y"].tolist() == [0, 1, 2, 3]
    del batches, pipe
    assert threading.active_count() <= before + 1


def test_explain_says_what_python_costs():
    pipe = load("pipeline p = range(100) |> map { y: f(i) } |> batch(4)", lambda i: i)
    assert "`extern f` holds the GIL" in pipe.explain()
    assert "called one at a time under the GIL" in pipe.explain(verbose=True)


def test_a_pipeline_with_functions_is_pickled_with_them():
    pipe = pickle.loads(pickle.dumps(load("pipeline p = range(4) |> map { y: f(i) } |> batch(4)", abs)))
    assert values(pipe, "y") == [[0, 1, 2, 3]]


def test_a_process_ends_while_functions_are_called_for_the_next_epoch():
    # The pipeline stands in the module, as in a script, and goes when the interpreter does.
    program = """
        import time, pipec
        text = 'extern fn f(i: i64) -> i64 = "ours:f"\\npipeline p = range(2000) |> map { y: f(i) } |> batch(4)'
        pipe = pipec.load(text, functions={"f": lambda i: time.sleep(0.0001) or i})
        for batch in pipe:
            pass
        print("done")
    """
    assert run(program, timeout=30) == "done\n"
