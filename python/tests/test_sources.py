"""Sources in Python: what `extern pipeline` declares."""

import gc
import os
import pickle
import sys
import time
import types
import warnings

import numpy as np
import pytest
from conftest import run, values

import pipec

DOCS = """
edition 2026
extern pipeline docs(split: str = "train", n: i64 = 40) -> { text: str, id: i64, x: f32[2, ?] } = "ours.data:Docs"
pipeline p = docs() |> shuffle |> map { id, text, sum: sum(x) } |> batch(4)
"""
LINES = """
edition 2026
extern pipeline numbers(n: i64 = 30) -> { i: i64 } = "ours.data:Numbers"
pipeline p = numbers() |> map { i, u: uniform(0.0, 1.0) } |> batch(4)
"""


class Docs:
    """Records by number; the fields that nobody has declared are no matter."""

    made = []

    def __init__(self, split, n):
        self.split, self.n, self.asked = split, n, []
        Docs.made.append(self)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.asked.append(i)
        if not 0 <= i < self.n:
            raise IndexError(i)
        return {"id": i, "text": f"{self.split} {i}", "x": np.full((2, i % 3), i, "f4"), "more": object()}


class Numbers:
    """Records in order."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return ({"i": i} for i in range(self.n))


class Stateful(Numbers):
    """The same with a state of its own, as torchdata has it."""

    loaded = []

    def __init__(self, n):
        super().__init__(n)
        self.at = 0

    def __iter__(self):
        while self.at < self.n:
            self.at += 1
            yield {"i": self.at - 1}
        self.at = 0

    def state_dict(self):
        return {"at": self.at, "more": ["é"]}

    def load_state_dict(self, state):
        Stateful.loaded.append(state["at"])
        self.at = state["at"]


class OfIterator(Numbers):
    """The same, where the iterator has it."""

    begun = 0

    class Iterator:
        def __init__(self, n):
            self.n, self.at = n, 0
            OfIterator.begun += 1

        def __iter__(self):
            return self

        def __next__(self):
            if self.at == self.n:
                raise StopIteration
            self.at += 1
            return {"i": self.at - 1}

        def state_dict(self):
            return {"at": self.at}

        def load_state_dict(self, state):
            self.at = state["at"]

    def __iter__(self):
        return self.Iterator(self.n)


def load(text, source, given, **told):
    return pipec.load(text, functions={source: given}, **told)


def rows(pipe):
    return [(id, text, total) for it in pipe for id, text, total in zip(it["id"].tolist(), it["text"], it["sum"].tolist())]


def test_an_object_with_a_length_is_shuffled_as_a_whole():
    pipe = load(DOCS, "docs", Docs, seed=3)
    first, second = rows(pipe), rows(pipe)
    assert sorted(first) == sorted(second) == sorted((i, f"train {i}", 2.0 * i * (i % 3)) for i in range(40))
    assert first != second and first != sorted(first) and len(pipe) == 10
    for told in [{"workers": 1}, {"workers": 3}, {"rows": 7}]:
        assert rows(load(DOCS, "docs", Docs, seed=3, **told)) == first


def test_it_resumes_at_the_batch_and_asks_for_no_more():
    pipe = load(DOCS, "docs", Docs, seed=3)
    whole = rows(pipe)
    begun = load(DOCS, "docs", Docs, seed=3)
    batches = iter(begun)
    taken = [next(batches) for _ in range(3)]
    rest = load(DOCS, "docs", Docs, seed=3, epochs=1)
    rest.load_state_dict(begun.state_dict())
    assert rows(taken) + rows(rest) == whole
    assert len(Docs.made[-1].asked) < 40
    ranks = [rows(load(DOCS, "docs", Docs, seed=3, epochs=1, rank=rank, world_size=2)) for rank in (0, 1)]
    assert sorted(ranks[0] + ranks[1]) == sorted(whole) and not set(ranks[0]) & set(ranks[1])


def test_it_is_imported_and_made_with_the_arguments(monkeypatch):
    module = types.ModuleType("ours_data")
    module.Docs = Docs
    monkeypatch.setitem(sys.modules, "ours_data", module)
    text = DOCS.replace("ours.data", "ours_data").replace("docs() |>", 'docs("val", n: 8) |>')
    assert sorted(text for _, text, _ in rows(pipec.load(text)))[0] == "val 0" and Docs.made[-1].n == 8
    # An object that is there already, which is not called.
    plain = DOCS.replace('split: str = "train", n: i64 = 40', "")
    assert len(rows(load(plain, "docs", Docs("test", 12)))) == 12
    records = [{"id": i, "text": "", "x": np.array([[0.5], [1.5]], "f4")} for i in range(8)]
    assert {total for *_, total in rows(load(plain, "docs", records))} == {2.0}


@pytest.mark.parametrize("given", [
    Numbers, Stateful, OfIterator, lambda n: iter([{"i": i} for i in range(n)]), lambda n: Numbers(n).__iter__(),
])
def test_an_iterable_is_read_in_order_and_resumes(given):
    pipe = load(LINES, "numbers", given, seed=2)
    epochs = [[(it["i"].tolist(), it["u"].tolist()) for it in pipe] for _ in range(3)]
    assert [i for i, _ in epochs[0]] == [list(range(k, k + 4)) for k in range(0, 28, 4)]
    assert [i for i, _ in epochs[1]] == [i for i, _ in epochs[0]] and epochs[1] != epochs[0]
    for n in (1, 3, 7):
        begun = load(LINES, "numbers", given, seed=2)
        batches = iter(begun)
        taken = [next(batches) for _ in range(n)]
        taken = [(it["i"].tolist(), it["u"].tolist()) for it in taken]
        rest = load(LINES, "numbers", given, seed=2, workers=1)
        rest.load_state_dict(begun.state_dict())
        assert taken + [(it["i"].tolist(), it["u"].tolist()) for it in rest] == epochs[0]
        assert [(it["i"].tolist(), it["u"].tolist()) for it in rest] == epochs[1]


def test_an_iterable_with_a_state_is_not_passed_again():
    text = LINES.replace("n: i64 = 30", "n: i64 = 30_000")
    begun = load(text, "numbers", OfIterator, rows=8)
    batches = iter(begun)
    for _ in range(6000):
        next(batches)
    state = begun.state_dict()

    class Watched(OfIterator):
        given = 0

        def __iter__(self):
            made = super().__iter__()
            own = made.__class__.__next__

            class Counting(made.__class__):
                def __next__(self):
                    Watched.given += 1
                    return own(self)

            made.__class__ = Counting
            return made

    rest = load(text, "numbers", Watched, epochs=1)
    rest.load_state_dict(state)
    # It begins with the chunk of the next record, whose size depends on how fast the machine is.
    assert values(rest)[0] == [24000, 24001, 24002, 24003] and Watched.given < 30_000


def test_it_shares_the_work_of_an_iterable():
    ranks = [values(load(LINES, "numbers", Numbers, epochs=1, rank=rank, world_size=2)) for rank in (0, 1)]
    assert sorted(sum(ranks[0] + ranks[1], [])) == list(range(24))
    window = LINES.replace("numbers() |>", "numbers() |> shuffle(window: 10) |>")
    found = sum(values(load(window, "numbers", Numbers, epochs=1)), [])
    assert len(set(found)) == 28 and found != sorted(found)
    with pytest.raises(pipec.PipecError, match="window"):
        list(load(LINES.replace("numbers() |>", "numbers() |> shuffle |>"), "numbers", Numbers))


def test_epochs_are_told():
    class Told(Numbers):
        epochs = []

        def set_epoch(self, epoch):
            Told.epochs.append(epoch)

    pipe = load(LINES, "numbers", Told, epochs=2)
    list(pipe), list(pipe)
    assert Told.epochs == [0, 1]


class Bad:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        record = {"i": i}
        if i == 5:
            record = self.wrong(record)
        return record


def wrong(how):
    return type("Wrong", (Bad,), {"wrong": staticmethod(how)})


def fails(record):
    raise LookupError("not today")


CASES = [
    (fails, "LookupError: not today"),
    (lambda it: {"j": 1, "k": 2}, "no field `i`: it has `j`, `k`"),
    (lambda it: {}, "no field `i`: it is empty"),
    (lambda it: (1, 2), "the record has 2 values, but 1 fields are declared"),
    (lambda it: None, "the record is a `NoneType`, expected a dict with its fields"),
    (lambda it: {"i": None}, "field `i` is None, but it is declared as i64"),
    (lambda it: {"i": "five"}, "field `i` is str, but it is declared as i64"),
    (lambda it: {"i": 1.5}, "field `i` is a `float`, but it is declared as i64"),
    (lambda it: {"i": np.float32(1)}, "field `i` is f32, but it is declared as i64"),
    (lambda it: {"i": np.array(["a"])}, "field `i` is a `ndarray` of `<U1`, but it is declared as i64"),
    (lambda it: {"i": np.zeros(3, "i8")}, r"field `i` is i64\[3\], but it is declared as i64"),
    (lambda it: {"i": 1 << 70}, "field `i`: OverflowError"),
    (lambda it: {"i": [[1], [2, 3]]}, "field `i`: ValueError: setting an array element"),
]
BAD = """
extern pipeline bad() -> { i: i64 } = "ours:Bad"
pipeline p = bad() |> map { i } |> batch(1)
"""


@pytest.mark.parametrize("how,told", CASES)
def test_a_record_that_is_wrong_is_named(how, told):
    pipe = load(BAD, "bad", wrong(how), epochs=1)
    with pytest.raises(pipec.RecordError, match=told) as error:
        list(pipe)
    assert "record 5 of `bad`" in str(error.value)
    if how is fails:
        assert isinstance(error.value.__cause__, LookupError) and "test_sources.py" in str(error.value)


def test_tuples_have_the_declared_order():
    class Pairs:
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return np.full((2, 3), i, "f4").T, i

    text = """
    extern pipeline pairs() -> { image: f32[3, 2], label: i64 } = "ours:Pairs"
    pipeline p = pairs() |> FIELDS |> batch(6)
    """
    [batch] = load(text.replace("FIELDS", "map { label, image }"), "pairs", Pairs, epochs=1)
    assert batch["label"].tolist() == list(range(6)) and batch["image"].numpy()[4].tolist() == [[4.0, 4.0]] * 3
    # Fields that nobody needs are not looked at, and the others keep their places.
    [batch] = load(text.replace("FIELDS", "map { label }"), "pairs", Pairs, epochs=1)
    assert batch["label"].tolist() == list(range(6))


TYPED = """
extern pipeline typed() -> { a: i32[?], b: u8[2], c: f32[n], d: f16[?], e: bool[2] } = "ours:Typed"
pipeline p = typed() |> map { a: sum(a), b, c: sum(c), n: len(c), d: len(d), e } |> batch(1)
"""


def test_lists_of_numbers_take_the_declared_dtype():
    record = {"a": [1, -2, 3], "b": (7, 255), "c": [1, 2.5], "d": [], "e": [True, False]}
    [batch] = load(TYPED, "typed", [record], epochs=1)
    assert [batch[it].tolist() for it in "abcnde"] == [[2], [[7, 255]], [3.5], [2], [0], [[True, False]]]
    for field, wrong, told in [
        ("a", [1.5], "field `a` is f64.1., but it is declared as i32"),
        ("b", [1, 256], "field `b`: OverflowError: a number of the list does not fit into u8"),
        ("b", [-1, 1], "does not fit into u8"),
        ("b", [1, 2, 3], "field `b` is u8.3., but it is declared as u8.2."),
        ("c", ["1"], "field `c` is a `list`, but it is declared as f32"),
        ("e", [1, 0], "field `e` is i64.2., but it is declared as bool.2."),
    ]:
        with pytest.raises(pipec.RecordError, match=told):
            list(load(TYPED, "typed", [record | {field: wrong}], epochs=1))


def test_arrays_of_any_layout_are_copied():
    given = np.arange(24, dtype="f4").reshape(4, 6)[::2, ::-2]
    assert not given.flags.c_contiguous
    text = """
    extern pipeline strided() -> { x: f32[2, 3], y: f32[2, 3] } = "ours:Strided"
    pipeline p = strided() |> map { x, y } |> batch(1)
    """
    records = [{"x": given, "y": given.astype(">f4")}]
    [batch] = load(text, "strided", records, epochs=1)
    assert (batch["x"].numpy()[0] == given).all() and (batch["y"].numpy()[0] == given).all()
    given[:] = 0
    assert batch["x"].numpy()[0].any()


def test_tensors_of_torch_and_its_data_sets():
    torch = pytest.importorskip("torch")

    class Mapped(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            return torch.full((2,), float(i)), i

    class Streamed(torch.utils.data.IterableDataset):
        def __len__(self):
            return 10

        def __iter__(self):
            return ((torch.full((2,), float(i)), i) for i in range(10))

    text = """
    extern pipeline pairs() -> { x: f32[2], y: i64 } = "ours:Pairs"
    pipeline p = pairs() |> map { x, y } |> batch(5)
    """
    for data in Mapped(), Streamed():
        pipe = load(text, "pairs", data, epochs=1)
        expected = torch.utils.data.DataLoader(data, 5)
        for batch, (x, y) in zip(pipe.torch(), expected, strict=True):
            assert torch.equal(batch["x"], x) and torch.equal(batch["y"], y)


def test_records_that_are_wrong_can_be_skipped():
    for how, _ in CASES:
        pipe = load(BAD.replace("bad() |>", "bad() else skip |>"), "bad", wrong(how), epochs=1)
        assert values(pipe) == [[0], [1], [2], [3], [4], [6], [7]]


def test_what_is_no_source_is_said():
    for given, told in [(3, "which has neither"), (lambda: 3, "which has neither"), (fails, "missing 1 required")]:
        with pytest.raises(pipec.RunError, match=told):
            list(load(BAD, "bad", given))
    with pytest.raises(pipec.RunError, match="program passes `n`"):
        list(load(LINES, "numbers", [{"i": 1}]))
    with pytest.raises(pipec.RunError, match="No module named 'ours'"):
        list(pipec.load(BAD))
    with pytest.raises(pipec.ArgumentError, match="it calls `bad`"):
        load(BAD, "other", Bad)


def test_nothing_is_kept_across_epochs_of_what_may_change():
    class Changing(Bad):
        calls = 0

        def __getitem__(self, i):
            Changing.calls += 1
            return {"i": i * 100 + Changing.calls // 8}

    text = BAD.replace("map { i }", "map { i: encode_png(plasma(i, 64, 64)) |> decode_png |> mean }")
    pipe = load(text, "bad", Changing)
    first, second = values(pipe), values(pipe)
    assert first != second


def test_a_length_that_makes_no_sense_is_told():
    class Sized(Docs):
        def __init__(self, n, told):
            super().__init__("", n)
            self.told = told

        def __len__(self):
            return self.told

    plain = DOCS.replace('split: str = "train", n: i64 = 40', "").replace("shuffle |> ", "")
    with pytest.raises(pipec.RunError, match="number of records of `docs`: .*should return >= 0"):
        list(load(plain, "docs", Sized(3, -1)))
    # Shorter than it says: the record that is not there is named.
    with pytest.raises(pipec.RecordError, match=r"record 3 of `docs`(.|\n)*IndexError"):
        list(load(plain.replace("batch(4)", "batch(1)"), "docs", Sized(3, 5), epochs=1))
    pipe = load(plain, "docs", [], epochs=1)
    with warnings.catch_warnings(record=True):
        assert list(pipe) == [] and len(pipe) == 0


def test_a_state_is_of_one_length():
    records = [{"i": i} for i in range(20)]
    text = BAD.replace("batch(1)", "batch(2)")
    begun = load(text, "bad", records)
    next(iter(begun))
    state = begun.state_dict()
    resumed = load(text, "bad", list(records), epochs=1)
    resumed.load_state_dict(state)
    assert values(resumed)[0] == [2, 3]
    with pytest.raises(pipec.StateError, match="number of records"):
        load(text, "bad", records[:-1]).load_state_dict(state)


def test_a_state_is_small_and_json():
    for state, told in [("x" * 70_000, "takes 70002 bytes as JSON"), ({1, 2}, "is not JSON")]:
        given = type("Stateful", (Stateful,), {"state_dict": lambda self, state=state: state})
        with pytest.raises(pipec.RecordError, match=told):
            list(load(LINES, "numbers", given))


def test_what_never_ends_is_taken_from():
    def forever(n):
        i = 0
        while True:
            yield {"i": i}
            i += 1

    pipe = load(LINES.replace("numbers() |>", "numbers() |> take(10) |>"), "numbers", forever)
    assert values(pipe) == values(pipe) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # Without it: as long as somebody asks.
    batches = iter(load(LINES, "numbers", forever))
    assert [next(batches)["i"].tolist()[0] for _ in range(50)] == list(range(0, 200, 4))


def test_an_exception_of_an_iterator_comes_after_what_it_gave():
    def fails(n):
        yield {"i": 0}
        yield {"i": 1}
        raise OSError("the line is dead")

    pipe = load(LINES.replace("batch(4)", "batch(1)"), "numbers", fails, epochs=1)
    found = []
    with pytest.raises(pipec.RecordError, match=r"record 2 of `numbers`(.|\n)*the line is dead") as error:
        found.extend(it["i"].tolist() for it in pipe)
    assert found == [[0], [1]] and isinstance(error.value.__cause__, OSError)


def test_one_thread_at_a_time_reads_an_object():
    class Slow:
        within = most = 0

        def __len__(self):
            return 64

        def __getitem__(self, i):
            Slow.within += 1
            Slow.most = max(Slow.most, Slow.within)
            time.sleep(0.001)
            Slow.within -= 1
            return {"i": i}

    slow = Slow()
    text = """
    extern pipeline a() -> { i: i64 } = "ours:A"
    extern pipeline b() -> { i: i64 } = "ours:B"
    pipeline p = mix({ a: a() |> shuffle, b: b() |> shuffle }, weights: { a: 1, b: 1 }) |> map { i } |> batch(4)
    """
    pipe = pipec.load(text, functions={"a": slow, "b": slow}, epochs=1, workers=4)
    assert len(values(pipe)) >= 30 and Slow.most == 1


def test_constants_are_computed_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = """
    extern pipeline numbers() -> { i: i64 } = "ours:Numbers"
    const SEEN = numbers() |> moments(of: i)
    pipeline p = range(4) |> map { x: f64(i) - SEEN.mean } |> batch(4)
    """
    for first in (0, 10):
        # Nobody knows whether it gives the same as before, so nothing is kept.
        pipe = load(text, "numbers", [{"i": first + i} for i in range(5)], name="p", epochs=1)
        assert values(pipe, "x") == [[i - first - 2.0 for i in range(4)]]
    with pytest.raises(pipec.CompileError, match=r"cannot compute the constant `SEEN`(.|\n)*not today"):
        load(text, "numbers", wrong(fails), name="p")


def test_nothing_is_imported_before_a_run(tmp_path, monkeypatch):
    (tmp_path / "ours_looked_at.py").write_text("raise SystemError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    pipe = pipec.load(BAD.replace("ours:Bad", "ours_looked_at:Bad"))
    assert "extern bad" in str(pipe.explain(verbose=True)) and pipe.name == "p"
    with pytest.raises(pipec.RunError, match=r"cannot find the source `bad`(.|\n)*SystemError: imported"):
        list(pipe)


def test_a_forked_process_has_its_own():
    run("""
        import os, pipec
        pipe = pipec.load('''
        extern pipeline numbers() -> { i: i64 } = "ours:N"
        pipeline p = numbers() |> shuffle |> batch(4)
        ''', functions={"numbers": [{"i": i} for i in range(40)]}, epochs=1)
        child = os.fork()
        n = sum(len(batch["i"]) for batch in pipe)
        assert n == 40, n
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """)


def test_a_pipeline_with_a_source_is_pickled_with_it():
    pipe = pickle.loads(pickle.dumps(load(DOCS, "docs", Docs, seed=3, epochs=1)))
    assert len(rows(pipe)) == 40


RECORDS = """
import os

