#include "core/vector.h"
#include "dataset/format/hdf5.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#define PAGE       4096
#define MAX_OFFSET ((haddr_t)1 << 62)
#define DRIVER     1023 /* number of the driver: 512 to 1023 are for those that are not registered */
#define METADATA   ((int64_t)256 << 20)

struct hdf5_page {
    int64_t number;
    unsigned char bytes[PAGE];
};

/* libhdf5's open file. */
struct driver_file {
    H5FD_t base; /* first */
    struct hdf5_store *store;
    haddr_t end; /* of what was given out */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether the source failed in this session, and how: libhdf5 may take the failure for a file of another
 * format, or say nothing. */
static bool read_failed;
static struct error read_failure;

void hdf5_begin(struct hdf5_session *session)
{
    pthread_mutex_lock(&lock);
    read_failed = false;
    H5dont_atexit(); /* all is closed by then, and after damaged files it complains */
    H5open();
    H5Eget_auto2(H5E_DEFAULT, &session->report, &session->report_context);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hdf5_end(const struct hdf5_session *session)
{
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, session->report, session->report_context);
    pthread_mutex_unlock(&lock);
}

/* Takes the deepest message, which is the most precise. */
static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *context)
{
    if (n == 0)
        *(char **)context = error->desc ? strdup(error->desc) : NULL;
    return 0;
}

bool hdf5_error(const char *path, const char *what, struct error *err)
{
    char *reason = NULL;
    if (read_failed) {
        *err = read_failure;
        return false;
    }
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &reason);
    error_set(err, ERROR_INPUT, "%s: %s%s%s", path, what, reason ? ": " : "", reason ? reason : "");
    free(reason);
    return false;
}

/* Returns the first page from this number on. */
static size_t page_from(const struct hdf5_store *store, int64_t number)
{
    size_t low = 0, high = store->page_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store->pages[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct hdf5_page *need_page(struct hdf5_store *store, int64_t number)
{
    size_t at = page_from(store, number);
    if (at < store->page_count && store->pages[at].number == number)
        return &store->pages[at];
    if (!VECTOR_ROOM(store->pages, store->page_capacity, store->page_count + 1))
        return NULL;
    memmove(&store->pages[at + 1], &store->pages[at], (store->page_count - at) * sizeof *store->pages);
    store->page_count++;
    store->pages[at] = (struct hdf5_page){.number = number};
    return &store->pages[at];
}

static bool store_write(struct hdf5_store *store, int64_t offset, const unsigned char *from, size_t n)
{
    while (n > 0) {
        size_t within = (size_t)(offset % PAGE), now = PAGE - within < n ? PAGE - within : n;
        struct hdf5_page *page = need_page(store, offset / PAGE);
        if (!page)
            return false;
        memcpy(page->bytes + within, from, now);
        offset += (int64_t)now;
        from += now;
        n -= now;
    }
    return true;
}

void hdf5_store_read(const struct hdf5_store *store, int64_t offset, void *to, size_t n)
{
    int64_t end = offset + (int64_t)n;
    memset(to, 0, n);
    for (size_t i = page_from(store, offset / PAGE); i < store->page_count; i++) {
        int64_t begin = store->pages[i].number * PAGE, from = begin > offset ? begin : offset;
        int64_t until = begin + PAGE < end ? begin + PAGE : end;
        if (begin >= end)
            break;
        memcpy((unsigned char *)to + (from - offset), store->pages[i].bytes + (from - begin),
               (size_t)(until - from));
    }
}

void hdf5_store_release(struct hdf5_store *store)
{
    free(store->pages);
    *store = (struct hdf5_store){0};
}

/* Notes a read. Reads that touch are merged; the list drops the reads it has no room for. */
static void trace(struct hdf5_store *store, int64_t offset, int64_t length)
{
    struct dataset_extent *last = store->open_count > 0 ? &store->open[store->open_count - 1] : NULL;
    if (last && offset <= last->offset + last->length && offset + length >= last->offset) {
        int64_t begin = offset < last->offset ? offset : last->offset;
        int64_t end = last->offset + last->length;
        end = offset + length > end ? offset + length : end;
        *last = (struct dataset_extent){0, begin, end - begin};
    } else if (store->open_count < DATASET_MAX_OPEN) {
        store->open[store->open_count++] = (struct dataset_extent){0, offset, length};
    }
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t max)
{
    struct hdf5_store *const *store = H5Pget_driver_info(access);
    struct driver_file *file = calloc(1, sizeof *file);
    (void)name;
    (void)flags;
    (void)max;
    if (file)
        file->store = *store;
    return (H5FD_t *)file;
}

static herr_t driver_close(H5FD_t *file)
{
    free(file);
    return 0;
}

/* Has the flags of the driver for files on disk, so that libhdf5 chooses the same places. */
static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct driver_file *)file)->end;
}

