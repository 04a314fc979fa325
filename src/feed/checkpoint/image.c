#include "feed/checkpoint/image.h"

#include "core/vector.h"
#include "dataset/sum.h"
#include "dataset/writer.h"
#include "feed/checkpoint/header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds numbers, each of as many bytes as its digit in `widths` says. */
#define PACK(text, widths, ...) pack(text, widths, (const uint64_t[]){__VA_ARGS__})

static void pack(struct text *text, const char *widths, const uint64_t *values)
{
    unsigned char bytes[8];
    for (size_t i = 0; widths[i]; i++) {
        dataset_set_little(bytes, widths[i] - '0', values[i]);
        text_add_bytes(text, (const char *)bytes, (size_t)(widths[i] - '0'));
    }
}

/* Makes the text since the last piece a piece. */
static bool end_text(struct checkpoint_image *image, struct error *err)
{
    struct checkpoint_piece piece = {.length = (int64_t)(image->text.length - image->ended),
                                     .at = image->ended};
    if (image->text.failed)
        return error_memory(err);
    image->ended = image->text.length;
    image->bytes += piece.length;
    return piece.length == 0 || VECTOR_ADD(image->pieces, image->count, image->capacity, piece) ||
           error_memory(err);
}

static bool add_content(struct checkpoint_image *image, int64_t length, struct error *err)
{
    struct checkpoint_piece piece = {.length = length, .content = true};
    if (!end_text(image, err))
        return false;
    image->bytes += length;
    return VECTOR_ADD(image->pieces, image->count, image->capacity, piece) || error_memory(err);
}

void checkpoint_image_sum(struct checkpoint_image *image, const struct checkpoint_piece *piece, uint32_t sum)
{
    for (int i = 0; i < 2; i++)
        if (piece->sums[i])
            dataset_set_little((unsigned char *)image->text.data + piece->sums[i], 4, sum);
}

void checkpoint_image_release(struct checkpoint_image *image)
{
    text_release(&image->text);
    free(image->pieces);
    *image = (struct checkpoint_image){0};
}

/* --- pickle --------------------------------------------------------------------------------------------------- */

/* Python's pickler numbers what it writes but for numbers, and refers to it later. */
struct pickler {
    struct text *out;
    uint64_t count;
    uint64_t rebuild, storage, cpu, ordered, types[8]; /* numbers, plus 1; 0: not written yet */
};

/* Adds opcodes, of which 'q' numbers what is before it. */
static void put_opcodes(struct pickler *pickler, const char *opcodes)
{
    for (; *opcodes; opcodes++) {
        bool wide = *opcodes == 'q' && pickler->count > 255;
        text_add_bytes(pickler->out, wide ? "r" : opcodes, 1);
        if (*opcodes == 'q')
            PACK(pickler->out, wide ? "4" : "1", pickler->count++);
    }
}

static void put_text(struct pickler *pickler, const char *text)
{
    text_add(pickler->out, "X");
    PACK(pickler->out, "4", strlen(text));
    text_add(pickler->out, text);
    put_opcodes(pickler, "q");
}

/* Adds a text, or a global ("module\nname"), or a reference to it. */
static void put_once(struct pickler *pickler, uint64_t *number, bool global, const char *text)
{
    if (*number) {
        text_add(pickler->out, *number <= 256 ? "h" : "j");
        PACK(pickler->out, *number <= 256 ? "1" : "4", *number - 1);
        return;
    }
    if (global) {
        text_format(pickler->out, "c%s\n", text);
        put_opcodes(pickler, "q");
    } else {
        put_text(pickler, text);
    }
    *number = pickler->count;
}

static void put_integer(struct pickler *pickler, int64_t value)
{
    const char *bytes[] = {"5", "6", "7", "8"};
    int i = 0;
    if (value <= INT32_MAX) {
        text_add(pickler->out, value < 256 ? "K" : value < 65536 ? "M" : "J");
        PACK(pickler->out, value < 256 ? "1" : value < 65536 ? "2" : "4", (uint64_t)value);
        return;
    }
    while (i < 3 && value >> (8 * i + 39))
        i++;
    text_add(pickler->out, "\x8a");
    PACK(pickler->out, "1", (uint64_t)i + 5);
    PACK(pickler->out, bytes[i], (uint64_t)value);
}

