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
        "`where` keeps the records for which a condition holds: `|> where label > 3`";
    Name, "pandas", ["query"], Told,
        "`where` keeps the records for which a condition holds: `|> where label > 3`";
    Name, "tf.data", ["prefetch" "prefetch_to_device" "prefetcher"], Gone,
        "every step works ahead already, within the memory of the run: leave this out";
    Name, "tf.data", ["cache" "snapshot" "persist"], Gone,
        "what is worth keeping for later epochs is chosen by its cost: leave this out. `--cache` keeps it on disk for \
         later runs, and `pipec explain` says what is kept";
    Name, "tf.data", ["with_options" "options" "experimental_distribute"], Gone,
        "there are no options of execution: threads, buffers and order follow from the plan";
    Name, "tf.data", ["interleave" "parallel_interleave"], Told,
        "many files are read at a time already; `mix([a, b])` draws from several streams";
    Name, "tf.data", ["map_and_batch"], Told,
        "write both: `|> map { x: x * 2.0 } |> batch(32)`";
    Name, "tf.data", ["ragged_batch" "dense_to_ragged_batch"], Told,
        "`batch` keeps rows as long as they are where it is told to: `|> batch(32, ragged: [ids])`";
    Name, "tf.data", ["padded_batch"], Told,
        "`batch` pads the fields that it is told to pad: `|> batch(32, pad: { ids: 0 })`";
    Name, "tf.data, torchtext", ["bucket_by_sequence_length" "BucketBatchSampler" "BucketIterator" "group_by_length"], Told,
        "`batch` makes buckets: `|> batch(32, by: len(ids), bounds: [64, 128], pad: { ids: 0 })`";
    Name, "PyTorch", ["BatchSampler"], Told, "`|> batch(32)` makes batches, `|> batch(tokens: 8192, by: len(ids), pad: { ids: 0 })` of so many tokens";
    Name, "tf.data, PyTorch", ["shard" "DistributedSampler" "split_by_node" "split_by_worker" "split_dataset_by_node" "nodesplitter"], Told,
        "ranks share the batches of one program: run it with `--rank` and `--world-size`; in Python `pipe.torch()` asks `torch.distributed`";
    Name, "Python, tf.data", ["enumerate" "with_index"], Told,
        "a counter is a stream beside: `zip({ at: range(100), row: a })`, where the number of records is known";
    Name, "tf.data, HF datasets", ["sample_from_datasets" "choose_from_datasets" "interleave_datasets" "RandomMix" "RoundRobin"], Told,
        "`mix` draws from several streams: `mix([a, b], weights: [0.7, 0.3])`";
    Name, "PyTorch", ["WeightedRandomSampler"], Told,
        "`sample` draws records by a weight: `|> sample(weight: 1.0 / x)`";
    Name, "PyTorch", ["RandomSampler" "shuffle_dataset" "random_shuffle"], Told,
        "`|> shuffle` permutes all records, `|> shuffle(window: 1000)` those near each other";
    Name, "PyTorch", ["SequentialSampler" "SubsetRandomSampler" "Subset" "sampler"], Told,
        "records come in the order of their source; `|> shuffle` permutes them, `|> where label > 3` selects some";
    Name, "tf.data, NumPy, pandas", ["concatenate" "concatenate_datasets" "ConcatDataset" "ChainDataset" "chain"], Told,
        "`concat([a, b])` puts streams, or tensors, one after the other";
    Name, "tf.data", ["unbatch" "explode" "rebatch"], Told,
        "`flat_map` makes several records of one: `|> flat_map [{ x }, { x: x + 1.0 }]`";
    Name, "tf.data", ["window" "sliding_window"], Told,
        "`windows` makes one record of several successive ones: `|> map { x } |> windows(length: 8, hop: 4)`";
    Name, "pandas, PySpark", ["head" "first" "limit" "islice"], Told, "`|> take(5)` lets the first records through";
    Name, "tf.data", ["ignore_errors"], Told,
        "say what becomes of records that fail: `|> map { image: decode_jpeg(bytes) } else skip`";
    Name, "tf.data, HF datasets", ["apply" "Lambda" "vectorize" "map_fn" "map_batches" "map_parallel"], Told,
        "`map` takes an expression over the record's fields: `|> map { x: x * 2.0 }`; what is used twice is a `fn`";
    Name, "tf.data", ["py_function" "numpy_function" "python_function" "torch_python_function"], Told,
        "a function in Python is declared with `extern fn`";
    Name, "PyTorch", ["default_collate" "default_collate_fn" "default_data_collator" "DataCollatorWithPadding" "collate" "collate_fn" "stack_batch"], Told,
        "`batch` stacks each field by its name, and pads: `|> batch(32, pad: { ids: 0 })`";
    Name, "PyTorch, DALI", ["DataLoader" "StatefulDataLoader" "DataLoader2" "IterableDataset" "MapDataset" "Dataset" "DataPipe" "pipeline_def" "DALIGenericIterator"], Told,
        "the program is the loader: `pipeline` declares it, `batch` ends it, and `pipe.torch()` gives its batches in Python";
    Name, "Python", ["print" "display" "show" "imshow" "inspect" "describe" "info"], Told,
        "a program prints nothing: `pipec peek` shows the records after each step";
    Name, "Python, PyTorch", ["set_seed" "manual_seed" "seed" "random_seed" "seed_everything" "Generator" "PRNGKey" "default_rng"], Told,
        "everything random follows from one seed: `--seed`, and `seed=` of `pipec.load` in Python";
    Value, "tf.data", ["AUTOTUNE"], Told,
        "threads and buffers are chosen by the plan: leave it out. `--workers` says how many threads compute";
    Name, "Python", ["open" "read" "read_bytes" "open_file"], Told,
        "`read_text(path)` and `read_file(path)` read the file of a path";
    Name, "sklearn, HF datasets", ["train_test_split" "random_split" "split_dataset"], Told,
        "hold out what a hash says, the same every time: `|> where hash(path) % 10 != 0`";
    Name, "MixUp, CutMix", ["mixup" "cutmix" "MixupCutmix"], Told,
        "it is written behind `batch`: `image[permutation(len(image))]` gives each picture its partner in a batch of any size, `beta(0.2, 0.2)` the share; the cookbook has it whole";

    // ---- sources
    Name, "torchvision", ["ImageFolder" "DatasetFolder" "image_dataset_from_directory" "ImageDataset" "FolderDataset"], Told,
        "`files(\"data/**/*.jpg\") |> map { image: decode_jpeg(bytes), label: class_of(path) }` reads class folders";
    Name, "tf.data", ["list_files" "FileLister" "listdir" "glob" "walk"], Renamed("files"),
        "`files` lists and reads files, in the same order everywhere; `|> shuffle` permutes them";
    Name, "DALI", ["readers.file" "file_reader" "read_files" "FileOpener"], Told,
        "`files(\"data/**/*.jpg\")` lists and reads files";
    Name, "tf.data, HF datasets", ["from_tensor_slices" "from_tensors" "from_generator" "from_list" "from_dict" "from_pandas" "TensorDataset" "external_source"], Told,
        "data come from files, by `csv`, `jsonl`, `lines` and `files`, or from numbers, by `range`; a short list is indexed: `[3, 1, 2][label]`";
    Name, "HF datasets", ["load_dataset" "load_from_disk" "streaming" "snapshot_download"], Told,
        "data are read from files as they are: `csv`, `jsonl`, `lines` and `files` stream them";
    Name, "pandas, tf.data", ["read_csv" "make_csv_dataset" "CsvDataset" "CSVParser" "read_table"], Renamed("csv"),
        "`csv` reads the rows of CSV files, with a field for each column";
    Name, "pandas", ["read_json" "read_jsonl" "JsonDataset" "read_ndjson"], Renamed("jsonl"),
        "`jsonl` reads the rows of JSON Lines";
    Name, "tf.data", ["TextLineDataset" "read_lines" "LineReader" "read_text_file"], Renamed("lines"),
        "`lines` reads the lines of text files";
    Name, "pandas, HF datasets", ["read_parquet" "ParquetDataset" "from_parquet" "scan_parquet" "ParquetFile" "read_feather"], Told,
        "`parquet` comes with a later version: until then write the rows as CSV or JSON Lines, for `csv` and `jsonl`";
    Name, "TensorFlow", ["TFRecordDataset" "tfrecord_reader" "readers.tfrecord" "parse_single_example" "parse_example"], Renamed("tfrecord"),
        "`tfrecord(\"data/*.tfrecord\") |> map { label: row[\"label\"] as i64 }` reads features of Examples";
    Name, "TensorFlow", ["FixedLengthRecordDataset"], Told,
        "records of one length come with a later version: until then `files` reads whole files";
    Name, "WebDataset", ["WebDataset" "WebLoader" "tarfile_to_samples" "readers.webdataset" "to_tuple" "tar_reader"], Renamed("tar"),
        "`tar(\"data/*.tar\") |> map { image: decode_jpeg(files[\"jpg\"] as bytes) }` reads shards of WebDataset";

    // ---- pictures
    Name, "torchvision, albumentations", ["Compose" "Sequential" "AugmentationSequential" "SomeOf"], Told,
        "steps are chained: `image |> resize(32) |> random_flip`; a chain that is used twice is a `fn`";
    Name, "torchvision", ["ToTensor" "PILToTensor" "ToImage" "ToTensorV2" "ToPureTensor"], Told,
        "values are tensors already; what `ToTensor` makes of a picture is `channels_first(f32(image) / 255.0)`";
    Name, "NumPy, PyTorch, TensorFlow", ["tensor" "as_tensor" "from_numpy" "array" "asarray" "constant" "convert_to_tensor"], Told,
        "values are tensors already, and a list is one: `[1, 2, 3]`";
    Name, "NumPy, torchvision", ["astype" "cast" "ToDtype" "convert_image_dtype" "to" "type_as"], Told,
        "a dtype is called: `f32(image)`, and `f32(image) / 255.0` for numbers from 0 to 1";
    Name, "torchvision, albumentations, TensorFlow", ["RandomHorizontalFlip" "HorizontalFlip" "random_flip_left_right" "RandomMirror"], Renamed("random_flip"),
        "it is `random_flip` here, with the same `p`: `image |> random_flip`";
    Name, "torchvision, albumentations, TensorFlow", ["RandomVerticalFlip" "VerticalFlip" "random_flip_up_down"], Renamed("random_flip_y"),
        "it is `random_flip_y` here: `image |> random_flip_y`";
    Name, "torchvision, NumPy, TensorFlow", ["hflip" "fliplr" "flip_left_right" "mirror"], Renamed("flip_x"),
        "it is `flip_x` here: `image |> flip_x`";
    Name, "torchvision, NumPy, TensorFlow", ["vflip" "flipud" "flip_up_down"], Renamed("flip_y"),
        "it is `flip_y` here: `image |> flip_y`";
    Name, "DALI", ["coin_flip" "bernoulli" "random_apply_prob"], Told, "`coin(0.5)` is true with this probability";
    Name, "torchvision, albumentations", ["Resize"], Told,
        "`resize_short(image, 256)` keeps the proportions, as `Resize(256)` of torchvision does; `resize(image, 224, 224)` gives \
         exactly these sides";
    Name, "albumentations", ["SmallestMaxSize" "resize_shortest_edge"], Renamed("resize_short"),
        "it is `resize_short` here: `image |> resize_short(256)`";
    Name, "TensorFlow", ["central_crop" "resize_with_crop_or_pad" "CenterCropPad"], Told,
        "`center_crop(image, 224)` takes the middle, with a border of zeros where the picture is too small";
    Name, "DALI", ["crop_mirror_normalize"], Told,
        "write each: `image |> center_crop(24) |> random_flip |> normalize(mean: [124.0, 116.0, 104.0], std: [58.0, 57.0, 57.0])`";
    Name, "DALI, OpenCV", ["decoders.image" "imdecode" "decode_img" "decode_bmp" "decode_gif" "decode_raw"], Renamed("decode_image"),
        "`decode_image(bytes)` decodes JPEG, PNG and WebP";
    Name, "OpenCV, torchvision", ["imread" "read_image" "open_image" "load_img" "default_loader" "pil_loader"], Told,
        "`decode_image(read_file(path))` reads a picture; `files` reads the `bytes` already";
    Name, "DALI", ["decoders.image_random_crop" "image_random_crop" "decode_and_crop_jpeg" "decode_jpeg_random_crop"], Told,
        "`decode_jpeg(bytes) |> random_resized_crop(224)` decodes only the part that is used";
    Name, "torchvision, albumentations", ["RandomErasing" "Cutout" "CoarseDropout" "random_cutout"], Told,
        "it is a mask: `channels_first(f32(image)) * (1.0 - f32(box_mask(random_box(image.shape[:2], keep: 0.9), like: channels_first(image))))`";
    Name, "torchvision", ["RandAugment" "AutoAugment" "TrivialAugmentWide" "AugMix"], Told,
        "it comes with a later version; `color_jitter`, `random_resized_crop` and `random_gaussian_blur` are there";
    Name, "torchvision, albumentations", ["RandomRotation" "RandomAffine" "RandomPerspective" "Affine" "ShiftScaleRotate" "ElasticTransform" "random_rotate" "rot90"], Told,
        "it comes with a later version; until then a function in Python does it, declared with `extern fn`";
    Name, "torchvision, albumentations", ["RandomGrayscale" "ToGray" "rgb_to_grayscale" "cvtColor"], Told,
        "`grayscale(image)` is always grey, `if coin(0.1) then grayscale(image, channels: 3) else image` now and then";
    Name, "torchvision, albumentations", ["RandomApply" "RandomChoice" "OneOf" "RandomOrder"], Told,
        "`if coin(0.5) then flip_x(image) else image` applies a step now and then, `one_of([flip_x(image), flip_y(image)])` one of several";
    Name, "torchvision", ["GaussianBlur"], Told,
        "`random_gaussian_blur(image, 23)` draws its sigma, as torchvision's does; `gaussian_blur(image, 23, sigma: 1.0)` does not";
    Name, "albumentations", ["RandomBrightnessContrast" "HueSaturationValue" "random_brightness" "random_contrast" "random_hue" "random_saturation"], Told,
        "`color_jitter(image, brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1)` draws all of these";
    Name, "TensorFlow", ["per_image_standardization" "standardize" "StandardScaler" "rescaling" "rescale"], Told,
        "`normalize(image, mean: [124.0, 116.0, 104.0], std: [58.0, 57.0, 57.0])` subtracts and divides by channel";

    // ---- pandas
    Name, "pandas", ["iloc" "loc" "iat" "at"], Told,
        "a record is reached by `|> skip(3) |> take(1)`, an element of a field by `ids[0]`";
    Name, "pandas", ["dropna" "isna" "notna" "isnull" "notnull"], Told,
        "`csv` says what becomes of empty fields: `missing: { age: -1 }`, and then `where` leaves such rows out";
    Name, "pandas", ["fillna" "interpolate"], Told, "`csv` says what an empty field stands for: `missing: { age: -1 }`";
    Name, "pandas", ["groupby" "value_counts" "bincount" "Counter"], Told,
        "`count` comes with a later version; `pipec scan` counts the labels";
    Name, "pandas", ["merge"], Told, "`join` adds the fields of another stream by a key; it comes with a later version";
    Name, "pandas, HF datasets", ["drop" "drop_columns" "remove_columns" "select_columns" "pop"], Told,
        "`map` names the fields that stay: `|> map { image, label }`";
    Name, "pandas, HF datasets", ["rename" "rename_column" "rename_columns"], Told,
        "`map` names the fields: `|> map { picture: image, label }`";
    Name, "pandas, polars", ["assign" "add_column" "with_column" "with_columns" "insert"], Told,
        "`with` adds fields: `|> with { y: x * 2.0 }`";
    Name, "pandas", ["unique" "drop_duplicates" "distinct" "duplicated"], Told, "`pipec scan` finds files that are there twice";
    Name, "pandas", ["sort" "sort_values" "sorted" "argsort" "sort_by"], Told,
        "a stream keeps the order of its source; `batch` puts records of like length together: `|> batch(32, by: len(ids), bounds: [64], pad: { ids: 0 })`";
    Name, "pandas, sklearn", ["LabelEncoder" "StringLookup" "factorize" "Categorical" "class_encode_column"], Told,
        "`class_of(path)` numbers the folders of a set; a field is compared with `==` and `in`";
    Name, "sklearn, Keras", ["OneHotEncoder" "to_categorical" "CategoryEncoding" "get_dummies"], Told,
        "`one_hot(label, 10)` makes the vector of a label";
    Name, "HF transformers", ["Tokenizer" "AutoTokenizer" "TextVectorization" "word_tokenize"], Told,
        "`tokenize` comes with a later version; until then a function in Python does it, declared with `extern fn`";

    // ---- values
    Name, "NumPy, PyTorch", ["permute" "moveaxis" "swapaxes" "rearrange"], Told,
        "`transpose(image, [2, 0, 1])` orders the axes; of a picture, `channels_first(image)`";
    Name, "PyTorch, NumPy", ["unsqueeze" "expand_dims"], Renamed("expand"), "`expand(ids, 0)` adds an axis";
    Name, "PyTorch, NumPy", ["squeeze" "flatten" "ravel" "view"], Told, "`reshape(image, [-1])` gives other extents to the same elements";
    Name, "NumPy, TensorFlow", ["clip" "clip_by_value"], Renamed("clamp"), "`clamp(x, 0.0, 1.0)` keeps a number within bounds";
    Name, "PyTorch, NumPy", ["cat" "hstack" "vstack"], Told, "`concat([ids, ids])` puts tensors one after the other, `stack([ids, ids])` with an axis more";
    Name, "Python, NumPy", ["randint" "randrange" "integers"], Told, "`uniform_int(0, 9)` draws a whole number, both ends included";
    Name, "Python, NumPy", ["rand" "random"], Told, "`uniform()` draws from 0 to 1, `uniform(-1.0, 1.0)` between these, and `random_uniform([3, 4])` draws a tensor";
    Name, "NumPy", ["randn" "gauss" "standard_normal" "randn_like"], Told, "`normal()` draws one number, `normal(0.0, 0.1)` with a mean and a standard deviation, and `random_normal([3, 4])` draws a tensor";
    Name, "PyTorch", ["randperm"], Renamed("permutation"), "`permutation(10)` is a random order";
    Name, "Python", ["choice" "choices"], Told, "`one_of([1, 2, 3])` takes one, `random_index(10)` draws an index";
    Name, "NumPy, PyTorch", ["size" "ndim" "numel"], Told, "`image.shape` has the extents, `len(ids)` the first of them";
    Name, "NumPy", ["power"], Told, "a power is `x ** 2.0`";
    Name, "NumPy, PyTorch, TensorFlow", ["compress" "masked_select" "boolean_mask"], Renamed("select"), "`ids[ids > 4]` has the elements for which it is true";
    Name, "pandas, NumPy", ["isin" "in1d"], Told, "`label in [1, 2]` is true where one of these is equal";
    Name, "Python", ["int"], Told, "`i64(x)` makes a whole number of a number, `parse_int(text)` of a text";
    Name, "Python", ["float"], Told, "`f32(x)` makes a float of a number, `parse_float(text)` of a text";
    Name, "Python", ["str" "repr"], Told, "`text_of(label)` is a number as text, and `\"{text}.txt\"` has a text within another";
    Name, "Python", ["list" "tuple" "dict" "set"], Told, "a list is written `[1, 2]`, a record `{ label, text }`";
    Name, "Python", ["basename" "getname"], Renamed("name_of"), "`name_of(path)` is the last part of a path";
    Name, "Python", ["dirname"], Renamed("folder_of"), "`folder_of(path)` is the folder of a file";
    Name, "Python", ["splitext" "Path" "suffix" "stem"], Told, "`stem_of(path)`, `extension_of(path)`, `name_of(path)` and `folder_of(path)` are the parts of a path";
    Name, "Python, NumPy, pandas", ["split" "rsplit" "splitlines" "partition" "findall" "regexp_split"], Told,
        "`lines` makes a record of each line of a file, and `csv` a field of each column; a function in Python, declared \
         with `extern fn`, splits a text into words (the cookbook has one), and `|> where hash(path) % 10 != 0` splits a data \
         set";
    Name, "Python", ["trim" "lstrip" "rstrip"], Told, "`strip(text)` takes spaces away at both ends";
    Name, "Python", ["to_lower" "lowercase" "casefold"], Renamed("lower"), "`lower(text)` is the text in lower case";
    Name, "Python", ["to_upper" "uppercase"], Renamed("upper"), "`upper(text)` is the text in upper case";
    Name, "Python", ["loads" "json_loads" "decode_json_example"], Renamed("parse_json"), "`parse_json(text)` reads JSON, and `as` says what is in it";
    Name, "PyTorch", ["numpy" "item" "tolist" "cpu" "cuda" "device" "detach"], Told,
        "a program has no devices and no Python objects: leave it out; `pipe.numpy()` and `pipe.torch()` give such batches in Python";

    // ---- arguments
    ArgumentOf("batch"), "PyTorch", ["drop_last"], Truth("tail: drop", "tail: keep"),
        "`tail: drop` leaves the last, short batch out, `tail: keep` keeps it";
    ArgumentOf("batch"), "tf.data", ["drop_remainder" "drop_last_batch"], Truth("tail: drop", "tail: keep"),
        "`tail: drop` leaves the last, short batch out, `tail: keep` keeps it";
    ArgumentOf("batch"), "PyTorch, HF datasets", ["batch_size" "n"], Renamed("size"), "it is `size`, and comes first: `|> batch(32)`";
    ArgumentOf("batch"), "PyTorch", ["collate_fn"], Told,
        "`batch` stacks each field by its name, and pads what it is told to: `pad: { ids: 0 }`";
    ArgumentOf("batch"), "tf.data", ["padded_shapes" "padding_values" "padding_value" "pad_value"], Told, "`pad: { ids: 0 }` names the fields and what fills them";
    ArgumentOf("batch"), "tf.data, PyTorch", ["row_splits" "jagged" "cu_seqlens" "lengths"], Told, "`|> batch(32, ragged: [ids])` has the rows end to end, and where each begins";
    ArgumentOf("batch"), "tf.data", ["bucket_boundaries" "boundaries" "buckets"], Renamed("bounds"), "`bounds: [64, 128]` are the buckets, of what `by` gives";
    ArgumentOf("batch"), "fairseq", ["max_tokens"], Renamed("tokens"), "`tokens: 8192` bounds a batch by its tokens";
    ArgumentOf("batch"), "PyTorch", ["shuffle" "sampler" "batch_sampler"], Told, "a step of its own does it: `|> shuffle |> batch(32)`";
    ArgumentOf("shuffle"), "tf.data, HF datasets", ["buffer_size" "shuffle_buffer" "buffer" "initial_fill" "bufsize"], Renamed("window"),
        "`|> shuffle` needs no buffer; `window: 1000` is for streams without an index";
    ArgumentOf("shuffle"), "tf.data", ["reshuffle_each_iteration"], Gone, "each epoch has an order of its own: leave it out";
    ArgumentOf("random_resized_crop"), "torchvision", ["scale"], Renamed("area"), "`area: 0.08..1.0` is the part's share of the picture";
    ArgumentOf("random_resized_crop"), "torchvision", ["ratio"], Renamed("aspect"), "`aspect: 3/4..4/3` is its width by its height";
    ArgumentOf("random_resized_crop"), "torchvision", ["size"], Renamed("height"), "`random_resized_crop(image, 224)` takes the height, then the width";
    ArgumentOf("random_resized_crop"), "torchvision", ["interpolation"], Renamed("method"), "it is `method`: `method: bicubic`";
    ArgumentOf("resize"), "torchvision", ["size"], Renamed("height"), "`resize(image, 224, 224)` takes the height, then the width";
    ArgumentOf("resize"), "torchvision", ["interpolation" "resample"], Renamed("method"), "it is `method`: `method: bicubic`";
    ArgumentOf("resize_short"), "torchvision", ["interpolation" "resample"], Renamed("method"), "it is `method`: `method: bicubic`";
    ArgumentOf("resize_short"), "torchvision", ["max_size"], Renamed("most"), "it is `most`: `most: 1333`";
    ArgumentOf("random_crop"), "torchvision", ["size"], Renamed("height"), "`random_crop(image, 24)` takes the height, then the width";
    ArgumentOf("random_crop"), "torchvision", ["fill"], Renamed("value"), "it is `value`: `value: 0.0`";
    ArgumentOf("random_crop"), "torchvision", ["padding_mode"], Renamed("mode"), "it is `mode`: `mode: reflect`";
    ArgumentOf("random_crop"), "torchvision", ["pad_if_needed"], Told, "`random_crop(pad(image, 8), 24)` puts a border around the picture first";
    ArgumentOf("center_crop"), "torchvision", ["size"], Renamed("height"), "`center_crop(image, 224)` takes the height, then the width";
    ArgumentOf("pad"), "torchvision", ["fill"], Renamed("value"), "it is `value`: `value: 0.0`";
    ArgumentOf("pad"), "torchvision", ["padding_mode"], Renamed("mode"), "it is `mode`: `mode: reflect`";
    ArgumentOf("random_flip"), "albumentations", ["prob" "probability"], Renamed("p"), "it is `p`: `p: 0.5`";
    ArgumentOf("take"), "tf.data", ["count" "num" "limit"], Renamed("n"), "it is `n`: `|> take(5)`";
    ArgumentOf("skip"), "tf.data", ["count" "num"], Renamed("n"), "it is `n`: `|> skip(5)`";
    ArgumentOf("repeat"), "tf.data", ["count" "times" "num_epochs" "epochs"], Renamed("n"), "it is `n`: `|> repeat(3)`; passes over the data are `--epochs`";
    ArgumentOf("range"), "Python", ["start" "stop" "step" "end"], Told, "`range(9)` counts from 0; `range(9) |> map { i: i * 2 + 5 }` makes other numbers of it";
    ArgumentOf("windows"), "tf.data", ["size" "window_size"], Renamed("length"), "it is `length`: `length: 8`";
    ArgumentOf("windows"), "tf.data", ["shift" "stride" "step"], Renamed("hop"), "it is `hop`: `hop: 4`";
    ArgumentOf("one_hot"), "PyTorch, TensorFlow", ["num_classes" "depth"], Renamed("classes"), "it is `classes`: `one_hot(label, classes: 10)`";
    ArgumentOf("mix"), "tf.data, HF datasets", ["probabilities" "probs" "weight"], Renamed("weights"), "it is `weights`: `mix([a, b], weights: [0.7, 0.3])`";
    ArgumentOf("mix"), "HF datasets", ["stopping_strategy" "stop_on_empty_dataset"], Told, "`at_end: stop` ends with the first stream that ends, `at_end: drop` with the last";
    ArgumentOf("sample"), "PyTorch", ["weights"], Renamed("weight"), "`weight: x` is that of each record";
    ArgumentOf("sample"), "PyTorch", ["num_samples" "n"], Renamed("count"), "it is `count`: `count: 1000`";
    ArgumentOf("uniform"), "TensorFlow", ["minval"], Renamed("low"), "it is `low`: `low: 0.0`";
    ArgumentOf("uniform"), "TensorFlow", ["maxval"], Renamed("high"), "it is `high`: `high: 1.0`";
    ArgumentOf("normal"), "NumPy", ["loc"], Renamed("mean"), "it is `mean`: `mean: 0.0`";
    ArgumentOf("normal"), "NumPy", ["scale" "stddev" "sigma"], Renamed("std"), "it is `std`: `std: 1.0`";
    ArgumentOf("csv"), "pandas", ["sep"], Renamed("delimiter"), "it is `delimiter`: `delimiter: \";\"`";
    ArgumentOf("csv"), "pandas", ["record_defaults"], Renamed("missing"), "`missing: { age: -1 }` says what an empty field of a column stands for";
    ArgumentOf("csv"), "pandas", ["usecols" "index_col" "select_columns" "nrows"], Told, "all columns are fields, and those that nobody uses cost nothing; `|> take(5)` bounds the rows";
    ArgumentOf("files"), "tf.data", ["recursive"], Told, "`**` in the pattern is any folders: `files(\"data/**/*.jpg\")`";
    ArgumentOf("files"), "tf.data", ["shuffle" "random_shuffle"], Told, "files come in natural order; a step of its own permutes them: `|> shuffle`";
    Argument, "PyTorch, tf.data, HF datasets", ["num_workers" "num_parallel_calls" "num_parallel_reads" "num_proc" "n_jobs" "num_threads" "cycle_length" "block_length"], Gone,
        "threads are chosen by the plan: leave it out. `--workers` says how many compute";
    Argument, "PyTorch", ["prefetch_factor" "prefetch" "prefetch_queue_depth" "persistent_workers" "worker_init_fn" "multiprocessing_context" "timeout"], Gone,
        "there are no worker processes to be set up: leave it out";
    Argument, "PyTorch", ["pin_memory" "pin_memory_device" "device"], Gone,
        "a program has no devices: leave it out; in Python it is an argument of `pipe.torch()`";
    Argument, "tf.data", ["deterministic" "stick_to_shard"], Gone, "the order is the same for any number of threads: leave it out";
    Argument, "tf.data, PyTorch", ["seed" "generator" "random_state" "rng"], Gone,
        "everything random follows from one seed: leave it out, and give `--seed`, or `seed=` of `pipec.load` in Python";
    Argument, "HF datasets", ["streaming" "lazy" "keep_in_memory" "as_supervised" "load_from_cache_file"], Gone, "every source is read as it is needed: leave it out";
    Argument, "PyTorch, NumPy", ["dim" "axes" "dims"], Renamed("axis"), "it is `axis`: `axis: 0`";
    Argument, "NumPy", ["dtype"], Told, "a dtype is called: `f32(x)`";

    // ---- flags
    Flag, "PyTorch", ["--num-workers" "--threads" "--jobs" "--num-threads" "--nproc"], Renamed("--workers"), "it is `--workers`; without it, all cores compute";
    Flag, "PyTorch", ["--batch-size" "--bs" "--batch"], Told, "the batch is in the program: `|> batch(64)`; make it a `param`, and set it with `--set`";
    Flag, "training scripts", ["--data" "--data-dir" "--data-path" "--root" "--train-dir" "--param" "--params" "--define"], Told,
        "a program's parameters are set with `--set`: `--set data=/data/imagenet`";
    Flag, "training scripts", ["--output" "--output-dir" "--out-dir" "--save-dir"], Renamed("--out"), "it is `--out`";
    Flag, "training scripts", ["--max-steps" "--steps" "--max-batches" "--num-batches" "--max-samples"], Renamed("--limit"), "it is `--limit`: batches, or records where there is no `batch`";
    Flag, "training scripts", ["--num-epochs" "--max-epochs" "--n-epochs"], Renamed("--epochs"), "it is `--epochs`";
    Flag, "training scripts", ["--random-seed" "--manual-seed"], Renamed("--seed"), "it is `--seed`";
    Flag, "training scripts", ["--resume" "--resume-from" "--ckpt" "--checkpoint-dir"], Renamed("--checkpoint"),
        "`--checkpoint` keeps where a run stands in a file, and goes on from it";
    Flag, "torchrun", ["--local-rank" "--node-rank"], Renamed("--rank"), "it is `--rank`, of all ranks: with `--world-size`";
    Flag, "torchrun", ["--nnodes" "--nproc-per-node" "--num-ranks"], Renamed("--world-size"), "it is `--world-size`: how many runs share the work";
    Flag, "make, Docker", ["--ram" "--mem" "--memory-limit" "--max-memory"], Renamed("--memory"), "it is `--memory`: `--memory 2GiB`";
    Flag, "training scripts", ["--cache-dir" "--cache-path"], Renamed("--cache"), "it is `--cache`";
    Flag, "training scripts", ["--shuffle" "--drop-last" "--prefetch" "--pin-memory" "--augment"], Told, "it is said in the program: `|> shuffle`, `|> batch(64, tail: drop)`";
    Flag, "training scripts", ["--dry-run"], Told, "`pipec check` finds mistakes without running anything, `--limit` runs a few batches";
    Flag, "training scripts", ["--gpu" "--gpus" "--cuda" "--accelerator"], Told, "pipelines run on the CPU; in Python `pipe.torch()` takes the batches to a device";
}
