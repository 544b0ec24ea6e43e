"""The names behind labels."""

import pytest

import pipec


@pytest.fixture
def folders(tmp_path):
    for path in ["train/cat/1.txt", "train/dog/1.txt", "train/owl/1.txt", "val/cat/1.txt", "val/owl/1.txt"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    return tmp_path


def load(folders, text, **kwargs):
    head = f'edition 2026\npipeline train = paths("{folders}/train/*/*.txt")\npipeline val = paths("{folders}/val/*/*.txt")\n'
    return pipec.load(head + text, "p", **kwargs)


def test_classes_are_in_the_order_of_their_labels(folders):
    own = load(folders, "pipeline p = val |> map { label: class_of(path) } |> batch(2)")
    assert own.classes == ["cat", "owl"]
    pipe = load(folders, "pipeline p = val |> map { label: class_of(path, classes: train) } |> batch(2)")
    assert pipe.classes == ["cat", "dog", "owl"]
    labels = memoryview(next(iter(pipe))["label"]).tolist()
    assert [pipe.classes[it] for it in labels] == ["cat", "owl"]


def test_several_labels_are_told_by_field(folders):
    both = '{ animal: class_of(path), kind: index_of("b", ["a", "b"]), two: index_of("b", ["b", "c"]) }'
    pipe = load(folders, f"pipeline p = train |> map {both}")
    assert pipe.classes == {"animal": ["cat", "dog", "owl"], "kind": ["a", "b"], "two": ["b", "c"]}
    assert load(folders, "pipeline p = train").classes is None
    assert load(folders, "pipeline p = train |> map { y: one_hot(class_of(path), 3) }").classes == ["cat", "dog", "owl"]


def test_a_state_of_other_classes_is_refused(folders):
    text = "pipeline p = val |> map { label: class_of(path, classes: train) } |> batch(1)"
    pipe = load(folders, text)
    next(iter(pipe))
    state = pipe.state_dict()
    load(folders, text).load_state_dict(state)
    (folders / "train/ant").mkdir()
    (folders / "train/ant/1.txt").write_text("x")
    again = load(folders, text)
    with pytest.raises(pipec.StateError, match="there were 3, now there are 4: `ant`"):
        again.load_state_dict(state)
        next(iter(again))
