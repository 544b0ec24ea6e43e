//! The table. Whatever stands in backquotes is tried by a test (`tests/suite/migration.rs`): what begins with
//! `|>` behind a stream of `image`, `label`, `text`, `path`, `bytes`, `ids` and `x`, values within its records, flags and
//! commands against the command line. So a row cannot name what is not there.

use super::{
    Change::{Gone, Renamed, Told, Truth},
    Place::{Argument, ArgumentOf, Flag, Name, Value},
    Row,
};

macro_rules! rows {
    ($($place:expr, $from:literal, [$($name:literal)+], $change:expr, $help:literal;)*) => {
        /// All rows: names of calls and values, then arguments, then flags.
        pub static ROWS: &[Row] = &[$(Row {
            place: $place, from: $from, names: &[$($name),+], change: $change, help: $help,
        }),*];
    };
}

rows! {
    // ---- streams
    Name, "tf.data, HF datasets", ["filter"], Renamed("where"),
        "`where` keeps the records for which a condition is true: `|> where label > 3`";
    Name, "pandas", ["query"], Told,
        "`where` keeps the records for which a condition is true: `|> where label > 3`";
    Name, "tf.data", ["prefetch" "prefetch_to_device" "prefetcher"], Gone,
        "every step already prefetches, within the memory of the run: remove this";
    Name, "tf.data", ["cache" "snapshot" "persist"], Gone,
        "values worth caching for later epochs are chosen by their cost: remove this. `--cache` \
         caches them on disk for later runs, and `pipec explain` shows what is cached";
    Name, "tf.data", ["with_options" "options" "experimental_distribute"], Gone,
        "there are no execution options: threads, buffers and order follow from the plan";
    Name, "tf.data", ["interleave" "parallel_interleave"], Told,
        "`shuffle` with `window: 10_000` and `spans: 16` takes one record from each of 16 files in turn, in a new order \
         of the files each epoch; `mix([a, b])` draws from several streams";
    Name, "tf.data", ["map_and_batch"], Told,
        "write both: `|> map { x: x * 2.0 } |> batch(32)`";
    Name, "tf.data", ["ragged_batch" "dense_to_ragged_batch"], Told,
        "`batch` keeps rows of different lengths with `ragged`: `|> batch(32, ragged: [ids])`";
    Name, "tf.data", ["padded_batch"], Told,
        "`batch` pads fields with `pad`: `|> batch(32, pad: { ids: 0 })`";
    Name, "tf.data, torchtext", ["bucket_by_sequence_length" "BucketBatchSampler" "BucketIterator" "group_by_length"], Told,
        "`batch` makes buckets: `|> batch(32, by: len(ids), bounds: [64, 128], pad: { ids: 0 })`";
    Name, "PyTorch", ["BatchSampler"], Told, "`|> batch(32)` makes batches of 32 records, `|> batch(tokens: 8192, by: len(ids), pad: { ids: 0 })` batches of up to 8192 tokens";
    Name, "tf.data, PyTorch", ["shard" "DistributedSampler" "split_by_node" "split_by_worker" "split_dataset_by_node" "nodesplitter"], Told,
        "ranks share the batches of one program: run it with `--rank` and `--world-size`; in \
         Python `pipe.torch()` gets them from `torch.distributed`";
    Name, "Python, tf.data", ["enumerate" "with_index"], Told,
        "zip with a counter: `zip({ at: range(100), row: a })`, if the number of records is known";
    Name, "tf.data, HF datasets", ["sample_from_datasets" "choose_from_datasets" "interleave_datasets" "RandomMix" "RoundRobin"], Told,
        "`mix` draws from several streams: `mix([a, b], weights: [0.7, 0.3])`";
    Name, "PyTorch", ["WeightedRandomSampler"], Told,
        "`sample` draws records by a weight: `|> sample(weight: 1.0 / x)`";
    Name, "PyTorch", ["RandomSampler" "shuffle_dataset" "random_shuffle"], Told,
        "`|> shuffle` permutes all records, `|> shuffle(window: 1000)` those near each other";
    Name, "PyTorch", ["SequentialSampler" "SubsetRandomSampler" "Subset" "sampler"], Told,
        "records come in the order of their source; `|> shuffle` permutes them, `|> where label > 3` selects some";
    Name, "tf.data, NumPy, pandas", ["concatenate" "concatenate_datasets" "ConcatDataset" "ChainDataset" "chain"], Told,
        "`concat([a, b])` concatenates streams or tensors";
    Name, "tf.data", ["unbatch" "explode" "rebatch"], Told,
        "`flat_map` turns one record into several: `|> flat_map [{ x }, { x: x + 1.0 }]`";
    Name, "tf.data, Keras, NumPy",
        ["window" "sliding_window" "sliding_window_view" "timeseries_dataset_from_array" "TimeseriesGenerator"], Told,
        "`windows` combines consecutive records into one: `|> map { x } |> windows(length: 8, \
         hop: 4)`";
    Name, "pandas, PySpark", ["head" "first" "limit" "islice"], Told, "`|> take(5)` keeps the first records";
    Name, "tf.data", ["ignore_errors"], Told,
        "skip records that fail: `|> map { image: decode_jpeg(bytes) } else skip`";
    Name, "tf.data, HF datasets", ["apply" "Lambda" "vectorize" "map_fn" "map_batches" "map_parallel"], Told,
        "`map` takes an expression over the record's fields: `|> map { x: x * 2.0 }`; for reuse, \
         define a `fn`";
    Name, "tf.data", ["py_function" "numpy_function" "python_function" "torch_python_function"], Told,
        "declare a Python function with `extern fn`";
    Name, "PyTorch", ["default_collate" "default_collate_fn" "default_data_collator" "DataCollatorWithPadding" "collate" "collate_fn" "stack_batch"], Told,
        "`batch` stacks each field by name, and pads: `|> batch(32, pad: { ids: 0 })`";
    Name, "PyTorch, DALI", ["DataLoader" "StatefulDataLoader" "DataLoader2" "DataPipe" "pipeline_def" "DALIGenericIterator"], Told,
        "the program is the loader: `pipeline` declares it, `batch` ends it, and `pipe.torch()` \
         returns its batches in Python";
    Name, "PyTorch", ["IterableDataset" "MapDataset" "Dataset"], Told,
        "files are read by the library, such as `files`, `csv` and `tar`; a data set in Python is declared \
         with `extern pipeline`, and `pipe.torch()` returns its batches";
    Name, "Python", ["print" "display" "show" "imshow" "inspect" "describe" "info"], Told,
        "programs do not print: `pipec peek` shows the records after each step";
    Name, "Python, PyTorch", ["set_seed" "manual_seed" "seed" "random_seed" "seed_everything" "Generator" "PRNGKey" "default_rng"], Told,
        "all randomness follows from one seed: `--seed`, and `seed=` of `pipec.load` in Python";
    Value, "tf.data", ["AUTOTUNE"], Told,
        "threads and buffers are chosen by the plan: remove it. `--workers` sets the number of \
         threads";
    Name, "Python", ["open" "read" "read_bytes" "open_file"], Told,
        "`read_text(path)` and `read_file(path)` read the file at a path";
    Name, "sklearn, HF datasets", ["train_test_split" "random_split" "split_dataset"], Told,
        "split by a hash, which is the same every time: `|> where hash(path) % 10 != 0`";
    Name, "torchvision, timm", ["RandomMixup" "MixUp"], Told,
        "`mixup` mixes the images and labels of a batch: \
         `|> map { x, label: one_hot(label, 10) } |> batch(32) |> map mixup(x, label, alpha: 0.4)`";
    Name, "torchvision, timm", ["RandomCutmix" "CutMix" "MixupCutmix"], Told,
        "`cutmix`, after `batch`, replaces a box of each image by that of another one and mixes their labels; the cookbook \
         chooses between it and `mixup`";

    // ---- sources
    Name, "torchvision", ["ImageFolder" "DatasetFolder" "image_dataset_from_directory" "ImageDataset" "FolderDataset"], Told,
        "`files(\"data/**/*.jpg\") |> map { image: decode_jpeg(bytes), label: class_of(path) }` reads class folders";
    Name, "tf.data", ["list_files" "FileLister" "listdir" "glob" "walk"], Renamed("files"),
        "`files` lists and reads files, in the same order everywhere; `|> shuffle` permutes them";
    Name, "DALI", ["readers.file" "file_reader" "read_files" "FileOpener"], Told,
        "`files(\"data/**/*.jpg\")` lists and reads files";
    Name, "tf.data, HF datasets, DALI", ["from_generator" "external_source"], Told,
        "declare an object or a generator in Python with `extern pipeline`";
    Name, "tf.data, HF datasets", ["from_tensor_slices" "from_tensors" "from_list" "from_dict" "from_pandas" "TensorDataset"], Told,
        "data comes from files, with `csv`, `jsonl`, `lines` and `files`, or from numbers, with \
         `range`; a short list can be indexed: `[3, 1, 2][label]`";
    Name, "torchvision, DALI", ["CocoDetection" "readers.coco" "COCOReader"], Told,
        "`coco` reads annotations in COCO's format, one record per image, and `join` pairs them with the files";
    Name, "HF datasets, NeMo, Dolma", ["TextDataset" "text_files" "DocumentDataset"], Renamed("documents"),
        "`documents` reads the texts of JSON Lines, Parquet, Arrow, CSV and text files";
    Name, "Streaming", ["StreamingDataset" "StreamingDataLoader" "MDSReader"], Renamed("mds"),
        "`mds` reads the samples of MDS shards, with a field for each column";
    Name, "HF datasets", ["load_dataset" "load_from_disk" "streaming" "snapshot_download"], Told,
        "files are read directly: `csv`, `jsonl`, `lines` and `files` stream them";
    Name, "pandas, tf.data", ["read_csv" "make_csv_dataset" "CsvDataset" "CSVParser" "read_table"], Renamed("csv"),
        "`csv` reads the rows of CSV files, with a field for each column";
    Name, "pandas", ["read_json" "read_jsonl" "JsonDataset" "read_ndjson"], Renamed("jsonl"),
        "`jsonl` reads the rows of JSON Lines";
    Name, "tf.data", ["TextLineDataset" "read_lines" "LineReader" "read_text_file"], Renamed("lines"),
        "`lines` reads the lines of text files";
    Name, "pandas, HF datasets", ["read_parquet" "ParquetDataset" "from_parquet" "scan_parquet" "ParquetFile"], Renamed("parquet"),
        "`parquet` reads the rows of Parquet files, with a field for each column";
    Name, "pandas, Polars, pyarrow", ["read_feather" "read_ipc" "scan_ipc" "open_stream" "from_file"], Renamed("arrow"),
        "`arrow` reads the rows of Arrow IPC and Feather files, with a field for each column";
    Name, "h5py, PyTables, Keras, TensorFlow I/O", ["h5py" "h5py.File" "HDF5Matrix" "HDF5Dataset" "read_hdf" "from_hdf5" "tables.open_file" "IODataset.from_hdf5"], Renamed("hdf5"),
        "`hdf5` reads HDF5 files: one record per file or, with an `over`, per row of its datasets";
    Name, "TensorFlow", ["TFRecordDataset" "tfrecord_reader" "readers.tfrecord" "parse_single_example" "parse_example"], Renamed("tfrecord"),
        "`tfrecord(\"data/*.tfrecord\") |> map { label: row[\"label\"] as i64 }` reads features of Examples";
    Name, "TensorFlow", ["FixedLengthRecordDataset"], Renamed("records"),
        "`records(\"data/*.bin\", size: 3073)` reads records of one size, each as `bytes`; `skip` is the size of a header";
    Name, "NumPy, DALI", ["np.load" "readers.numpy" "NumpyReader"], Renamed("npy"),
        "`npy` reads the rows of the arrays in NPY files, each as `value`; `read_npy(path) as f32[n]` reads a whole array; `npz` reads NPZ archives";
    Name, "NumPy", ["NpzFile" "savez" "load_npz"], Renamed("npz"),
        "`npz` reads the arrays of NPZ archives, with a field for each";
    Name, "NumPy", ["loadtxt" "genfromtxt" "fromstring"], Told,
        "`parse_table(text, columns: 5)` parses a table of numbers, such as the labels of YOLO";
    Name, "NumPy", ["frombuffer" "npy_loads" "load_npy"], Told,
        "`decode_npy(bytes) as f32[n, 4]` decodes an array in NPY form, and `read_npy(path) as f32[n, 4]` reads one";
    Name, "Python", ["gunzip" "ungzip" "unzip" "inflate" "decode_compressed" "zstd_decompress"], Renamed("decompress"),
        "`decompress(bytes)` decompresses gzip, Zstandard, xz and bzip2";
    Name, "Python, TensorFlow", ["unicode_transcode" "chardet" "to_unicode" "decode_utf8"], Renamed("decode_text"),
        "`decode_text(bytes)` decodes UTF-8, and with `encoding` other encodings";
    Name, "WebDataset", ["WebDataset" "WebLoader" "tarfile_to_samples" "readers.webdataset" "to_tuple" "tar_reader"], Renamed("tar"),
        "`tar(\"data/*.tar\") |> map { image: decode_jpeg(files[\"jpg\"] as bytes) }` reads shards of WebDataset";

    // ---- pictures
    Name, "torchvision, albumentations", ["Compose" "Sequential" "AugmentationSequential" "SomeOf"], Told,
        "chain the steps: `image |> resize(32) |> random_flip`; for reuse, define a `fn`";
    Name, "torchvision", ["ToTensor" "PILToTensor" "ToImage" "ToTensorV2" "ToPureTensor"], Told,
        "values are already tensors; the equivalent of `ToTensor` is `channels_first(f32(image) / \
         255.0)`";
    Name, "NumPy, PyTorch, TensorFlow", ["tensor" "as_tensor" "from_numpy" "array" "asarray" "constant" "convert_to_tensor"], Told,
        "values are already tensors, and so is a list: `[1, 2, 3]`";
    Name, "NumPy, torchvision", ["astype" "cast" "ToDtype" "convert_image_dtype" "to" "type_as"], Told,
        "call the dtype: `f32(image)`, or `f32(image) / 255.0` for numbers from 0 to 1";
    Name, "torchvision, albumentations, TensorFlow", ["RandomHorizontalFlip" "HorizontalFlip" "random_flip_left_right" "RandomMirror"], Renamed("random_flip"),
        "use `random_flip`, with the same `p`: `image |> random_flip`";
    Name, "torchvision, albumentations, TensorFlow", ["RandomVerticalFlip" "VerticalFlip" "random_flip_up_down"], Renamed("random_flip_y"),
        "use `random_flip_y`: `image |> random_flip_y`";
    Name, "torchvision, NumPy, TensorFlow", ["hflip" "fliplr" "flip_left_right" "mirror"], Renamed("flip_x"),
        "use `flip_x`: `image |> flip_x`";
    Name, "torchvision, NumPy, TensorFlow", ["vflip" "flipud" "flip_up_down"], Renamed("flip_y"),
        "use `flip_y`: `image |> flip_y`";
    Name, "DALI", ["coin_flip" "bernoulli" "random_apply_prob"], Told, "`coin(0.5)` is true with this probability";
    Name, "torchvision, albumentations", ["Resize"], Told,
        "`resize_short(image, 256)` keeps the aspect ratio, like `Resize(256)` of torchvision; \
         `resize(image, 224, 224)` resizes to exactly this size";
    Name, "albumentations", ["SmallestMaxSize" "resize_shortest_edge"], Renamed("resize_short"),
        "use `resize_short`: `image |> resize_short(256)`";
    Name, "TensorFlow", ["central_crop" "resize_with_crop_or_pad" "CenterCropPad"], Told,
        "`center_crop(image, 224)` crops the center, padded with zeros if the image is too small";
    Name, "DALI", ["crop_mirror_normalize"], Told,
        "write each step: `image |> center_crop(24) |> random_flip |> normalize(mean: [124.0, \
         116.0, 104.0], std: [58.0, 57.0, 57.0])`";
    Name, "DALI, OpenCV", ["decoders.image" "imdecode" "decode_img" "decode_bmp" "decode_gif" "decode_raw"], Renamed("decode_image"),
        "`decode_image(bytes)` decodes JPEG, PNG, WebP, GIF and BMP";
    Name, "OpenCV, torchvision", ["imread" "read_image" "open_image" "load_img" "default_loader" "pil_loader"], Told,
        "`decode_image(read_file(path))` reads an image; `files` already reads the `bytes`";
    Name, "DALI", ["decoders.image_random_crop" "image_random_crop" "decode_and_crop_jpeg" "decode_jpeg_random_crop"], Told,
        "`decode_jpeg(bytes) |> random_resized_crop(224)` decodes only the part that is used";
    Name, "torchvision, albumentations", ["RandomErasing" "CoarseDropout"], Told,
        "`random_erase(image)` erases a random box; with `value: noise` it needs floats: \
         `normalize(image, mean: 0.5, std: 0.25) |> random_erase(value: noise)`";
    Name, "DALI, KerasCV, albumentations", ["Cutout" "random_cutout"], Told,
        "`cutout(image, 16)` fills a square at a random place with zeros";
    Name, "torchvision, albumentations, Pillow", ["RandomPosterize" "Posterize"], Told,
        "`posterize(image, 4)` keeps 4 bits of each level; `if coin(0.5) then posterize(image, 4) else image` does so sometimes";
    Name, "torchvision, albumentations, Pillow", ["RandomSolarize" "Solarize"], Told,
        "`solarize(image, 128)` inverts bright levels; `if coin(0.5) then solarize(image, 128) else image` does so sometimes";
    Name, "torchvision, albumentations", ["RandomInvert" "InvertImg" "Invert"], Told,
        "`invert(image)` always inverts; `if coin(0.5) then invert(image) else image` does so sometimes";
    Name, "torchvision, albumentations", ["RandomEqualize" "Equalize" "equalizeHist"], Told,
        "`equalize(image)` always equalizes; `if coin(0.5) then equalize(image) else image` does so sometimes";
    Name, "torchvision, albumentations", ["RandomAutocontrast" "AutoContrast"], Told,
        "`autocontrast(image)` always stretches the levels; `if coin(0.5) then autocontrast(image) else image` does so sometimes";
    Name, "torchvision, albumentations", ["RandomAdjustSharpness" "Sharpen" "random_sharpness" "sharpness"], Told,
        "`adjust_sharpness(image, 1.5)` sharpens, with a factor below 1 it smooths: `adjust_sharpness(image, uniform(0.5, 1.5))`";
    Name, "albumentations, TensorFlow, DALI", ["RandomGamma" "gamma_contrast"], Told,
        "`adjust_gamma(image, 0.8)` is one value, `adjust_gamma(image, uniform(0.8, 1.2))` a random one";
    Name, "OpenCV, torchvision", ["cvtColor" "rgb_to_hsv" "rgb_to_lab" "to_hsv"], Told,
        "`color_space(image, from: rgb, to: hsv)` converts an image";
    Name, "OpenCV, albumentations", ["medianBlur" "MedianFilter"], Told,
        "`median_blur(image, 3)` is OpenCV's";
    Name, "albumentations, OpenCV", ["createCLAHE"], Told,
        "`clahe(image, limit: 4.0, tiles: 8)` is OpenCV's, for each channel";
    Name, "albumentations, torchvision", ["GaussNoise" "GaussianNoise"], Told,
        "`add_noise(image, std: 10.0)` adds noise of the normal distribution";
    Name, "torchvision, albumentations", ["ImageCompression" "jpeg_compression" "JPEG"], Told,
        "`jpeg_noise(image, quality: 50)` compresses an image and decodes it";
    Name, "torchvision, timm", ["RandAugment" "randaugment_transform"], Told,
        "`rand_augment(image, n: 2, m: 9)` applies two random operations";
    Name, "torchvision", ["TrivialAugmentWide"], Renamed("trivial_augment"),
        "`trivial_augment(image)` applies one random operation of random strength";
    Name, "torchvision, timm", ["auto_augment_transform" "AutoAugment"], Told,
        "`auto_augment(image, policy: imagenet)` applies operations of a learned policy";
    Name, "torchvision, timm", ["augment_and_mix_transform" "AugMix"], Told,
        "`aug_mix(image, severity: 3)` mixes an image with variants of it";
    Name, "torchvision, albumentations", ["RandomRotation" "Rotate" "SafeRotate"], Renamed("random_rotate"),
        "`random_rotate(image, -15.0, 15.0)` draws the angle, `rotate(image, 30)` rotates by one";
    Name, "torchvision, albumentations, Keras", ["RandomAffine" "Affine" "ShiftScaleRotate" "random_shift" "RandomTranslation" "RandomZoom"], Renamed("random_affine"),
        "`random_affine(image, degrees: -10..10, translate: 0.1, scale: 0.8..1.2)` draws all of it; \
         `affine(image, 30.0, x: 4.0)` does not draw";
    Name, "torchvision, albumentations", ["RandomPerspective" "Perspective"], Renamed("random_perspective"),
        "`random_perspective(image, 0.5, p: 0.5)` draws the corners; `perspective` is given them";
    Name, "torchvision, albumentations", ["ElasticTransform" "GridDistortion"], Renamed("elastic"),
        "`elastic(image, alpha: 50.0, sigma: 5.0)` moves the pixels by a random field; `remap` by any field";
    Name, "Pillow, DALI, OpenCV", ["warp_affine" "warpPerspective" "getRotationMatrix2D" "getAffineTransform" "affine_transform" "imtranslate"], Told,
        "`warp` looks every pixel up through a matrix from the result to the image, in Pillow's form: `warp(image, \
         affine_matrix(image.shape, degrees: 30.0), 32, 32, method: bilinear)`";
    Name, "OpenCV, torchvision", ["getPerspectiveTransform" "findHomography"], Renamed("perspective_matrix"),
        "`perspective_matrix` is the matrix that moves four points to four others, for `warp` and `warp_points`";
    Name, "OpenCV, PyTorch", ["grid_sample" "initUndistortRectifyMap"], Renamed("remap"),
        "`remap` looks every pixel up at a place of its own, in pixels";
    Name, "OpenCV", ["perspectiveTransform" "transform_points" "warp_keypoints"], Renamed("warp_points"),
        "`warp_points` moves points along with an image that `warp` warps by the same matrix";
    Name, "OpenCV", ["copyMakeBorder"], Told,
        "`pad(image, top: 2, bottom: 2, left: 4, right: 4, value: 114)` adds a border; `letterbox(image, 640)` also resizes";
    Name, "Ultralytics, DALI", ["LetterBox" "resize_with_pad"], Renamed("letterbox"),
        "`letterbox(image, 640)` resizes an image to fit, and adds borders of level 114";
    Name, "albumentations, Keras", ["LongestMaxSize" "resize_longest_edge" "ResizeLongestSide"], Renamed("resize_long"),
        "use `resize_long`: `image |> resize_long(256)`";
    Name, "albumentations, Ultralytics", ["Mosaic" "OverlayElements" "paste" "make_grid"], Told,
        "`collage` places images on one canvas: `collage([image, image], [[0, 0, 32, 32], [0, 32, 32, 32]], 32, 64)`";
    Name, "torchvision, albumentations", ["rot90" "RandomRotate90" "random_rot90"], Told,
        "`rotate(image, 90, expand: true)` rotates by a right angle; draw it with `uniform_int(0, 3)`";
    Name, "torchvision, albumentations", ["RandomGrayscale" "ToGray" "rgb_to_grayscale"], Told,
        "`grayscale(image)` is always gray, `if coin(0.1) then grayscale(image, channels: 3) else \
         image` sometimes";
    Name, "torchvision, albumentations", ["RandomApply" "RandomChoice" "OneOf" "RandomOrder"], Told,
        "`if coin(0.5) then flip_x(image) else image` applies a step sometimes, \
         `one_of([flip_x(image), flip_y(image)])` one of several";
    Name, "torchvision", ["GaussianBlur"], Told,
        "`random_gaussian_blur(image, 23)` draws its sigma, like torchvision; \
         `gaussian_blur(image, 23, sigma: 1.0)` does not";
    Name, "albumentations", ["RandomBrightnessContrast" "HueSaturationValue" "random_brightness" "random_contrast" "random_hue" "random_saturation"], Told,
        "`color_jitter(image, brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1)` draws all of these";
    Name, "TensorFlow", ["per_image_standardization" "standardize" "rescaling" "rescale"], Told,
        "`normalize(image, mean: [124.0, 116.0, 104.0], std: [58.0, 57.0, 57.0])` subtracts and \
         divides per channel";

    // ---- boxes, masks, points
    Name, "torchvision, albumentations", ["ConvertBoundingBoxFormat" "box_convert" "BboxParams"], Told,
        "`boxes_from` converts boxes to corners in pixels, `boxes_to` from them to other forms";
    Name, "torchvision, albumentations, Detectron2", ["SanitizeBoundingBoxes" "remove_small_boxes" "filter_bboxes" "filter_empty_instances"], Told,
        "`keep_boxes` says which boxes are large enough and inside, as a condition for boxes and labels";
    Name, "torchvision", ["ClampBoundingBoxes" "clip_boxes_to_image"], Told,
        "`clip_boxes` clips boxes to an image";
    Name, "torchvision, albumentations, DALI", ["RandomIoUCrop" "RandomSizedBBoxSafeCrop" "random_bbox_crop" "sample_distorted_bounding_box"], Told,
        "`ssd_random_crop` crops an image with its boxes; `draw_iou_crop` draws the part alone";
    Name, "torchvision, Detectron2", ["RandomZoomOut" "RandomExpand"], Told,
        "`zoom_out` places an image on a larger canvas, with its boxes";
    Name, "torchvision, Detectron2", ["box_iou" "bbox_iou" "bbox_overlaps" "pairwise_iou"], Told,
        "`iou` is the intersection over union of each box with each other one";
    Name, "DALI, torchvision, KerasCV", ["BbFlip" "horizontal_flip_bounding_boxes" "flip_bboxes"], Told,
        "`flip_boxes` flips boxes, and `flip_all` an image with its boxes and masks";
    Name, "torchvision, MMDetection", ["RandomShortestSize" "resize_bounding_boxes"], Told,
        "`resize_all` resizes an image with its boxes and masks, `resize_boxes` boxes alone";
    Name, "pycocotools, scikit-image, Detectron2", ["annToMask" "frPyObjects" "polygon2mask" "polygons_to_bitmask" "convert_coco_poly_to_mask" "draw_polygon"], Told,
        "`rasterize` draws the outlines of COCO's annotations as masks";
    Name, "torchvision, DALI, Detectron2", ["SSDMatcher" "Matcher" "BoxEncoder"], Told,
        "`match_anchors` gives for each anchor the index of its box";
    Name, "albumentations, Ultralytics", ["CopyPaste" "MixImages"], Told,
        "`companions` adds the fields of other records of the stream to each record";

    // ---- pandas
    Name, "pandas", ["iloc" "loc" "iat" "at"], Told,
        "select a record with `|> skip(3) |> take(1)`, an element of a field with `ids[0]`";
    Name, "pandas", ["dropna" "isna" "notna" "isnull" "notnull"], Told,
        "set a value for empty fields in `csv`: `missing: { age: -1 }`, then drop such rows with \
         `where`";
    Name, "pandas", ["fillna" "interpolate"], Told, "set a value for empty fields in `csv`: `missing: { age: -1 }`";
    Name, "pandas", ["groupby" "value_counts" "bincount" "Counter"], Told,
        "`count` gives the number of records for each key, as a constant if the program needs it: \
         `|> count(by: label, classes: 10)`; `pipec scan` counts the labels";
    Name, "sklearn, Keras", ["StandardScaler" "adapt"], Told,
        "`moments` gives mean and standard deviation of a stream, as a constant that `map` can use: `|> moments(of: x)`";
    Name, "pandas, Polars, Ray Data", ["merge" "left_join" "inner_join" "join_on"], Told,
        "`join` adds the fields of the record of another stream with the same key: `|> join(range(9) |> map { label: i, \
         weight: 0.5 }, on: label, missing: skip)`";
    Name, "pandas, HF datasets", ["drop" "drop_columns" "remove_columns" "select_columns" "pop"], Told,
        "`map` lists the fields to keep: `|> map { image, label }`";
    Name, "pandas, HF datasets", ["rename" "rename_column" "rename_columns"], Told,
        "`map` renames fields: `|> map { picture: image, label }`; `columns: { fare: \"Fare (USD)\" }` renames the columns of a table";
    Name, "pandas, polars", ["assign" "add_column" "with_column" "with_columns" "insert"], Told,
        "`with` adds fields: `|> with { y: x * 2.0 }`";
    Name, "pandas, Polars, Spark", ["unique" "drop_duplicates" "distinct" "duplicated"], Told,
        "`dedupe` keeps the first record of each key: `|> dedupe(by: label)`; `pipec scan` finds duplicate files";
    Name, "datasketch, datatrove, NeMo Curator", ["MinHash" "MinHashLSH" "MinhashDedup" "MinHashDeduplicator" "near_dedup"], Told,
        "`minhash` gives hashes of which texts that are nearly the same share one: `|> dedupe(by: minhash(text), match: any)`";
    Name, "pandas", ["sort" "sort_values" "sorted" "argsort" "sort_by"], Told,
        "a stream keeps the order of its source; `batch` groups records of similar length: `|> \
         batch(32, by: len(ids), bounds: [64], pad: { ids: 0 })`";
    Name, "Keras, TensorFlow, torchtext", ["StringLookup" "IntegerLookup" "StaticVocabularyTable" "StaticHashTable" "TextFileInitializer" "index_table_from_file" "build_vocab_from_iterator" "lookup_indices"], Told,
        "`lookup` returns the number of a key's line in a text file, `index_of` that of its entry in a short list";
    Name, "pandas, sklearn", ["LabelEncoder" "factorize" "Categorical" "class_encode_column"], Told,
        "`class_of(path)` numbers the folders of a set; compare a field with `==` and `in`";
    Name, "sklearn, Keras", ["OneHotEncoder" "to_categorical" "CategoryEncoding" "get_dummies"], Told,
        "`one_hot(label, 10)` encodes a label as a vector";
    Name, "HF transformers", ["Tokenizer" "AutoTokenizer" "PreTrainedTokenizerFast" "BertTokenizer" "BertWordPieceTokenizer" "T5Tokenizer" "LlamaTokenizer"], Told,
        "`tokenize` gives the ids of a text, from the file of a model: of Hugging Face, SentencePiece, tiktoken or BERT";
    Name, "SentencePiece, TensorFlow Text", ["SentencePieceProcessor" "SentencepieceTokenizer" "FastWordpieceTokenizer" "WordpieceTokenizer" "FastBertTokenizer" "EncodeAsIds"], Told,
        "`tokenize` gives the ids of a text, from a model file of SentencePiece or a vocabulary of BERT";
    Name, "SentencePiece", ["PieceToId" "bos_id" "eos_id" "unk_id" "pad_id"], Told,
        "`token_id` gives the id of a piece, known when the program is compiled";
    Name, "SentencePiece", ["GetPieceSize" "vocab_size" "n_vocab" "get_vocab_size"], Told,
        "`vocabulary_size` gives the number of ids of a model, known when the program is compiled";
    Name, "SentencePiece", ["DecodeIds"], Renamed("detokenize"), "`detokenize` gives the text of ids";
    Name, "Keras, NLTK", ["TextVectorization" "word_tokenize"], Told,
        "`tokenize` gives the ids of the tokenizer that a file holds; for other kinds, use a Python function declared with \
         `extern fn`";
    Name, "tokenizers, SentencePiece, subword-nmt", ["BPEDropout" "dropout_bpe" "sample_encode" "SampleEncodeAsIds"], Told,
        "`tokenize_dropout` splits words at random (BPE-dropout), with the files of `tokenize`";
    Name, "HF transformers, tiktoken", ["encode_ordinary" "encode_plus" "batch_encode_plus" "encode_batch" "encode_with_special_tokens"], Told,
        "`tokenize` gives the ids of a text; with `specials: true`, what is written as a special token is that token";
    Name, "HF transformers", ["batch_decode" "convert_ids_to_tokens" "decode_batch"], Renamed("detokenize"), "`detokenize` gives the text of ids";
    Name, "HF transformers", ["convert_tokens_to_ids" "eos_token_id" "pad_token_id" "bos_token_id" "encode_single_token"], Told,
        "`token_id` gives the id of a token, known when the program is compiled, as constants are";
    Name, "HF transformers, TRL, torchtune", ["apply_chat_template" "return_assistant_tokens_mask" "get_chat_template" "SFTTrainer" "assistant_only_loss" "completion_only_loss" "DataCollatorForCompletionOnlyLM" "maybe_apply_chat_template" "train_on_responses_only"], Told,
        "`chat` gives the ids of messages and which of them count for the loss, as the template of the model says";
    Name, "Grain, TRL, T5X", ["ConcatThenSplitIterDataset" "ConcatThenSplit" "FirstFitPackIterDataset" "BestFitPackIterDataset" "ConstantLengthDataset" "pack_dataset" "trim_and_pack_dataset" "group_texts"], Told,
        "`pack` fills sequences of one length, end to end or with whole records";

    Name, "HF transformers, KerasHub, TF Text", ["DataCollatorForLanguageModeling" "MaskedLMMaskGenerator" "mask_language_model"], Told,
        "`mask_tokens(ids, mask: 103, vocabulary: 30_522)` masks random tokens as BERT does, and gives their labels beside them";
    Name, "Megatron-LM, StarCoder", ["fim" "fim_transform" "apply_fim" "fill_in_the_middle"], Told,
        "`fill_in_middle(ids, prefix: 1, suffix: 3, middle: 2)` moves the middle of some documents to their end";
    Name, "PyTorch, Keras, gensim", ["Embedding" "EmbeddingBag" "embedding_lookup" "KeyedVectors" "GloVe"], Told,
        "`embed` looks up rows of an array of NumPy by their numbers; an embedding that is trained belongs into the model";
    Name, "torchtext, GNMT", ["vocab_ids" "lookup_words" "words_to_ids" "sentences_to_ids" "texts_to_sequences"], Told,
        "`word_ids` returns the line numbers of words in a text file";
    Name, "Python", ["trafilatura" "BeautifulSoup" "html2text" "html_to_text" "get_text" "inscriptis" "justext" "readability"], Told,
        "`html_text(text)` gives the text of a page, and `html_text(text, keep: article)` that of its article";

    // ---- values
    Name, "NumPy, PyTorch", ["permute" "moveaxis" "swapaxes" "rearrange"], Told,
        "`transpose(image, [2, 0, 1])` reorders the axes; for an image, use \
         `channels_first(image)`";
    Name, "PyTorch, NumPy", ["unsqueeze" "expand_dims"], Renamed("expand"), "`expand(ids, 0)` adds an axis";
    Name, "PyTorch, NumPy", ["squeeze" "flatten" "ravel" "view"], Told, "`reshape(image, [-1])` changes the extents";
    Name, "NumPy, TensorFlow", ["clip" "clip_by_value"], Renamed("clamp"), "`clamp(x, 0.0, 1.0)` keeps a number within bounds";
    Name, "PyTorch, NumPy", ["cat" "hstack" "vstack"], Told, "`concat([ids, ids])` concatenates tensors, `stack([ids, ids])` stacks them along a new axis";
    Name, "Python, NumPy", ["randint" "randrange" "integers"], Told, "`uniform_int(0, 9)` draws an integer, both bounds included";
    Name, "Python, NumPy", ["rand" "random"], Told, "`uniform()` draws from 0 to 1, `uniform(-1.0, 1.0)` between these bounds, and `random_uniform([3, 4])` draws a tensor";
    Name, "NumPy", ["randn" "gauss" "standard_normal" "randn_like"], Told, "`normal()` draws one number, `normal(0.0, 0.1)` with a mean and a standard deviation, and `random_normal([3, 4])` draws a tensor";
    Name, "PyTorch", ["randperm"], Renamed("permutation"), "`permutation(10)` is a random order";
    Name, "Python", ["choice" "choices"], Told, "`one_of([1, 2, 3])` draws an element, `random_index(10)` an index";
    Name, "NumPy, PyTorch", ["size" "ndim" "numel"], Told, "`image.shape` is the list of extents, `len(ids)` the first of them";
    Name, "NumPy", ["power"], Told, "powers are written `x ** 2.0`";
    Name, "NumPy, PyTorch, TensorFlow", ["compress" "masked_select" "boolean_mask"], Renamed("select"), "`ids[ids > 4]` selects the elements for which it is true";
    Name, "pandas, NumPy", ["isin" "in1d"], Told, "`label in [1, 2]` is true if one of these is equal";
    Name, "NumPy, Keras, pandas", ["digitize" "searchsorted" "Discretization" "cut" "KBinsDiscretizer"], Renamed("bucketize"),
        "`bucketize(x, [0.5, 10.0])` is the number of the bucket that it lies in";
    Name, "Python", ["int"], Told, "`i64(x)` converts a number to an integer, `parse_int(text)` a string";
    Name, "Python", ["float"], Told, "`f32(x)` converts a number to a float, `parse_float(text)` a string";
    Name, "Python", ["str" "repr"], Told, "`text_of(label)` converts a number to a string, and `\"{text}.txt\"` interpolates a string";
    Name, "Python", ["list" "tuple" "dict" "set"], Told, "lists are written `[1, 2]`, records `{ label, text }`";
    Name, "Python", ["basename" "getname"], Renamed("name_of"), "`name_of(path)` is the last part of a path";
    Name, "Python", ["dirname"], Renamed("folder_of"), "`folder_of(path)` is the folder of a file";
    Name, "Python", ["splitext" "Path" "suffix" "stem"], Told, "`stem_of(path)`, `extension_of(path)`, `name_of(path)` and `folder_of(path)` are the parts of a path";
    Name, "Python, NumPy, pandas", ["split" "rsplit" "splitlines" "partition" "findall" "regexp_split"], Told,
        "`lines` reads each line of a file as a record, and `csv` each column as a field; `word_count(text)` and \
         `count_matches(text, '[0-9]+')` count what a text has, `word_ids` numbers its words; for other parts, use a Python \
         function declared with `extern fn` (see the cookbook); `|> where hash(path) % 10 != 0` splits a data set";
    Name, "TensorFlow, pandas, Spark", ["regex_replace" "regexp_replace" "str_replace_all"], Told,
        "`replace_all(text, '[0-9]+', new: \"0\")` replaces what a regular expression matches, `replace(text, \"a\", \"b\")` a fixed string";
    Name, "Python, TensorFlow, Spark", ["regex_full_match" "fullmatch" "rlike" "regexp_like"], Told,
        "`matches(text, '^[a-z]+$')` is true if a regular expression matches";
    Name, "Python, pandas, Spark", ["str_count" "count_substring" "substr_count" "regexp_count"], Told,
        "`count_of(text, \",\")` counts a fixed string, `count_matches(text, '[0-9]+')` what a regular expression matches";
    Name, "Python, TensorFlow, tokenizers", ["unicode_normalize" "normalize_utf8" "NFC" "NFKC" "ftfy"], Told,
        "`normalize_text(text)` composes characters (NFC), `normalize_text(text, form: nfkc)` also replaces compatibility characters";
    Name, "Python", ["word_length" "wordcount" "num_words" "count_words"], Told, "`word_count(text)` counts words";
    Name, "Python", ["trim" "lstrip" "rstrip"], Told, "`strip(text)` removes spaces at both ends";
    Name, "Python", ["to_lower" "lowercase" "casefold"], Renamed("lower"), "`lower(text)` converts to lower case";
    Name, "Python", ["to_upper" "uppercase"], Renamed("upper"), "`upper(text)` converts to upper case";
    Name, "Python", ["loads" "json_loads" "decode_json_example"], Renamed("parse_json"), "`parse_json(text)` parses JSON, and `as` gives it a type";
    Name, "PyTorch", ["numpy" "item" "tolist" "cpu" "cuda" "device" "detach"], Told,
        "a program has no devices and no Python objects: remove it; `pipe.numpy()` and \
         `pipe.torch()` return such batches in Python";

    // ---- arguments
    ArgumentOf("batch"), "PyTorch", ["drop_last"], Truth("tail: drop", "tail: keep"),
        "`tail: drop` drops the last, short batch, `tail: keep` keeps it";
    ArgumentOf("batch"), "tf.data", ["drop_remainder" "drop_last_batch"], Truth("tail: drop", "tail: keep"),
        "`tail: drop` drops the last, short batch, `tail: keep` keeps it";
    ArgumentOf("batch"), "PyTorch, HF datasets", ["batch_size" "n"], Renamed("size"), "use `size`, the first argument: `|> batch(32)`";
    ArgumentOf("batch"), "PyTorch", ["collate_fn"], Told,
        "`batch` stacks each field by name; set padding with `pad: { ids: 0 }`";
    ArgumentOf("batch"), "tf.data", ["padded_shapes" "padding_values" "padding_value" "pad_value"], Told, "`pad: { ids: 0 }` sets the fields to pad and the padding values";
    ArgumentOf("batch"), "tf.data, PyTorch", ["row_splits" "jagged" "cu_seqlens" "lengths"], Told, "`|> batch(32, ragged: [ids])` concatenates the rows, with the offset of each";
    ArgumentOf("batch"), "tf.data", ["bucket_boundaries" "boundaries" "buckets"], Renamed("bounds"), "`bounds: [64, 128]` sets the bucket boundaries for the value of `by`";
    ArgumentOf("batch"), "tf.data", ["bucket_batch_sizes"], Renamed("size"), "`size` may be a list, the rows of a batch for each bucket";
    ArgumentOf("batch"), "tf.data", ["pad_to_bucket_boundary"], Truth("to: bound", "to: longest"), "`to: bound` pads rows to the bound of their bucket instead of the longest row";
    ArgumentOf("pack"), "Grain, T5X", ["length_struct" "feature_lengths" "max_length" "seq_length" "sequence_length"], Renamed("length"), "`length: 2048` is the length of a sequence; of several fields, `length: { source: 256, target: 128 }`";
    ArgumentOf("pack"), "Grain", ["num_packing_bins"], Renamed("bins"), "`bins: 64` is the number of sequences that are filled at the same time";
    ArgumentOf("batch"), "fairseq", ["max_tokens"], Renamed("tokens"), "`tokens: 8192` limits the tokens of a batch";
    ArgumentOf("batch"), "PyTorch", ["shuffle" "sampler" "batch_sampler"], Told, "use a separate step: `|> shuffle |> batch(32)`";
    ArgumentOf("chat"), "HF transformers", ["add_generation_prompt"], Renamed("prompt"), "`prompt: true` ends the text with what stands before an answer";
    ArgumentOf("chat"), "HF transformers", ["chat_template"], Renamed("template"), "`template` is the path of a file with the template in Jinja";
    ArgumentOf("chat"), "HF transformers", ["tokenizer"], Renamed("model"), "`model` is the path of a `tokenizer.json`";
    ArgumentOf("shuffle"), "tf.data, HF datasets", ["buffer_size" "shuffle_buffer" "buffer" "initial_fill" "bufsize"], Renamed("window"),
        "`|> shuffle` needs no buffer; `window: 1000` is for streams without an index";
    ArgumentOf("shuffle"), "tf.data", ["reshuffle_each_iteration"], Gone, "each epoch has its own order: remove it";
    ArgumentOf("random_resized_crop"), "torchvision", ["scale"], Renamed("area"), "`area: 0.08..1.0` is the area of the crop as a fraction of the image";
    ArgumentOf("random_resized_crop"), "torchvision", ["ratio"], Renamed("aspect"), "`aspect: 3/4..4/3` is its width divided by its height";
    ArgumentOf("random_resized_crop"), "torchvision", ["size"], Renamed("height"), "`random_resized_crop(image, 224)` takes the height, then the width";
    ArgumentOf("random_resized_crop"), "torchvision", ["interpolation"], Renamed("method"), "use `method`: `method: bicubic`";
    ArgumentOf("resize"), "torchvision", ["size"], Renamed("height"), "`resize(image, 224, 224)` takes the height, then the width";
    ArgumentOf("resize"), "torchvision", ["interpolation" "resample"], Renamed("method"), "use `method`: `method: bicubic`";
    ArgumentOf("resize_short"), "torchvision", ["interpolation" "resample"], Renamed("method"), "use `method`: `method: bicubic`";
    ArgumentOf("resize_short"), "torchvision", ["max_size"], Renamed("most"), "use `most`: `most: 1333`";
    ArgumentOf("rand_augment"), "torchvision", ["num_ops"], Renamed("n"), "`n: 2` is the number of operations";
    ArgumentOf("rand_augment"), "torchvision", ["magnitude"], Renamed("m"), "`m: 9` is the place of the magnitude";
    ArgumentOf("rand_augment"), "torchvision", ["num_magnitude_bins"], Renamed("bins"), "`bins: 31` is the number of magnitudes";
    ArgumentOf("rand_augment"), "torchvision", ["interpolation"], Renamed("method"), "use `method`: `method: bilinear`";
    ArgumentOf("trivial_augment"), "torchvision", ["num_magnitude_bins"], Renamed("bins"), "`bins: 31` is the number of magnitudes";
    ArgumentOf("solarize"), "torchvision", ["threshold"], Renamed("above"), "`solarize(image, 128)` inverts levels of at least 128";
    ArgumentOf("random_erase"), "torchvision", ["scale"], Renamed("area"), "`area: 0.02..0.33` is the area of the box as a fraction of the image";
    ArgumentOf("random_erase"), "torchvision", ["ratio"], Renamed("aspect"), "`aspect: 0.3..3.3` is the height of the box divided by its width";
    ArgumentOf("random_crop"), "torchvision", ["size"], Renamed("height"), "`random_crop(image, 24)` takes the height, then the width";
    ArgumentOf("random_crop"), "torchvision", ["fill"], Renamed("value"), "use `value`: `value: 0.0`";
    ArgumentOf("random_crop"), "torchvision", ["padding_mode"], Renamed("mode"), "use `mode`: `mode: reflect`";
    ArgumentOf("random_crop"), "torchvision", ["pad_if_needed"], Told, "`random_crop(pad(image, 8), 24)` adds a border to the image first";
    ArgumentOf("center_crop"), "torchvision", ["size"], Renamed("height"), "`center_crop(image, 224)` takes the height, then the width";
    ArgumentOf("pad"), "torchvision", ["fill"], Renamed("value"), "use `value`: `value: 0.0`";
    ArgumentOf("pad"), "torchvision", ["padding_mode"], Renamed("mode"), "use `mode`: `mode: reflect`";
    ArgumentOf("random_flip"), "albumentations", ["prob" "probability"], Renamed("p"), "use `p`: `p: 0.5`";
    ArgumentOf("take"), "tf.data", ["count" "num" "limit"], Renamed("n"), "use `n`: `|> take(5)`";
    ArgumentOf("skip"), "tf.data", ["count" "num"], Renamed("n"), "use `n`: `|> skip(5)`";
    ArgumentOf("repeat"), "tf.data", ["count" "times" "num_epochs" "epochs"], Renamed("n"), "use `n`: `|> repeat(3)`; passes over the data are `--epochs`";
    ArgumentOf("range"), "Python", ["start" "stop" "step" "end"], Told, "`range(9)` counts from 0; `range(9) |> map { i: i * 2 + 5 }` computes other numbers";
    ArgumentOf("windows"), "tf.data", ["size" "window_size"], Renamed("length"), "use `length`: `length: 8`";
    ArgumentOf("windows"), "tf.data", ["shift" "stride" "step"], Renamed("hop"), "use `hop`: `hop: 4`";
    ArgumentOf("one_hot"), "PyTorch, TensorFlow", ["num_classes" "depth"], Renamed("classes"), "use `classes`: `one_hot(label, classes: 10)`";
    ArgumentOf("mix"), "tf.data, HF datasets", ["probabilities" "probs" "weight"], Renamed("weights"), "use `weights`: `mix([a, b], weights: [0.7, 0.3])`";
    ArgumentOf("mix"), "HF datasets", ["stopping_strategy" "stop_on_empty_dataset"], Told, "`at_end: stop` ends with the first stream that ends, `at_end: drop` with the last";
    ArgumentOf("sample"), "PyTorch", ["weights"], Renamed("weight"), "`weight: x` is the weight of each record";
    ArgumentOf("sample"), "PyTorch", ["num_samples" "n"], Renamed("count"), "use `count`: `count: 1000`";
    ArgumentOf("uniform"), "TensorFlow", ["minval"], Renamed("low"), "use `low`: `low: 0.0`";
    ArgumentOf("uniform"), "TensorFlow", ["maxval"], Renamed("high"), "use `high`: `high: 1.0`";
    ArgumentOf("normal"), "NumPy", ["loc"], Renamed("mean"), "use `mean`: `mean: 0.0`";
    ArgumentOf("normal"), "NumPy", ["scale" "stddev" "sigma"], Renamed("std"), "use `std`: `std: 1.0`";
    ArgumentOf("csv"), "pandas", ["sep"], Renamed("delimiter"), "use `delimiter`: `delimiter: \";\"`";
    ArgumentOf("csv"), "pandas", ["record_defaults"], Renamed("missing"), "`missing: { age: -1 }` sets the value for empty fields of a column";
    ArgumentOf("csv"), "pandas", ["index_col" "nrows"], Told, "all columns are fields, and unused ones cost nothing; `|> take(5)` limits the rows";
    ArgumentOf("csv"), "pandas, Polars, pyarrow, tf.data", ["usecols" "names" "new_columns" "column_names" "include_columns" "select_columns"], Told,
        "`columns: { age, fare: \"Fare (USD)\" }` lists the columns to read and gives them names; without a header, columns are called column1, column2 and so on";
    ArgumentOf("files"), "tf.data", ["recursive"], Told, "`**` in the pattern matches any folders: `files(\"data/**/*.jpg\")`";
    ArgumentOf("files"), "tf.data", ["shuffle" "random_shuffle"], Told, "files come in natural order; use a separate step to shuffle: `|> shuffle`";
    Argument, "PyTorch, tf.data, HF datasets", ["num_workers" "num_parallel_calls" "num_parallel_reads" "num_proc" "n_jobs" "num_threads" "cycle_length" "block_length"], Gone,
        "threads are chosen by the plan: remove it. `--workers` sets their number";
    Argument, "PyTorch", ["prefetch_factor" "prefetch" "prefetch_queue_depth" "persistent_workers" "worker_init_fn" "multiprocessing_context" "timeout"], Gone,
        "there are no worker processes to set up: remove it";
    Argument, "PyTorch", ["pin_memory" "pin_memory_device" "device"], Gone,
        "a program has no devices: remove it; in Python it is an argument of `pipe.torch()`";
    Argument, "tf.data", ["deterministic" "stick_to_shard"], Gone, "the order is the same for any number of threads: remove it";
    Argument, "tf.data, PyTorch", ["seed" "generator" "random_state" "rng"], Gone,
        "all randomness follows from one seed: remove it, and set `--seed`, or `seed=` of \
         `pipec.load` in Python";
    Argument, "HF datasets", ["streaming" "lazy" "keep_in_memory" "as_supervised" "load_from_cache_file"], Gone, "every source is read lazily: remove it";
    Argument, "PyTorch, NumPy", ["dim" "axes" "dims"], Renamed("axis"), "use `axis`: `axis: 0`";
    Argument, "NumPy", ["dtype"], Told, "call the dtype: `f32(x)`";

    // ---- flags
    Flag, "PyTorch", ["--num-workers" "--threads" "--jobs" "--num-threads" "--nproc"], Renamed("--workers"), "use `--workers`; the default is all cores";
    Flag, "PyTorch", ["--batch-size" "--bs" "--batch"], Told, "the batch size is set in the program: `|> batch(64)`; make it a `param` to set it with `--set`";
    Flag, "training scripts", ["--data" "--data-dir" "--data-path" "--root" "--train-dir" "--param" "--params" "--define"], Told,
        "set the parameters of a program with `--set`: `--set data=/data/imagenet`";
    Flag, "training scripts", ["--output" "--output-dir" "--out-dir" "--save-dir"], Renamed("--out"), "use `--out`";
    Flag, "training scripts", ["--max-steps" "--steps" "--max-batches" "--num-batches" "--max-samples"], Renamed("--limit"), "use `--limit`: the number of batches, or of records without `batch`";
    Flag, "training scripts", ["--num-epochs" "--max-epochs" "--n-epochs"], Renamed("--epochs"), "use `--epochs`";
    Flag, "training scripts", ["--random-seed" "--manual-seed"], Renamed("--seed"), "use `--seed`";
    Flag, "training scripts", ["--resume" "--resume-from" "--ckpt" "--checkpoint-dir"], Renamed("--checkpoint"),
        "`--checkpoint` saves the position of a run to a file, and resumes from it";
    Flag, "torchrun", ["--local-rank" "--node-rank"], Renamed("--rank"), "use `--rank`, together with `--world-size`";
    Flag, "torchrun", ["--nnodes" "--nproc-per-node" "--num-ranks"], Renamed("--world-size"), "use `--world-size`: the number of processes that share the work";
    Flag, "make, Docker", ["--ram" "--mem" "--memory-limit" "--max-memory"], Renamed("--memory"), "use `--memory`: `--memory 2GiB`";
    Flag, "training scripts", ["--cache-dir" "--cache-path"], Renamed("--cache"), "use `--cache`";
    Flag, "training scripts", ["--shuffle" "--drop-last" "--prefetch" "--pin-memory" "--augment"], Told, "set it in the program: `|> shuffle`, `|> batch(64, tail: drop)`";
    Flag, "training scripts", ["--dry-run"], Told, "`pipec check` finds errors without running anything, `--limit` runs a few batches";
    Flag, "training scripts", ["--gpu" "--gpus" "--cuda" "--accelerator"], Told, "pipelines run on the CPU; in Python, `pipe.torch()` moves the batches to a device";
}
