"""Data sets of Hugging Face `datasets`: their files are read, and nothing else than their rows comes out."""

import json
import os

import pytest
from conftest import run
from test_documents import blocks

import pipec

os.environ.setdefault("HF_HUB_OFFLINE", "1")
datasets = pytest.importorskip("datasets", reason="data sets of Hugging Face need `datasets`")
PROGRAM = "param data: path\npipeline p = arrow(data)"


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()


@pytest.fixture
def loaded(tmp_path):
    """Twenty rows as `load_dataset` has them: in its cache."""
    rows = [{"text": f"žluť {i}", "label": i % 3, "ids": list(range(i % 4))} for i in range(20)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return datasets.load_dataset("json", data_files=str(tmp_path / "a.jsonl"), cache_dir=str(tmp_path / "cache"), split="train")


def read(dataset):
    """The rows that pipec has of it, and those that it has itself."""
    pipe = pipec.load(PROGRAM, params={"data": pipec.hf(dataset)}, rows=7)
    columns = {name: [value for block in pipe.replace(epochs=1) for value in block[name].tolist()] for name in pipe.schema}
    return columns, dataset[:]


def test_rows_come_in_the_order_of_the_data_set(loaded, tmp_path):
    ours, theirs = read(loaded)
    assert ours == theirs and len(ours["text"]) == 20 and ours["ids"][3] == [0, 1, 2]
    loaded.save_to_disk(tmp_path / "saved", num_shards=3)
    saved = datasets.load_from_disk(tmp_path / "saved")
    assert len(pipec.hf(saved)) == 3
    ours, theirs = read(saved)
    assert ours == theirs
    # A data set that is written anew, and several that are one.
    made = loaded.map(lambda it: {"n": len(it["text"])})
    ours, theirs = read(made)
    assert ours == theirs and list(ours) == ["text", "label", "ids", "n"]
    joined = datasets.concatenate_datasets([saved, loaded])
    ours, theirs = read(joined)
    assert ours == theirs and len(ours["label"]) == 40
    ours, theirs = read(datasets.concatenate_datasets([loaded, saved]))
    assert ours == theirs


def test_a_data_set_of_a_generator_and_labels(loaded, tmp_path):
    made = datasets.Dataset.from_generator(lambda: ({"a": i} for i in range(9)), cache_dir=str(tmp_path / "cache"))
    ours, theirs = read(made)
    assert ours == theirs == {"a": list(range(9))}
    ours, theirs = read(loaded.cast_column("label", datasets.ClassLabel(names=["x", "y", "z"])))
    assert ours == theirs
    # A format concerns what Python sees.
    assert pipec.hf(loaded.with_format("numpy", columns=["label"])) == pipec.hf(loaded)


def test_images_are_bytes(tmp_path):
    pytest.importorskip("PIL", reason="`datasets` writes images with Pillow")
    first = next(iter(pipec.load('pipeline p = files("sample:images?count=6") |> map { bytes }')))["bytes"].tolist()
    made = datasets.Dataset.from_dict(
        {"image": [{"bytes": it, "path": None} for it in first], "label": [0] * 6},
        features=datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")}),
    )
    made.save_to_disk(tmp_path / "images")
    program = """
    param data: path
    pipeline p = arrow(data) |> map { image: decode_jpeg(image.bytes) |> resize(32, 32), label } |> batch(2)
    """
    pipe = pipec.load(program, params={"data": pipec.hf(datasets.load_from_disk(tmp_path / "images"))})
    assert [it["image"].shape for it in pipe] == [(2, 32, 32, 3)] * 3


def test_the_recipe_of_the_cookbook(tmp_path, monkeypatch, capsys):
    pytest.importorskip("PIL", reason="`datasets` writes images with Pillow")
    made = next(iter(pipec.load("pipeline p = range(70) |> map { png: encode_png(plasma(i, 28, 28)), label: i % 10 }")))
    names = [str(it) for it in range(10)]
    datasets.Dataset.from_dict(
        {"image": [{"bytes": it, "path": None} for it in made["png"]], "label": made["label"].tolist()},
        features=datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)}),
    ).save_to_disk(tmp_path / "mnist")
    monkeypatch.setattr(datasets, "load_dataset", lambda name, split: datasets.load_from_disk(tmp_path / name))
    [recipe] = [text for tag, text in blocks("COOKBOOK.md") if tag == "python datasets"]
    exec(recipe, {})
    assert capsys.readouterr().out.startswith("(64, 28, 28, 3) ")


