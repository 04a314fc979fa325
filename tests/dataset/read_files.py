"""Reads data files as other programs do, and prints of each how many samples it has, their bytes, and their CRC-32.

    read_files.py FORMAT FILE...

Exits with 77 where numpy is not installed."""

import csv
import gzip
import struct
import sys
import zipfile
import zlib

try:
    import numpy
except ImportError:
    sys.exit(77)

CASTAGNOLI = []
for b in range(256):
    for _ in range(8):
        b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
    CASTAGNOLI.append(b)


def masked_sum(data):
    s = 0xFFFFFFFF
    for byte in data:
        s = s >> 8 ^ CASTAGNOLI[(s ^ byte) & 0xFF]
    s ^= 0xFFFFFFFF
    return ((s >> 15 | s << 17) + 0xA282EAD8) & 0xFFFFFFFF


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


def read_tfrecord(path):
    data = open(path, "rb").read()
    images = []
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
        images.append(example[b"image"])
        assert list(example) == [b"image", b"size"]
    return len(images), b"".join(images)


def read_indexed_binary(path):
    data = open(path, "rb").read()
    offsets = numpy.fromfile(path + ".off.idx", dtype=numpy.uint64)
    sizes = numpy.fromfile(path + ".sz.idx", dtype=numpy.uint64)
    samples = [data[int(o) : int(o) + int(s)] for o, s in zip(offsets, sizes, strict=True)]
    return len(samples), b"".join(samples)


for path in sys.argv[2:]:
    count, samples = globals()["read_" + sys.argv[1]](path)
    print(count, len(samples), f"{zlib.crc32(samples):08x}")
