"""The equivalent of `train.pipe` with torch's DataLoader and with tf.data, written by hand, for comparison. They
draw different random numbers, and cannot resume after a kill."""

import os
import random


def folder(pipe):
    """The paths of the images, and their class indices."""
    import pipec

    data = pipe._told["params"]["data"]
    files = pipec.load(f'pipeline p = paths("{data}/**/*.jpg")')
    paths = [path for block in files for path in block["path"]]
    classes = sorted({os.path.basename(os.path.dirname(it)) for it in paths})
    return paths, [classes.index(os.path.basename(os.path.dirname(it))) for it in paths]


def dataloader(pipe, size, batch=32):
    """Worker processes, a dataset with `__getitem__`, individual transforms."""
    import torch
    from PIL import Image
    from torchvision.transforms import v2

    paths, labels = folder(pipe)
    transform = v2.Compose([
        v2.RandomResizedCrop(size, scale=(0.3, 1.0)), v2.RandomHorizontalFlip(), v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return len(paths)

        def __getitem__(self, i):
            with Image.open(paths[i]) as image:
                return {"image": transform(image.convert("RGB")), "label": labels[i]}

    return torch.utils.data.DataLoader(
        Pictures(), batch, shuffle=True, drop_last=True, num_workers=2, persistent_workers=True)


def tfdata(pipe, size, batch=32):
    """A graph of maps; the numbers of threads and prefetched elements must be chosen."""
    import tensorflow as tf
    import torch

    paths, labels = folder(pipe)
    mean, std = tf.constant([0.485, 0.456, 0.406]), tf.constant([0.229, 0.224, 0.225])

    def augment(path, label):
        bytes_ = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(bytes_)
        whole = tf.zeros([0, 0, 4], tf.float32)
        begin, extent, _ = tf.image.sample_distorted_bounding_box(
            shape, whole, area_range=(0.3, 1.0), aspect_ratio_range=(3 / 4, 4 / 3), use_image_if_no_bounding_boxes=True)
        window = tf.concat([begin[:2], extent[:2]], 0)
        image = tf.image.resize(tf.image.decode_and_crop_jpeg(bytes_, window, channels=3), [size, size])
        image = tf.image.random_flip_left_right(image / 255.0)
        return tf.transpose((image - mean) / std, [2, 0, 1]), label

    order = list(zip(paths, labels))
    random.Random(1).shuffle(order)
    dataset = tf.data.Dataset.from_tensor_slices(([it[0] for it in order], [it[1] for it in order]))
    dataset = dataset.shuffle(len(order)).map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    class Batches:
        def __iter__(self):
            for image, label in dataset.as_numpy_iterator():
                yield {"image": torch.from_numpy(image), "label": torch.from_numpy(label)}

    return Batches()
