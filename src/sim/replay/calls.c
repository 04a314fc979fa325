/* What calls of the CUDA and HIP runtimes and drivers do, by their names. */
#include "sim/replay/parts.h"

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