static herr_t driver_set_end(H5FD_t *file, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((struct driver_file *)file)->end = end;
    return 0;
}

static haddr_t driver_get_size(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)((const struct driver_file *)file)->store->size;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t n, void *to)
{
    struct hdf5_store *store = ((struct driver_file *)file)->store;
    (void)transfer;
    if (type == H5FD_MEM_DRAW && store->locating) {
        store->data = offset;
        return 0;
    }
    if (!store->source) {
        hdf5_store_read(store, (int64_t)offset, to, n);
        return 0;
    }
    /* libhdf5 guesses sizes and reads beyond the end, where it gets zeros */
    int64_t left = offset < (haddr_t)store->size ? store->size - (int64_t)offset : 0;
    size_t there = (int64_t)n < left ? n : (size_t)left;
    if ((int64_t)n > store->budget)
        return -1;
    store->budget -= (int64_t)n;
    memset((unsigned char *)to + there, 0, n - there);
    if (there == 0)
        return 0;
    trace(store, (int64_t)offset, (int64_t)there);
    if (store->source->read(store->source->context, (int64_t)offset, to, there, store->err))
        return 0;
    read_failed = true;
    read_failure = *store->err;
    return -1;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t n,
                           const void *from)
{
    struct hdf5_store *store = ((struct driver_file *)file)->store;
    (void)transfer;
    if ((int64_t)(offset + n) > store->size)
        store->size = (int64_t)(offset + n);
    if (type == H5FD_MEM_DRAW) {
        store->data = offset;
        return 0;
    }
    return store_write(store, (int64_t)offset, from, n) ? 0 : -1;
}

static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    struct driver_file *driver = (struct driver_file *)file;
    (void)transfer;
    (void)closing;
    driver->store->size = (int64_t)driver->end;
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = DRIVER,
#endif
    .name = "rehearse",
    .maxaddr = MAX_OFFSET,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct hdf5_store *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_end,
    .set_eoa = driver_set_end,
    .get_eof = driver_get_size,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Makes the access list of a store, with the file format of HDF5 1.10, so that later libraries write the same
 * bytes. */
static hid_t access_to(struct hdf5_store *store)
{
    static hid_t number = H5I_INVALID_HID;
    if (number < 0)
        number = H5FDregister(&driver);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (number < 0 || access < 0 || H5Pset_driver(access, number, &store) < 0 ||
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0)
        return H5I_INVALID_HID;
    return access;
}

hid_t hdf5_open(struct hdf5_store *store)
{
    store->budget = METADATA;
    store->size = store->source->size;
    hid_t access = access_to(store);
    hid_t file = access < 0 ? H5I_INVALID_HID : H5Fopen("data", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

/* Leaves the times out, which would make every file differ. */
hid_t hdf5_create(struct hdf5_store *store)
{
    hid_t access = access_to(store), creation = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = H5I_INVALID_HID;
    if (access >= 0 && creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0)
        file = H5Fcreate("data", H5F_ACC_TRUNC, creation, access);
    H5Pclose(creation);
    H5Pclose(access);
    return file;
}

hid_t hdf5_type(enum dataset_element element)
{
    const hid_t types[DATASET_ELEMENTS] = {
        [DATASET_UINT8] = H5T_STD_U8LE,      [DATASET_INT8] = H5T_STD_I8LE,
        [DATASET_UINT16] = H5T_STD_U16LE,    [DATASET_INT16] = H5T_STD_I16LE,
        [DATASET_UINT32] = H5T_STD_U32LE,    [DATASET_INT32] = H5T_STD_I32LE,
        [DATASET_UINT64] = H5T_STD_U64LE,    [DATASET_INT64] = H5T_STD_I64LE,
        [DATASET_FLOAT16] = H5I_INVALID_HID, [DATASET_FLOAT32] = H5T_IEEE_F32LE,
        [DATASET_FLOAT64] = H5T_IEEE_F64LE,
    };
    return types[element];
}
