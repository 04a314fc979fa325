#include "cost/count/xla_time.h"

#include "core/text.h"

#include <math.h>
#include <string.h>

#define BLOCK_THREADS   128.0
#define MAX_UNROLLED    4
#define TILED_DIMENSION 16     /* minimum that the transpose emitter moves through shared memory */
#define L2_SPEEDUP      2.5    /* of a read that L2 answers, */
#define L1_SPEEDUP      8      /* and of one that L1 does, on top */
#define L1_BYTES        2048.0 /* of a multiprocessor that hold shared data */
#define TRANSACTION     64.0   /* bytes from DRAM to L2 at least */
#define BYTES_PER_CLOCK 32.0   /* that a block asks for at most */
#define OVERLAP         0.95   /* of the shorter of computing and memory, behind the longer */

/* absl::Duration holds quarters of a nanosecond. */
static double quarter_nanoseconds(double seconds)
{
    return round(seconds * 4e9) / 4e9;
}

/* The first number in quotes after `key` in text; 0 when there is none. */
static double quoted_number(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    if (!at)
        return 0;
    at += strlen(key);
    at += strcspn(at, "0123456789");
    return text_number(at, NULL);
}

/* A tile of the output per block, as the backend_config lays down. */
static struct xla_launch tiled_launch(const struct hlo_instruction *fusion)
{
    const char *config = fusion->attributes->backend_config;
    const char *at = strstr(config, "\"sizes\"");
    const struct hlo_shape *shape = fusion->shape;
    struct xla_launch launch = {.blocks = 1, .threads = 32 * fmax(1, quoted_number(config, "num_warps"))};
    for (int i = 0; i < shape->rank && at; i++) {
        at += strcspn(at, "0123456789]");
        char *end = NULL;
        double tile = *at == ']' ? 0 : text_number(at, &end);
        if (tile < 1)
            break;
        launch.blocks *= ceil((double)shape->dims[i] / tile);
        at = end;
    }
    return launch;
}

static int64_t unrolled(int64_t elements, const struct xla_device *device)
{
    if ((double)elements < device->threads * device->sms)
        return 1;
    int64_t factor = MAX_UNROLLED;
    while (elements % factor)
        factor /= 2;
    return factor;
}

struct xla_launch xla_launch_of(const struct hlo_instruction *in, const struct xla_device *device)
{
    const struct hlo_shape *shape = in->shape;
    while (shape->type == HLO_TYPE_TUPLE && shape->part_count)
        shape = shape->parts[0];
    const char *config = in->attributes->backend_config;
    bool loop = in->opcode == HLO_FUSION && in->attributes->fusion_kind != HLO_FUSION_CUSTOM;
    if (in->opcode == HLO_FUSION && config && strstr(config, "block_level_fusion_config"))
        return tiled_launch(in);
    int64_t elements = hlo_elements(shape);
    loop |= hlo_is_elementwise(in->opcode);
    if (loop)
        elements /= unrolled(elements, device);
    double work = (double)elements;
    struct xla_launch launch = {.threads = loop ? fmin(BLOCK_THREADS, fmax(work, 1)) : BLOCK_THREADS};
    launch.blocks = fmax(1, ceil(work / BLOCK_THREADS));
    return launch;
}

static bool moves_minor_dimension(const struct hlo_instruction *in)
{
    if (!in->operand_count || !in->shape->rank)
        return false;
    const struct hlo_shape *from = in->operands[0]->shape;
    int64_t to = hlo_minor(in->shape, 0);
    if (in->opcode == HLO_TRANSPOSE && to < in->attributes->dimensions.count)
        return in->attributes->dimensions.at[to] != hlo_minor(from, 0);
    return in->opcode == HLO_COPY && to != hlo_minor(from, 0);
}

static bool moves_data(const struct hlo_instruction *in)
{
    enum hlo_opcode from = in->operand_count ? in->operands[0]->opcode : HLO_IOTA;
    return from != HLO_BROADCAST && from != HLO_IOTA && moves_minor_dimension(in);
}

static bool is_tiled_transpose(const struct hlo_instruction *in)
{
    const struct hlo_shape *from = in->operands[0]->shape, *to = in->shape;
    return from->dims[hlo_minor(from, 0)] >= TILED_DIMENSION && to->dims[hlo_minor(to, 0)] >= TILED_DIMENSION;
}

