/* Parquet: the word is known, and what to do instead is said. There is no library for C among Debian's packages: Apache's
 * own (Arrow, with parquet-glib) is not packaged there, and the format (Thrift, encodings, several compressors) is no
 * small one. */
#include "dataset/format.h"

const struct dataset_format dataset_format_parquet = {
    .name = "parquet",
    .extension = "parquet",
    .parts = 1,
    .missing = "a Parquet library (Debian packages none for C; take format 'raw' for the same bytes)",
};
