/* What calls of the CUDA and HIP runtimes and drivers do, by their names; names of XLA's operations. */
#include "sim/replay/parts.h"

#include <stdio.h>
#include <string.h>

/* Returns CALL_KINDS for a call that is neither a launch nor awaits anything. */
static enum replay_call_kind kind_of_call(const char *name)
{
    static const struct {
        const char *part;
        enum replay_call_kind kind;
    } parts[] = {
        {"StreamWaitEvent", CALL_STREAM_WAIT},
        {"StreamSynchronize", CALL_STREAM_SYNC},
        {"EventRecord", CALL_EVENT_RECORD},
        {"EventSynchronize", CALL_EVENT_SYNC},
        {"CtxSynchronize", CALL_DEVICE_SYNC},
        {"DeviceSynchronize", CALL_DEVICE_SYNC},
        {"Query", CALL_KINDS},
        {"Capturing", CALL_KINDS},
        {"CaptureInfo", CALL_KINDS},
        {"Attribute", CALL_KINDS},
        {"Occupancy", CALL_KINDS},
        {"LastError", CALL_KINDS},
        {"Free", CALL_FREE},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part))
            return parts[i].kind;
    return CALL_LAUNCH; /* if an activity bears its number */
}

static void count_number(struct replay *replay, int64_t number)
{
    if (number <= 0)
        return;
    if (replay->numbers_seen++ == 0 || number < replay->first_number)
        replay->first_number = number;
    if (number > replay->last_number)
        replay->last_number = number;
}

bool replay_name_call(struct replay *replay, const char *name, struct replay_call *call)
{
    enum replay_call_kind kind = kind_of_call(name);
    count_number(replay, call->correlation);
    call->launches = strstr(name, "LaunchKernel") || strstr(name, "Memcpy") || strstr(name, "Memset");
    call->graph = strstr(name, "GraphLaunch") != NULL;
    call->kind = (uint8_t)kind;
    replay->awaits |= kind == CALL_STREAM_SYNC || kind == CALL_DEVICE_SYNC || kind == CALL_EVENT_SYNC;
    return kind != CALL_KINDS && (kind != CALL_LAUNCH || call->correlation != 0);
}

/* Operations of a TPU that span those that they hold. */
static bool is_container(const char *name, size_t length)
{
    static const char *const names[] = {"while", "conditional", "call"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t count = strlen(names[i]);
        if (length >= count && memcmp(name, names[i], count) == 0 && (length == count || name[count] == '.'))
            return true;
    }
    return false;
}

bool replay_add_operation(struct replay *replay, const char *name, size_t length, const char *category,
                          size_t category_length, bool tpu, uint32_t *id, struct error *err)
{
    char text[256];
    *id = 0;
    if (length == 0 || (tpu && is_container(name, length)))
        return true;
    if (!tpu || category_length == 0)
        return replay_add_text(replay, name, length, id, err);
    int made = snprintf(text, sizeof text, "%.*s (%.*s)", (int)(length < 150 ? length : 150), name,
                        (int)(category_length < 80 ? category_length : 80), category);
    return replay_add_text(replay, text, (size_t)made, id, err);
}
