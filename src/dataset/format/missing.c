/* Formats that this build knows by name only: it says which library they take. */
#include "dataset/format.h"

#include "core/features.h"

#define MISSING(format, library)                                                                             \
    const struct dataset_format dataset_format_##format = {                                                  \
        .name = #format, .extension = #format, .parts = 1, .missing = (library)}

#ifndef REHEARSE_HAVE_HDF5
MISSING(hdf5, "HDF5");
#endif
#ifndef REHEARSE_HAVE_PNG
MISSING(png, "libpng");
#endif
#ifndef REHEARSE_HAVE_JPEG
MISSING(jpeg, "libjpeg");
#endif