static void put_tensor(struct pickler *pickler, const struct checkpoint_tensor *tensor, size_t index)
{
    bool matrix = tensor->dims == 2; /* or a vector */
    char key[24];
    put_text(pickler, tensor->name);
    put_once(pickler, &pickler->rebuild, true, "torch._utils\n_rebuild_tensor_v2");
    put_opcodes(pickler, "((");
    put_once(pickler, &pickler->storage, false, "storage");
    put_once(pickler, &pickler->types[tensor->type], true, checkpoint_torch_types[tensor->type]);
    snprintf(key, sizeof key, "%zu", index);
    put_text(pickler, key);
    put_once(pickler, &pickler->cpu, false, "cpu");
    put_integer(pickler, tensor->bytes / workload_datatype_bytes(tensor->type));
    put_opcodes(pickler, "tqQ");
    put_integer(pickler, 0);
    for (int i = 0; i < tensor->dims; i++)
        put_integer(pickler, tensor->shape[i]);
    put_opcodes(pickler, matrix ? "\x86q" : "\x85q");
    if (matrix)
        put_integer(pickler, tensor->shape[1]);
    put_integer(pickler, 1);
    put_opcodes(pickler, matrix ? "\x86q\x89" : "\x85q\x89");
    put_once(pickler, &pickler->ordered, true, "collections\nOrderedDict");
    put_opcodes(pickler, ")RqtqRq");
}

/* A dict is set a thousand items at a time, and a single one without a mark. */
static void put_dict(struct text *out, const struct checkpoint_tensors *tensors)
{
    struct pickler pickler = {.out = out};
    size_t count = tensors->count;
    put_opcodes(&pickler, "\x80\x02}q");
    for (size_t i = 0; i < count; i++) {
        put_opcodes(&pickler, i % 1000 == 0 && count > 1 ? "(" : "");
        put_tensor(&pickler, &tensors->items[i], i);
        put_opcodes(&pickler, i % 1000 == 999 ? "u" : "");
    }
    put_opcodes(&pickler, count == 0 ? "." : count == 1 ? "s." : count % 1000 ? "u." : "(u.");
}

/* --- torch ---------------------------------------------------------------------------------------------------- */

#define LOCAL     30 /* bytes of the fixed part of a member's header */
#define ALIGNMENT 64
#define FLAGS     0x0808 /* sum and sizes behind the data; names are UTF-8 */

struct archive {
    struct checkpoint_image *image;
    struct text directory;
    uint64_t members;
    const char *stem; /* of their names */
    int stem_length;
};

static uint64_t shortened(uint64_t value)
{
    return value < UINT32_MAX ? value : UINT32_MAX;
}

/* Adds what the fields of 32 bits have no room for. */
static void put_extra(struct text *text, uint64_t size, uint64_t packed, uint64_t offset)
{
    bool wide = size >= UINT32_MAX, far = offset >= UINT32_MAX;
    if (wide || far)
        PACK(text, "22", 1, (wide ? 16 : 0) + (far ? 8 : 0));
    if (wide)
        PACK(text, "88", size, packed);
    if (far)
        PACK(text, "8", offset);
}

/* Returns the bytes of the image so far. */
static uint64_t here(const struct checkpoint_image *image)
{
    return (uint64_t)image->bytes + image->text.length - image->ended;
}

/* Adds a member with these bytes, or with content (NULL). */
static bool add_member(struct archive *archive, const char *name, const char *bytes, uint64_t size,
                       struct error *err)
{
    static const char fill[ALIGNMENT + 1] =
        "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ";
    struct checkpoint_image *image = archive->image;
    struct text *text = &image->text, *directory = &archive->directory, path = {0}, extra = {0};
    uint64_t offset = here(image), sum = bytes ? dataset_crc32(0, bytes, size) : 0;
    text_format(&path, "%.*s/%s", archive->stem_length, archive->stem, name);
    put_extra(&extra, size, 0, offset); /* what it takes in the archive is not known yet, for torch */
    uint64_t padding = -(offset + LOCAL + path.length + extra.length + 4) % ALIGNMENT;
    PACK(text, "42228822", 0x04034b50, 0, FLAGS, 0, 0, 0, path.length, extra.length + 4 + padding);
    text_add_bytes(text, text_within(&path, text), path.length);
    text_add_bytes(text, text_within(&extra, text), extra.length);
    text_add(text, "FB");
    PACK(text, "2", padding);
    text_add_bytes(text, fill, padding);
    if (bytes)
        text_add_bytes(text, bytes, size);
    bool ok = bytes || add_content(image, (int64_t)size, err);
    struct checkpoint_piece none, *content = ok && !bytes ? &image->pieces[image->count - 1] : &none;
    content->sums[0] = text->length + 4;
    PACK(text, extra.length ? "4488" : "4444", 0x08074b50, sum, size, size);
    content->sums[1] = directory->length + 16;
    PACK(directory, "4426444", 0x02014b50, 0, FLAGS, 0, sum, shortened(size), shortened(size));
    PACK(directory, "22644", path.length, extra.length, 0, 0, shortened(offset));
    text_add_bytes(directory, text_within(&path, directory), path.length);
    put_extra(directory, size, size, offset);
    archive->members++;
    text_release(&path);
    text_release(&extra);
    return ok;
}