def test_shuffled_by_the_program_and_resumed(loaded):
    program = "param data: path\npipeline p = arrow(data) |> shuffle |> map { text, label } |> batch(3)"
    pipe = pipec.load(program, params={"data": pipec.hf(loaded)}, seed=4)
    whole = [it["text"].tolist() for it in pipe]
    assert sorted(sum(whole, []))[:1] != whole[0][:1] and len(set(sum(whole, []))) == 18
    begun = pipec.load(program, params={"data": pipec.hf(loaded)}, seed=4, workers=1)
    batches = iter(begun)
    first = [next(batches)["text"].tolist() for _ in range(2)]
    rest = pipec.load(program, params={"data": pipec.hf(loaded)}, seed=4)
    rest.load_state_dict(begun.state_dict())
    assert first + [it["text"].tolist() for it in rest] == whole
    ranks = [[it["text"].tolist() for it in pipec.load(program, params={"data": pipec.hf(loaded)}, seed=4, rank=rank, world_size=2)] for rank in (0, 1)]
    assert sorted(ranks[0] + ranks[1]) == sorted(whole)


@pytest.mark.parametrize("change,told", [
    (lambda it: it.select([3, 1]), "flatten_indices"),
    (lambda it: it.shuffle(seed=1), "flatten_indices"),
    (lambda it: it.filter(lambda row: row["label"] == 1), "flatten_indices"),
    (lambda it: it.train_test_split(0.5)["train"], "flatten_indices"),
    (lambda it: it.select(range(5, 9)), "4 of the 20 rows"),
    (lambda it: it.shard(2, 0), "10 of the 20 rows"),
    (lambda it: it.remove_columns("label"), "columns: "),
    (lambda it: it.select_columns(["text"]), "columns: "),
    (lambda it: it.rename_column("label", "y"), "renamed"),
    (lambda it: it.rename_columns({"label": "text", "text": "label"}), "renamed"),
    (lambda it: it.add_column("z", list(range(20))), "columns were added"),
    (lambda it: datasets.concatenate_datasets([it, it]), "twice"),
    (lambda it: it.with_transform(lambda rows: rows), "transform"),
    (lambda it: datasets.Dataset.from_dict({"a": [1, 2]}), "in memory"),
    (lambda it: datasets.Dataset.from_dict({"a": [1, 2]}).select([1, 0]), "save_to_disk"),
    (lambda it: datasets.concatenate_datasets([it, datasets.Dataset.from_dict(it[:])]), "in memory"),
    (lambda it: datasets.DatasetDict(train=it, test=it), "`train`, `test`"),
    (lambda it: it.to_iterable_dataset(), "streaming"),
    (lambda it: "squad", "found 'str'"),
])
def test_other_rows_than_those_of_the_files_are_refused(loaded, change, told):
    with pytest.raises(pipec.ArgumentError, match=told) as error:
        pipec.hf(change(loaded))
    assert error.value.code == "PC0704"


@pytest.mark.parametrize("change", [
    lambda it: it.select([3, 1]),
    lambda it: it.select(range(5, 9)),
    lambda it: it.filter(lambda row: row["label"] == 1),
    lambda it: it.shuffle(seed=1).remove_columns("ids"),
])
def test_what_is_advised_helps(loaded, change, tmp_path):
    ours, theirs = read(change(loaded).flatten_indices())
    assert ours == theirs
    datasets.Dataset.save_to_disk(change(loaded), tmp_path / "saved")
    ours, theirs = read(datasets.load_from_disk(tmp_path / "saved"))
    assert ours == theirs == change(loaded)[:]


def test_paths_with_signs_of_patterns(loaded, tmp_path):
    folder = tmp_path / "a{b}[c]*?\\ d"
    loaded.save_to_disk(folder)
    ours, theirs = read(datasets.load_from_disk(folder))
    assert ours == theirs


def test_a_path_is_a_list_of_paths(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\n")
    program = "param data: path\npipeline p = lines(data)"
    paths = [tmp_path / "b.txt", str(tmp_path / "a.txt")]
    assert next(iter(pipec.load(program, params={"data": paths})))["text"] == ["b", "a"]
    assert next(iter(pipec.load(program, params={"data": paths[:1]})))["text"] == ["b"]
    assert next(iter(pipec.load(program, params={"data": f"{tmp_path}/[ab].txt"})))["text"] == ["a", "b"]
    assert next(iter(pipec.load("param data\npipeline p = lines(data)", params={"data": paths})))["text"] == ["b", "a"]
    for wrong, told in [([], "an empty list"), (["a", ""], "a list with an empty text")]:
        with pytest.raises(pipec.CompileError, match=f"`data` is a path, but is set to {told}"):
            pipec.load(program, params={"data": wrong})
    with pytest.raises(pipec.CompileError, match=r"`data` is a list, which cannot be part of a text(.|\n)*`files\(data\)`"):
        pipec.load('param data: path\npipeline p = lines("{data}/x.txt")', params={"data": paths})


def test_importing_pipec_imports_no_datasets():
    run("""
        import sys, pipec
        assert not {"datasets", "pyarrow", "pandas", "polars", "numpy"} & set(sys.modules)
        try:
            pipec.hf([])
        except pipec.ArgumentError as error:
            assert "expected a `datasets.Dataset`, found 'list'" in str(error)
        else:
            raise AssertionError
    """)
