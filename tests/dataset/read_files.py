"""Reads data files as other programs do, and prints of each how many samples it has, their bytes, and their CRC-32.

    read_files.py FORMAT FILE...

Says what is not installed, and exits with 77: numpy, h5py, PIL or pandas. The system's Python may have it where the first in
the path has not."""

import csv
import gzip
import os
import struct
import sys
import zipfile
import zlib

sys.dont_write_bytecode = True
from foreign import masked_sum, need_for

numpy, reader = need_for(sys.argv[1])


def fields(message):
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            assert key & 7 == 2
            length = number()
            yield key >> 3, message[at : at + length]
            at += length
            assert at <= len(message)


def read_array(array):
    samples = [array[..., k] for k in range(array.shape[-1])]
    return len(samples), array.tobytes()


def read_npy(path):
    return read_array(numpy.load(path))


def read_npz(path):
    assert zipfile.ZipFile(path).testzip() is None
    archive = numpy.load(path)
    assert list(archive) == ["x", "y"]
    assert archive["y"].dtype == numpy.int64 and not archive["y"].any()
    assert archive["y"].shape == archive["x"].shape[-1:]
    return read_array(archive["x"])


def read_csv(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, newline="")
    with opened as file:
        rows = [bytes(int(value) for value in row) for row in csv.reader(file)]
    return len(rows), b"".join(rows)


def read_pandas(path):
    """CSV, as DLIO reads it."""
    frame = reader.read_csv(path, header=None)
    assert not frame.isna().any(axis=None)
    return len(frame), frame.to_numpy().astype(numpy.uint8).tobytes()


def read_examples(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_sum(data[at : at + 8])
        record = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_sum(record)
        at += 16 + length
        ((_, features),) = fields(record)
        example = {}
        for _, entry in fields(features):
            entry = dict(fields(entry))
            ((_, values),) = fields(entry[2])
            example[entry[1]] = dict(fields(values))[1]
        yield example


def read_tfrecord(path):
    images = []
    for example in read_examples(path):
        images.append(example[b"image"])
        assert list(example) == [b"image", b"size"]
    return len(images), b"".join(images)


def read_indexed_binary(path):
    data = open(path, "rb").read()
    offsets = numpy.fromfile(path + ".off.idx", dtype=numpy.uint64)
    sizes = numpy.fromfile(path + ".sz.idx", dtype=numpy.uint64)
    samples = [data[int(o) : int(o) + int(s)] for o, s in zip(offsets, sizes, strict=True)]
    return len(samples), b"".join(samples)


def read_hdf5(path):
    with reader.File(path, "r") as file:
        labels = file["labels"]
        assert labels.dtype == numpy.int64 and not labels[...].any()
        sets = [file[f"records_{i}"] for i in range(len(file) - 1)]
        assert all(len(data) == len(labels) for data in sets)
        samples = [data[k].tobytes() for k in range(len(labels)) for data in sets]
        return len(labels), b"".join(samples)


def read_image(path):
    with reader.open(path) as image:
        assert image.mode == "L"
        return 1, image.tobytes()


read_png = read_jpeg = read_image


def read_unet3d_npy(path):
    x, y = numpy.load(path), numpy.load(path.replace("_x.npy", "_y.npy"))
    assert x.shape == y.shape and x.ndim == 4 and x.shape[0] == 1 and x.shape[2] == x.shape[3]
    assert x.dtype == numpy.float32 and y.dtype == numpy.uint8
    assert x.min() >= numpy.float32(-2.340702) and x.max() <= numpy.float32(2.639792)
    assert x.std() > 1.4 and set(numpy.unique(y)) == {0, 1}
    return 1, x.tobytes() + y.tobytes()


def varints(data):
    values = []
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    assert shift == 0
    return values


def read_bert_tfrecord(path):
    count = 0
    lengths = set()
    for example in read_examples(path):
        weights = numpy.frombuffer(example[b"masked_lm_weights"], dtype="<f4")
        ids, mask, segments, places, masked, following = (
            varints(example[name])
            for name in (
                b"input_ids",
                b"input_mask",
                b"segment_ids",
                b"masked_lm_positions",
                b"masked_lm_ids",
                b"next_sentence_labels",
            )
        )
        assert len(example) == 7 and len(following) == 1 and following[0] in (0, 1)
        assert len(ids) == len(mask) == len(segments) == 512
        assert len(places) == len(masked) == len(weights) == 76
        tokens, chosen = sum(mask), int(weights.sum())
        assert mask == [1] * tokens + [0] * (512 - tokens) and chosen == int(0.15 * tokens)
        assert all(0 < i < 30522 for i in ids[:tokens]) and not any(ids[tokens:])
        assert segments[:tokens] == sorted(segments[:tokens]) and not any(segments[tokens:])
        assert masked[:chosen] == [ids[p] for p in places[:chosen]] and not any(masked[chosen:])
        assert all(p < tokens for p in places[:chosen]) and not any(places[chosen:])
        lengths.add(tokens)
        count += 1
    assert len(lengths) > count / 2
    return count, b""


def read_dlrm_binary(path):
    rows = numpy.fromfile(path, dtype="<i4").reshape(-1, 40)
    counts = numpy.load(os.path.join(os.path.dirname(path), "day_fea_count.npz"))["counts"]
    assert rows.min() == 0 and (rows[:, 14:] < counts).all() and (rows[:, 1:14] < 2557264).all()
    assert set(numpy.unique(rows[:, 0])) == {0, 1} and (rows.max(axis=0) > 0).all()
    return len(rows), rows.tobytes()


def read_criteo_text(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    for row in rows:
        assert len(row) == 40 and row[0] in "01" and all(int(value) < 10**7 for value in row[1:14])
        assert all(len(word) == 8 and int(word, 16) >= 0 for word in row[14:])
    return len(rows), b""


for path in sys.argv[2:]:
    count, samples = globals()["read_" + sys.argv[1]](path)
    print(count, len(samples), f"{zlib.crc32(samples):08x}")