class Elsewhere:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == 7 and self.n == 40:
            raise LookupError("not today")
        if i == 7 and self.n == 41:
            os.kill(os.getpid(), 9)
        if i == 7 and self.n == 42:
            return {"i": None}
        return {"i": i, "text": f"é{i}", "xs": [i] * (i % 5), "pid": os.getpid()}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="`processes=` needs Linux")
def test_records_are_read_in_processes(tmp_path, monkeypatch):
    (tmp_path / "ours_records.py").write_text(RECORDS)
    monkeypatch.syspath_prepend(tmp_path)
    text = """
    extern pipeline records(n: i64) -> { i: i64, text: str, xs: f32[?], pid: i64 } = "ours_records:Elsewhere"
    pipeline p = records(39) |> shuffle |> map { i, text, total: sum(xs), pid } |> batch(3)
    """
    told = lambda batch: (batch["i"].tolist(), list(batch["text"]), batch["total"].tolist())
    here = [told(it) for it in pipec.load(text, seed=5, epochs=1)]
    batches = list(pipec.load(text, seed=5, epochs=1, processes=2))
    assert [told(it) for it in batches] == here
    pids = {pid for it in batches for pid in it["pid"].tolist()}
    assert os.getpid() not in pids and len(pids) <= 2
    # The object itself, as it is pickled; and a resumed run.
    from ours_records import Elsewhere

    given = text.replace("n: i64", "").replace("records(39)", "records()")
    begun = load(given, "records", Elsewhere(39), seed=5, epochs=1, processes=2)
    batches = iter(begun)
    taken = [told(next(batches)) for _ in range(4)]
    rest = load(given, "records", Elsewhere(39), seed=5, epochs=1, processes=3)
    rest.load_state_dict(begun.state_dict())
    assert taken + [told(it) for it in rest] == here
    for n, why in [
        (40, r"record 7 of `records`(.|\n)*LookupError: not today(.|\n)*ours_records.py"),
        (41, "record 7 of `records`.* was killed"),
        (42, "record 7 of `records`.*field `i` is None, but it is declared as i64"),
    ]:
        wrong = text.replace("39", str(n))
        with pytest.raises(pipec.RecordError, match=why):
            list(pipec.load(wrong, epochs=1, processes=2))
        skipping = wrong.replace(f"records({n})", f"records({n}) else skip").replace("batch(3)", "batch(1)")
        found = sorted(sum(values(pipec.load(skipping, epochs=1, processes=2)), []))
        assert found == [i for i in range(n) if i != 7]


