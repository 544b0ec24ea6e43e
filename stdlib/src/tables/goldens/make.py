"""Makes the files beside it: `python make.py`, with pyarrow 26.0.1 and mosaicml-streaming 0.14. What they hold is written in
the tests."""

import datetime
import decimal
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from streaming import MDSWriter

ROWS = range(23)
WHEN = datetime.datetime(2024, 2, 29)
rows = pa.table(
    {
        "n": pa.array(ROWS, pa.int64()),
        "x": pa.array([None if i % 7 == 3 else i / 2 for i in ROWS], pa.float32()),
        "name": pa.array([f"n{i % 3}" for i in ROWS]).dictionary_encode(),
        "ok": pa.array([i % 2 == 0 for i in ROWS]),
        "xs": pa.array([list(range(i % 4)) for i in ROWS], pa.list_(pa.int16())),
        "pair": pa.array([[i, -i] for i in ROWS], pa.list_(pa.float64(), 2)),
        "at": pa.array([{"lat": i / 4, "place": f"p{i}"} for i in ROWS]),
        "tags": pa.array([[f"t{i}", None][: i % 3] for i in ROWS], pa.list_(pa.string())),
        "price": pa.array([decimal.Decimal(i) / 10 for i in ROWS], pa.decimal128(9, 2)),
        "day": pa.array([WHEN.date() + datetime.timedelta(i) for i in ROWS], pa.date32()),
        "time": pa.array([WHEN + datetime.timedelta(seconds=i) for i in ROWS], pa.timestamp("us")),
        "blob": pa.array([bytes([i] * (i % 3)) for i in ROWS], pa.binary()),
        "nothing": pa.nulls(len(ROWS)),
    }
)
pq.write_table(rows, "rows.parquet", row_group_size=9, data_page_size=40, write_batch_size=2)
LZ4 = ipc.IpcWriteOptions(compression="lz4")
with ipc.new_file("rows.arrow", rows.schema, options=LZ4) as file:
    file.write_table(rows, max_chunksize=9)
with ipc.new_file("zstd.arrow", rows.schema, options=ipc.IpcWriteOptions(compression="zstd")) as file:
    file.write_table(rows, max_chunksize=9)
with ipc.new_stream("stream.arrow", rows.schema) as stream:
    stream.write_table(rows, max_chunksize=9)
# Fewer columns of the same types: a second file of the same set.
pq.write_table(rows.slice(3, 5).select(["n", "x", "name"]), "more.parquet", compression="none")

RANGE = range(60)
squares = pa.table(
    {"n": pa.array([i * i for i in RANGE]), "text": [f"row {i % 10} of many" for i in RANGE]}
)
for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
    for version in ["1.0", "2.0"]:
        pq.write_table(
            squares,
            f"{codec}-{version[0]}.parquet",
            compression=codec,
            data_page_version=version,
            use_dictionary=False,
            write_page_checksum=True,
            write_statistics=False,
            store_schema=False,
        )

# Pages of ten rows, in two row groups.
pages = pa.table({"n": pa.array(range(80), pa.int32()), "xs": [[i] * (i % 3) for i in range(80)]})
pq.write_table(
    pages,
    "pages.parquet",
    compression="none",
    row_group_size=50,
    data_page_size=1,
    write_batch_size=10,
    use_dictionary=False,
    data_page_version="2.0",
    write_page_checksum=True,
    write_statistics=False,
)

# Timestamps of 96 bits; some lie beyond what nanoseconds of 64 bits can say. pyarrow reads these as other times, unless it is
# told `coerce_int96_timestamp_unit="us"`.
times = [
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2024, 2, 29, 12),
    datetime.datetime(3000, 1, 1),
    None,
    datetime.datetime(1, 1, 1),
    datetime.datetime(2262, 4, 11, 23, 47, 16, 854775),
    datetime.datetime(2262, 4, 11, 23, 47, 16, 854776),
    datetime.datetime(1677, 9, 21, 0, 12, 43, 145225),
    datetime.datetime(1677, 9, 21, 0, 12, 43, 145224),
    datetime.datetime(9999, 12, 31, 23, 59, 59),
]
lists = [[], times[:2], [times[2]], None, *([it] for it in times[4:])]
at = pa.timestamp("us")
times = {"i": range(10), "t": pa.array(times, at), "all": pa.array(lists, pa.list_(at))}
for name, plain, version in [("dict", False, "1.0"), ("plain", True, "1.0"), ("v2", True, "2.0")]:
    pq.write_table(
        pa.table(times),
        f"int96-{name}.parquet",
        use_deprecated_int96_timestamps=True,
        use_dictionary=not plain,
        data_page_version=version,
        compression="zstd" if name == "v2" else "none",
        store_schema=False,
        write_statistics=False,
    )

columns = {
    "n": "int",
    "x": "float32",
    "name": "str",
    "blob": "bytes",
    "about": "json",
    "pair": "ndarray:float32:2,3",
    "xs": "ndarray:int16",
    "grid": "ndarray",
    "price": "str_decimal",
    "object": "pkl",
}
with MDSWriter(out="mds", columns=columns, size_limit=1 << 20) as out:
    for i in range(11):
        out.write(
            {
                "n": i - 2,
                "x": np.float32(i / 2),
                "name": f"n{i}",
                "blob": bytes([i] * (i % 3)),
                "about": {"at": [i, None]},
                "pair": np.arange(6, dtype=np.float32).reshape(2, 3) + i,
                "xs": np.arange(i + 1, dtype=np.int16),
                "grid": np.full((2, i + 1), i, np.uint8),
                "price": decimal.Decimal(i) / 10,
                "object": i,
            }
        )
shutil.move("mds/shard.00000.mds", "shard.mds")
shutil.rmtree("mds")
