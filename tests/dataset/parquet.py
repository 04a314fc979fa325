"""Parquet through pyarrow.

    parquet.py write FOLDER    files of ROWS rows that say which value stands where: see parquet_test.c
    parquet.py sums FILE       the sum of every column's values, in the form that they have in a page

Without pyarrow it exits with 77 and says so."""

import os
import sys
import zlib

try:
    import pyarrow
    import pyarrow.parquet
except ImportError as error:
    print(error)
    sys.exit(77)

ROWS = 200


def table():
    def column(values, kind, nullable):
        return pyarrow.array([None if nullable and i % 5 == 0 else values(i) for i in range(ROWS)], kind)

    columns = {}
    for suffix, nullable in (('', False), ('_null', True)):
        columns['int32' + suffix] = column(lambda i: 7 * (i % 50), pyarrow.int32(), nullable)
        columns['int64' + suffix] = column(lambda i: 1000003 * i, pyarrow.int64(), nullable)
        columns['float' + suffix] = column(lambda i: i % 9 / 2, pyarrow.float32(), nullable)
        columns['double' + suffix] = column(lambda i: i / 4, pyarrow.float64(), nullable)
        columns['bytes' + suffix] = column(lambda i: b'row %d' % (i % 30), pyarrow.binary(), nullable)
        columns['fixed' + suffix] = column(lambda i: bytes([i, i % 2, 3]), pyarrow.binary(3), nullable)
        columns['bool' + suffix] = column(lambda i: i % 3 == 0, pyarrow.bool_(), nullable)
        columns['list' + suffix] = column(lambda i: [i, i + 1], pyarrow.list_(pyarrow.int32()), nullable)
    columns['all_null'] = pyarrow.array([None] * ROWS, pyarrow.int32())
    return pyarrow.table(columns)


def write(folder):
    for codec in ('none', 'snappy', 'zstd', 'gzip'):
        for dictionary in (False, True):
            for version in ('1.0', '2.0'):
                name = 'parquet_%s_%s_%s.parquet' % (codec, 'dictionary' if dictionary else 'plain', version[0])
                pyarrow.parquet.write_table(table(), os.path.join(folder, name), row_group_size=80, compression=codec,
                                            use_dictionary=dictionary, data_page_version=version, write_statistics=False,
                                            store_schema=False)


def sums(path):
    wide = {1: 'i4', 2: 'i4', 4: None, 8: None}
    for name, column in zip((read := pyarrow.parquet.read_table(path)).schema.names, read.columns):
        values = column.combine_chunks()
        while hasattr(values, 'flatten') and pyarrow.types.is_list(values.type):
            values = values.flatten()
        array = values.to_numpy(zero_copy_only=False)
        if array.dtype.kind in 'iu' and wide[array.dtype.itemsize]:
            array = array.astype(wide[array.dtype.itemsize])
        print(name, len(array), '%08x' % zlib.crc32(array.tobytes()))


{'write': write, 'sums': sums}[sys.argv[1]](sys.argv[2])