@pytest.mark.skipif(sys.platform != "linux", reason="`processes=` needs Linux")
@pytest.mark.parametrize("how,told", CASES[1:])
def test_a_record_that_is_wrong_in_a_process_is_named_alike(how, told, tmp_path, monkeypatch):
    pytest.importorskip("cloudpickle")
    with pytest.raises(pipec.RecordError, match=told):
        list(load(BAD, "bad", wrong(how), epochs=1, processes=1))


def test_an_object_goes_with_its_pipeline():
    class Watched(Bad):
        alive = 0

        def __init__(self):
            Watched.alive += 1

        def __del__(self):
            Watched.alive -= 1

        def __getitem__(self, i):
            return {"i": i}

    pipe = load(BAD, "bad", Watched, epochs=1)
    list(pipe)
    del pipe
    gc.collect()
    assert Watched.alive == 0


def test_a_script_ends_while_a_source_is_read():
    run("""
        import pipec
        class Slow:
            def __len__(self):
                return 10_000
            def __getitem__(self, i):
                return {"i": i}
        pipe = pipec.load('''
        extern pipeline slow() -> { i: i64 } = "ours:Slow"
        pipeline p = slow() |> shuffle |> batch(4)
        ''', functions={"slow": Slow})
        next(iter(pipe))
    """)
