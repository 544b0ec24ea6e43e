"""Epochs, states, ranks: a pipeline goes on where it stood, to the batch."""

import json
import pickle
import random

import pytest
from conftest import IMAGES, NUMBERS, values

import pipec


def test_each_iteration_is_the_next_epoch(numbers):
    # Pain 8: nobody calls `set_epoch`. Pain 4: the threads of the first epoch are those of the next.
    epochs = [values(numbers) for _ in range(3)]
    assert all(sorted(sum(it, [])) == list(range(1000)) for it in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    numbers.set_epoch(1)
    assert values(numbers) == epochs[1] and values(numbers) == epochs[2]
    assert numbers.epoch == 3
    assert values(pipec.load(NUMBERS, seed=7, epoch=2)) == epochs[2]


def test_one_that_is_left_half_way_is_over(numbers):
    whole = [values(numbers) for _ in range(2)]
    again = pipec.load(NUMBERS, seed=7)
    for _ in range(3):
        for batch in again:
            break
    again.set_epoch(0)
    batches = iter(again)
    assert [next(batches)["i"].tolist() for _ in range(5)] == whole[0][:5]
    assert values(again) == whole[1]


def test_known_epochs_prepare_nothing_more(numbers):
    pipe = pipec.load(NUMBERS, seed=7, epochs=1)
    first = values(pipe)
    assert pipe.stats()["stages"][0]["records"] == 1000
    assert first == values(numbers) and values(pipe) == values(numbers)


def test_random_numbers_follow_from_seed_epoch_and_record_alone():
    # Pain 5: the number of threads changes nothing, and no two records draw the same.
    first = values(pipec.load(NUMBERS, seed=7, workers=1), "x")
    assert first == values(pipec.load(NUMBERS, seed=7, workers=4), "x")
    assert first != values(pipec.load(NUMBERS, seed=8), "x")
    assert len({x % 1 for it in first for x in it}) > 900


@pytest.mark.parametrize("program,field", [(NUMBERS, "i"), (NUMBERS, "x"), (IMAGES, "draw")])
def test_a_state_goes_on_to_the_batch(program, field):
    # Pains 6, 34, 36: stopped anywhere, also in later epochs, it goes on with the very next batch.
    pipe = pipec.load(program, seed=5, workers=2)
    whole = [values(pipe, field) for _ in range(3)]
    n, chance = len(whole[0]), random.Random(1)
    for at in [0, 1, n - 1, n, *(chance.randrange(3 * n) for _ in range(12))]:
        stopped, seen = pipec.load(program, seed=5, workers=1), 0
        while seen < at:
            for _ in stopped:
                seen += 1
                if seen == at:
                    break
        state = json.loads(json.dumps(stopped.state_dict()))
        assert len(json.dumps(state)) < 1024
        del stopped
        going = pipec.load(program, seed=5, workers=2)
        going.load_state_dict(state)
        rest = [values(going, field), values(going, field)]
        # What was stopped at an epoch's end, before anybody was told, still has an empty rest of it.
        expected = [whole[at // n][at % n :], (whole + [None])[at // n + 1]]
        if at and at % n == 0 and rest[0] == []:
            expected = [[], whole[at // n] if at < 3 * n else None]
        assert rest[0] == expected[0], at
        if expected[1] is not None:
            assert rest[1] == expected[1], at


def test_a_state_within_blocks_of_records(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{i}\n" for i in range(5000)))
    text = 'param path: path\npipeline p = lines("{path}") |> where parse_int(text) % 3 != 0'
    told = {"params": {"path": path}, "rows": 7}
    whole = [it["text"].tolist() for it in pipec.load(text, **told)]
    for at in [0, 1, 2, 100, 333, len(whole) - 1, len(whole)]:
        pipe = pipec.load(text, **told)
        batches = iter(pipe)
        for _ in range(at):
            next(batches)
        going = pipec.load(text, **told)
        going.load_state_dict(pipe.state_dict())
        assert [it["text"].tolist() for it in going] == whole[at:]


def test_a_state_of_something_else_is_refused(numbers):
    state = numbers.state_dict()
    for other, said in [
        (pipec.load(NUMBERS, seed=8), "seed"),
        (pipec.load(NUMBERS.replace("f32(i)", "f32(i) + 1.0"), seed=7), "changed since"),
    ]:
        with pytest.raises(pipec.StateError, match=said):
            other.load_state_dict(state)
        assert len(list(other)) == 100
    with pytest.raises(pipec.StateError, match="damaged"):
        numbers.load_state_dict({**state, "epoch": 3})
    with pytest.raises(pipec.StateError):
        numbers.load_state_dict({"epoch": 3})


def test_a_changed_input_is_refused(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.txt").write_text("x\n")
    text = 'param data: path\npipeline p = files("{data}/*.txt") |> map { n: len(bytes) } |> batch(2)'
    state = pipec.load(text, params={"data": tmp_path}).state_dict()
    (tmp_path / "4.txt").write_text("x\n")
    with pytest.raises(pipec.StateError, match="4 files.*5 files"):
        pipec.load(text, params={"data": tmp_path}).load_state_dict(state)


@pytest.mark.parametrize("tail", ["drop", "keep", "mask"])
def test_ranks_share_the_batches(tail):
    # Pain 7: nothing comes twice, nothing is missing, and how many come is known beforehand.
    text = f"pipeline p = range(107) |> shuffle |> batch(10, tail: {tail})"
    alone = pipec.load(text, seed=2)
    ranks = [pipec.load(text, seed=2, rank=r, world=3) for r in range(3)]
    lens = [len(it) for it in ranks]
    parts = [list(it) for it in ranks]
    assert [len(it) for it in parts] == lens
    if tail != "keep":
        assert len(set(lens)) == 1
    dealt = [parts[k % 3][k // 3]["i"].tolist() for k in range(sum(lens))]
    expected = values(alone)
    if tail == "mask":
        real = [[i for i, ok in zip(it["i"].tolist(), it["valid"].tolist()) if ok] for it in sum(parts, [])]
        assert sorted(sum(real, [])) == list(range(107))
    else:
        assert dealt == expected[: len(dealt)]
        if tail == "keep":
            assert sorted(sum(dealt, [])) == list(range(107))


def test_an_epoch_that_gives_nothing_ends_and_is_told():
    # It went on with the next epoch for ever, without a look at signals.
    few = "pipeline t = range(100) |> map { x: f32(i) } |> batch(64)"
    none = pipec.load(few, rank=0, world_size=2)
    with pytest.warns(pipec.PipecWarning, match="none of the 2 ranks gets a batch"):
        assert [len(list(none)) for _ in range(3)] == [0, 0, 0]
    with pytest.warns(pipec.PipecWarning, match="an epoch has no batch; make smaller batches"):
        assert list(pipec.load(few.replace("64", "128"))) == []
    with pytest.warns(pipec.PipecWarning, match="some of the 2 ranks get 2 batches per epoch and others 1"):
        assert len(list(pipec.load(few.replace("64", "48, tail: keep"), rank=0, world_size=2))) == 2


def test_two_ranks_become_four():
    whole = values(pipec.load(NUMBERS, seed=7))
    two = [pipec.load(NUMBERS, seed=7, rank=r, world=2) for r in range(2)]
    seen = []
    for batches in zip(*(iter(it) for it in two)):
        seen += values(batches)
        if len(seen) == 30:
            break
    states = [it.state_dict() for it in two]
    assert states[0]["position"] == states[1]["position"]
    four = [pipec.load(NUMBERS, seed=7, rank=r, world=4) for r in range(4)]
    for it in four:
        it.load_state_dict(states[0])
    for batches in zip(*four):
        seen += values(batches)
    # 70 batches are left, 17 rounds of four: what does not fill a round is given by nobody.
    assert seen == whole[:98]


def test_a_loop_goes_on_with_the_same_epoch_on_each_rank():
    # Eleven batches for three ranks: the last one of the third is one of nothing.
    text = "pipeline p = range(107) |> batch(10, tail: mask)"
    states = []
    for rank in range(3):
        pipe = pipec.load(text, rank=rank, world=3)
        batches = iter(pipe)
        last = [next(batches) for _ in range(4)][-1]
        states.append(pipe.state_dict())
    assert not last["valid"].tolist()[0]
    for rank in range(3):
        for state in states:
            pipe = pipec.load(text, rank=rank, world=3)
            pipe.load_state_dict(state)
            assert [len(list(pipe)) for _ in range(3)] == [0, 4, 4]


def test_a_pipe_can_be_pickled_with_where_it_stands(numbers):
    fresh = pickle.loads(pickle.dumps(numbers))
    batches = iter(numbers)
    first = [next(batches)["i"].tolist() for _ in range(10)]
    copy = pickle.loads(pickle.dumps(numbers))
    rest = values(batches)
    assert values(copy) == rest and values(fresh) == first + rest


def test_closed_and_opened_again(numbers):
    whole = values(numbers)
    numbers.set_epoch(0)
    batches = iter(numbers)
    for _ in range(3):
        next(batches)
    state = numbers.state_dict()
    numbers.close()
    assert numbers.state_dict() == state
    other = pipec.load(NUMBERS, seed=7)
    other.load_state_dict(numbers.state_dict())
    assert values(other) == whole[3:]
    with pytest.raises(pipec.IterationError):
        next(batches)


def test_what_is_cached_is_the_best_for_what_is_asked_for():
    text = IMAGES.replace("random_resized_crop(32)", "resize(32, 32)")
    pipe = pipec.load(text, memory="1GiB", objective="bytes@10")
    cached = lambda told: [it["candidate"]["function"] for it in told.facts["outlook"]["choices"] if it["kept"]]
    assert cached(pipe.explain(epochs=90)) == []
    assert len(cached(pipe.explain(epochs=90, objective="rate"))) == 1
    assert pipe.tune(1.0, epochs=90, write=False)["keep"] == []
    # A run does the same, and the batches are those of any other.
    other = pipe.replace(objective="rate", epochs=3)
    assert other.explain(epochs=90).facts["outlook"]["choices"][0]["kept"]
    whole = [values(pipec.load(text, seed=1, keep=False, epochs=1), "label")]
    assert [values(it.replace(seed=1, epochs=1), "label") for it in (pipe, other)] == whole * 2


def test_what_is_said_of_it(numbers, tmp_path):
    text = numbers.explain()
    assert text.startswith("numbers:") and "time/record" in text and "location" not in text
    assert "location" in numbers.explain(verbose=True)
    assert text._repr_html_().startswith("<iframe srcdoc=") and "<svg" in text.html
    assert text.facts["pipeline"] == "numbers"
    list(numbers)
    stats = numbers.stats()
    assert stats["batches"] == 100 and stats["records"] == 1000 and stats["stages"]
    profile = numbers.profile(1.0, to=tmp_path / "p.profile")
    assert profile["records"] > 0 and (tmp_path / "p.profile").exists()


def test_tuning_writes_the_lock(tmp_path):
    path = tmp_path / "numbers.pipe"
    path.write_text(NUMBERS)
    pipe = pipec.load(path)
    tuned = pipe.tune(2.0)
    assert tuned["workers"] >= 1 and tuned["tried"] and "numbers:" in tuned["explanation"]
    assert (tmp_path / "numbers.pipe.lock").read_text().count("workers =") == 1
    assert values(pipec.load(path)) == values(pipec.load(path, workers=1))


DECODED = IMAGES.replace("random_resized_crop(32)", "resize(64, 64) |> random_crop(32)")


def test_a_cache_is_filled_ahead_of_training(tmp_path):
    pipe = pipec.load(DECODED, seed=1, cache=tmp_path / "cache", epochs=90)
    with pytest.raises(ZeroDivisionError):
        pipe.prepare(progress=lambda it: 1 // 0)
    seen = []
    told = pipe.prepare(progress=seen.append)
    [value] = told["values"]
    assert value["values"] == value["of"] == 40 and value["failed"] == 0 and value["bytes"] > 0
    assert all(set(it) == {"functions", "values", "of", "written", "seconds"} for it in seen)
    # All of it is there now, also for others; and the batches are those of any other run.
    assert [it["written"] for it in pipec.load(DECODED).prepare(tmp_path / "cache", epochs=90)["values"]] == [0]
    whole = values(pipec.load(DECODED, seed=1, keep=False, epochs=1), "image")
    again = pipec.load(DECODED, seed=1, cache=tmp_path / "cache", epochs=90)
    assert values(again, "image") == whole
    [kept] = again.stats()["kept"]
    # The next epoch is under way.
    assert kept["disk"]["entries"] == 40 <= kept["disk"]["hits"] and kept["disk"]["written"] == 0, kept


def test_what_is_named_is_cached_alone(tmp_path):
    [value] = pipec.load(DECODED).prepare(tmp_path / "cache", keep="decode_jpeg")["values"]
    assert (value["function"], value["values"]) == ("decode_jpeg", 40)
    with pytest.raises(pipec.PipecError, match="decode_jpeg"):
        pipec.load(DECODED).prepare(tmp_path / "cache", keep=["decode_jpg"])
    with pytest.raises(pipec.ArgumentError, match="folder to cache in"):
        pipec.load(DECODED).prepare()


def test_strategies_are_compared_and_the_best_is_for_the_lock(tmp_path):
    path = tmp_path / "train.pipe"
    path.write_text(DECODED)
    tuned = pipec.load(path).tune(3.0, epochs=90, cache=tmp_path / "cache")
    rows = tuned["strategies"]
    measured = {tuple(kept["value"] for kept in it["kept"]): it["measured"] for it in rows if it["measured"]}
    assert () in measured and len(measured) > 1, rows
    assert tuned["keep"] and "records/s" in tuned["explanation"]
    assert tuned["lock"] == str(path) + ".lock" and "keep" in (tmp_path / "train.pipe.lock").read_text()
    kept = pipec.load(path, seed=1, cache=tmp_path / "cache", epochs=90)
    assert values(kept, "image") == values(pipec.load(DECODED, seed=1, keep=False, epochs=1), "image")
    assert kept.stats()["kept"]
    with pytest.raises(pipec.ArgumentError, match="epochs=90"):
        pipec.load(path).tune(strategies=True)