/* Do neighbouring threads read neighbouring elements? */
static bool is_coalesced(const struct hlo_instruction *in)
{
    if (in->opcode == HLO_FUSION && in->callee_count) {
        const struct hlo_computation *fused = in->callees[0];
        for (int i = 0; i < fused->count; i++)
            if (moves_data(fused->instructions[i]) &&
                !(fused->instructions[i] == fused->root && is_tiled_transpose(fused->root)))
                return false;
        return true;
    }
    return !moves_minor_dimension(in) || is_tiled_transpose(in);
}

static double read_seconds(const struct xla_device *device, double blocks, double size, double total,
                           double element_bytes, bool coalesced)
{
    double share = coalesced ? 1 : fmin(1, element_bytes / TRANSACTION);
    double asked = blocks * device->clock_hz * BYTES_PER_CLOCK;
    double dram = fmin(device->bytes_per_second * share, asked);
    double first = fmin(size, total), again = device->bytes_per_second;
    if (first < device->l2_bytes) {
        again *= L2_SPEEDUP;
        if (first < L1_BYTES * device->sms)
            again *= L1_SPEEDUP;
    } else {
        again *= share;
    }
    again = fmin(again, asked);
    return first / dram + (total - first) / again;
}

static double element_bytes(const struct hlo_shape *shape)
{
    return shape->type == HLO_TYPE_TUPLE ? 8 : (hlo_type_bits(shape->type) + 7) / 8;
}

struct xla_time xla_time_of(const struct hlo_instruction *in, const struct instruction_count *count,
                            const struct xla_device *device)
{
    struct xla_time time = {0};
    struct xla_launch launch = xla_launch_of(in, device);
    double lanes = fmin(launch.blocks, device->sms) * fmin(launch.threads, device->lanes);
    time.compute = quarter_nanoseconds(count->flops * 1e-9 / floor(2e-9 * device->clock_hz * lanes));
    bool coalesced = is_coalesced(in);
    for (int i = 0; i < in->operand_count; i++) {
        const struct hlo_shape *shape = in->operands[i]->shape;
        time.read +=
            quarter_nanoseconds(read_seconds(device, launch.blocks, (double)hlo_bytes(shape),
                                             count->operand_bytes[i], element_bytes(shape), coalesced));
    }
    time.write = quarter_nanoseconds(count->output_bytes / device->bytes_per_second);
    double memory = time.read + time.write;
    time.seconds = quarter_nanoseconds(time.compute + memory - OVERLAP * fmin(time.compute, memory));
    return time;
}

/* Threads that a multiprocessor holds (CUDA C++ Programming Guide, technical specifications per compute
 * capability); a compute unit of CDNA holds 32 wavefronts of 64. */
static double resident_threads(const char *capability)
{
    if (capability && strcmp(capability, "sm_75") == 0)
        return 1024;
    return capability && (strcmp(capability, "sm_86") == 0 || strcmp(capability, "sm_89") == 0) ? 1536 : 2048;
}

struct xla_device xla_device_of(const struct cost_device *device)
{
    return (struct xla_device){
        .sms = device->units,
        .lanes = device->lanes,
        .threads = resident_threads(device->capability),
        .clock_hz = device->clock,
        .bytes_per_second = device->bandwidth,
        .l2_bytes = (double)device->l2,
    };
}

static bool is_kernel(const struct hlo_instruction *in)
{
    switch (in->opcode) {
    case HLO_PARAMETER:
    case HLO_CONSTANT:
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_BITCAST:
    case HLO_AFTER_ALL:
    case HLO_WHILE:
    case HLO_CALL:
    case HLO_CONDITIONAL:
        return false;
    default:
        return true;
    }
}

double xla_module_seconds(const struct module_count *count, const struct hlo_module *module,
                          const struct xla_device *device)
{
    double sum = 0;
    for (int c = 0; c < module->count; c++)
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct hlo_instruction *in = module->computations[c]->instructions[i];
            const struct instruction_count *counted = &count->computations[c][i];
            if (counted->runs > 0 && !counted->unknown && is_kernel(in))
                sum += counted->runs * (XLA_LAUNCH_SECONDS + xla_time_of(in, counted, device).seconds);
        }
    return sum;
}