static void end_archive(struct archive *archive)
{
    struct checkpoint_image *image = archive->image;
    struct text *text = &image->text;
    uint64_t offset = here(image), size = archive->directory.length, members = archive->members;
    uint64_t shown = members < UINT16_MAX ? members : UINT16_MAX;
    for (size_t i = 0; i < image->count; i++)
        image->pieces[i].sums[1] += image->pieces[i].content ? text->length : 0;
    text_add_bytes(text, text_within(&archive->directory, text), size);
    PACK(text, "48228", 0x06064b50, 44, 0x031e, 45, 0); /* made on Unix by version 3.0, needs 4.5 */
    PACK(text, "8888", members, members, size, offset);
    PACK(text, "884", 0x07064b50, offset + size, 1);
    PACK(text, "822442", 0x06054b50, shown, shown, shortened(size), shortened(offset), 0);
}

/* Adds the members in torch.save's order. */
static bool add_members(struct archive *archive, const struct checkpoint_tensors *tensors,
                        const struct text *pickle, uint64_t number, struct error *err)
{
    char id[48], name[32];
    snprintf(id, sizeof id, "%020" PRIu64 "%020zu", number, tensors->count);
    bool ok = add_member(archive, "data.pkl", pickle->data, pickle->length, err) &&
              add_member(archive, ".format_version", "1", 1, err) &&
              add_member(archive, ".storage_alignment", "64", 2, err) &&
              add_member(archive, "byteorder", "little", 6, err);
    for (size_t i = 0; i < tensors->count && ok; i++) {
        snprintf(name, sizeof name, "data/%zu", i);
        ok = add_member(archive, name, NULL, (uint64_t)tensors->items[i].bytes, err);
    }
    return ok && add_member(archive, "version", "3\n", 2, err) &&
           add_member(archive, ".data/serialization_id", id, strlen(id), err);
}

static bool make_torch(struct checkpoint_image *image, const char *name,
                       const struct checkpoint_tensors *tensors, uint64_t number, struct error *err)
{
    const char *dot = strrchr(name, '.');
    struct archive archive = {.image = image, .stem = name, .stem_length = dot ? (int)(dot - name) : 0};
    struct text pickle = {0};
    put_dict(&pickle, tensors);
    bool ok = pickle.failed ? error_memory(err) : add_members(&archive, tensors, &pickle, number, err);
    if (ok)
        end_archive(&archive);
    text_release(&pickle);
    text_release(&archive.directory);
    return ok;
}

/* --- safetensors ---------------------------------------------------------------------------------------------- */

static bool make_safetensors(struct checkpoint_image *image, struct checkpoint_tensors *tensors,
                             struct error *err)
{
    struct text header = {0};
    int64_t offset = 0;
    checkpoint_tensors_sort(tensors);
    text_add(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < tensors->count; i++) { /* names of our own, which need no escapes */
        const struct checkpoint_tensor *tensor = &tensors->items[i];
        text_format(&header, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRId64, tensor->name,
                    checkpoint_safetensors_types[tensor->type], tensor->shape[0]);
        if (tensor->dims == 2)
            text_format(&header, ",%" PRId64, tensor->shape[1]);
        text_format(&header, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", offset, offset + tensor->bytes);
        offset += tensor->bytes;
    }
    text_add(&header, "}");
    while (header.length % 8 != 0 && !header.failed)
        text_add(&header, " ");
    PACK(&image->text, "8", header.length);
    text_add_bytes(&image->text, text_within(&header, &image->text), header.length);
    text_release(&header);
    return offset == 0 || add_content(image, offset, err);
}

bool checkpoint_image_make(struct checkpoint_image *image, enum workload_checkpoint_format format,
                           const char *name, struct checkpoint_tensors *tensors, uint64_t number,
                           struct error *err)
{
    int64_t bytes = 0;
    *image = (struct checkpoint_image){0};
    for (size_t i = 0; i < tensors->count; i++)
        bytes += tensors->items[i].bytes;
    bool ok = format == WORKLOAD_CHECKPOINT_TORCH         ? make_torch(image, name, tensors, number, err)
              : format == WORKLOAD_CHECKPOINT_SAFETENSORS ? make_safetensors(image, tensors, err)
                                                          : bytes == 0 || add_content(image, bytes, err);
    if (ok && end_text(image, err))
        return true;
    checkpoint_image_release(image);
    return false;
}
