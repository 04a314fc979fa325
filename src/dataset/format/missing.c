/* Formats that this build knows by name only: it says which library they take.
 *
 * Parquet has none among Debian's packages for C: Apache's own (Arrow, with parquet-glib) is not packaged
 * there, and the format (Thrift, encodings, several compressors) is no small one. */
#include "dataset/format.h"

#include "core/features.h"

#define MISSING(format, library)                                                                             \
    const struct dataset_format dataset_format_##format = {                                                  \
        .name = #format, .extension = #format, .parts = 1, .missing = (library)}

MISSING(parquet, "a Parquet library (Debian packages none for C; use format 'raw' for the same bytes)");
#ifndef REHEARSE_HAVE_HDF5
MISSING(hdf5, "HDF5");
#endif
#ifndef REHEARSE_HAVE_PNG
MISSING(png, "libpng");
#endif
#ifndef REHEARSE_HAVE_JPEG
MISSING(jpeg, "libjpeg");
#endif
