#include "feed/limits.h"

#include "core/fields.h"
#include "core/unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* The kinds of evidence; 0: it does not count. */
enum { WAITS = 1, BOUND = 2, PLATEAU = 4 };

/* The shares from which a word is said. */
#define MOST     0.6  /* of the readers' time */
#define BUSY     0.8  /* of the time that a device has requests */
#define FULL     0.85 /* of a rate that is a limit, of all processors' time */
#define PRESSED  0.1  /* of the time that some task waited for memory or was throttled */
#define AGAIN    0.2  /* of the bytes, read a second time */
#define DEEP     3.0  /* times the shortest round trip, and at least */
#define DEEP_MIN 1e-3 /* seconds above it: a queue */
#define GROWN    0.25 /* of the growth that as many more readers would bring alone: a plateau */

const char *const limits_words[] = {"unclear", "accelerators", "device", "network",
                                    "server",  "cpu",          "memory", "storage"};
static const char *const limits_says_words[] = {"against", "for", "unknown"};

__attribute__((format(printf, 6, 7))) static void add(struct limits *limits, enum limits_resource of,
                                                      int kind, enum limits_says says, const char *source,
                                                      const char *format, ...)
{
    if (limits->evidence_count == LIMITS_EVIDENCE)
        return;
    struct limits_evidence *evidence = &limits->evidence[limits->evidence_count++];
    va_list args;
    va_start(args, format);
    vsnprintf(evidence->text, sizeof evidence->text, format, args);
    va_end(args);
    evidence->of = of;
    evidence->kind = kind;
    evidence->says = says;
    evidence->source = source;
}

static enum limits_says says_if(bool is)
{
    return is ? LIMITS_FOR : LIMITS_AGAINST;
}

/* Adds "TEXT: VALUE", which is for it from a value on. */
static void add_share(struct limits *limits, enum limits_resource of, int kind, const char *source,
                      const char *text, double share, double from)
{
    char value[32] = "unknown";
    if (!isnan(share))
        snprintf(value, sizeof value, "%.1f %%", 100 * share);
    add(limits, of, kind, isnan(share) ? LIMITS_UNKNOWN : says_if(share >= from), source, "%s: %s", text,
        value);
}

static double share_of(const struct limits_facts *facts, enum limits_counter counter)
{
    return facts->seen.at > 0 ? facts->seen.counters[counter] / facts->seen.at : (double)NAN;
}

/* The share of the readers' time on a processor, or waiting for one. */
static double work_of(const struct limits_facts *facts)
{
    return fmax(fmin((facts->cpu + facts->delayed) / facts->busy, 1), facts->cpu / facts->busy);
}

/* ---- The evidence ---- */

static void look_at_accelerators(const struct limits_facts *facts, struct limits *limits)
{
    bool met = facts->au >= facts->au_target;
    double idle = 1 - facts->busy / (facts->readers * facts->seen.at);
    add(limits, LIMITS_ACCELERATORS, BOUND, says_if(!facts->missed), "AU",
        "AU %.1f %% %s the target of %.0f %%%s", 100 * facts->au, met ? "meets" : "misses",
        100 * facts->au_target, met && facts->missed ? ", which was missed before" : "");
    if (idle > 0)
        add(limits, LIMITS_ACCELERATORS, WAITS, says_if(!facts->missed && idle >= PRESSED), "readers",
            "the readers had nothing to read %.0f %% of the time", 100 * idle);
}

static void look_at_readers(const struct limits_facts *facts, struct limits *limits)
{
    static const char source[] = "/proc/self/task/*/schedstat";
    double busy = facts->busy, work = work_of(facts), wait = 1 - work;
    bool stored = !(facts->from_storage < 0.5);
    if (!(busy > 0)) {
        add(limits, LIMITS_CPU, WAITS, LIMITS_UNKNOWN, source,
            "no reader has read for a time that can be measured");
        return;
    }
    char origin[64] = "";
    if (!isnan(facts->from_storage))
        snprintf(origin, sizeof origin, ", and %.0f %% of the bytes came from it", 100 * facts->from_storage);
    add(limits, LIMITS_CPU, WAITS, says_if(work >= MOST), source,
        "the readers were on a processor %.0f %% of their time and waited for one %.0f %%",
        100 * facts->cpu / busy, 100 * (work - facts->cpu / busy));
    add(limits, LIMITS_STORAGE, WAITS, says_if(wait >= MOST && stored), source,
        "the readers waited for the storage %.0f %% of their time%s", 100 * wait, origin);
}

/* What the readers share is the processors where they work, else the storage. */
static void look_at_plateau(const struct limits_facts *facts, struct limits *limits)
{
    enum limits_resource of = work_of(facts) >= MOST ? LIMITS_CPU : LIMITS_STORAGE;
    const struct limits_rate *few = &facts->rates[0], *many = &facts->rates[1];
    double readers = many->readers / few->readers, bytes = many->rate / few->rate;
    struct unit_texts texts = {0};
    if (few->readers == 0 || many->readers == 0)
        add(limits, of, PLATEAU, LIMITS_UNKNOWN, "probes",
            "whether more readers get more: no two probes with other numbers of them missed the target");
    else
        add(limits, of, PLATEAU, says_if(bytes - 1 <= GROWN * (readers - 1)), "probes",
            "%.3g times the readers got %.3g times the bytes: %s, %s%s", readers, bytes,
            unit_text(&texts, few->rate, UNIT_RATE), unit_text(&texts, many->rate, UNIT_RATE),
            bytes - 1 > GROWN * (readers - 1) ? "; more reading threads or depth may help" : "");
}

static void look_at_device(const struct limits_facts *facts, struct limits *limits)
{
    const struct limits_look *seen = &facts->seen;
    double busy = share_of(facts, LIMITS_DEVICE_BUSY);
    struct unit_texts texts = {0};
    add(limits, LIMITS_DEVICE, WAITS, says_if(busy >= BUSY), "/proc/diskstats",
        "%s was busy %.0f %% of the time with %.2g requests on average, %s read (by all processes)",
        seen->device, 100 * fmin(busy, 1), seen->counters[LIMITS_DEVICE_QUEUED] / seen->at,
        unit_text(&texts, share_of(facts, LIMITS_DEVICE_READ), UNIT_RATE));
    add_share(limits, LIMITS_DEVICE, BOUND, "control groups",
              isinf(seen->group_rate) ? "this run's reads, of the rate that control groups allow (no limit)"
                                      : "this run's reads, of the rate that control groups allow",
              share_of(facts, LIMITS_OWN_READ) / seen->group_rate, FULL);
}

static void look_at_link(const struct limits_facts *facts, struct limits *limits)
{
    const struct limits_look *seen = &facts->seen;
    const struct limits_card *card = NULL; /* that received most */
    char text[96] = "the link, as no card received as much as the readers";
    struct unit_texts texts = {0};
    for (int i = 0; i < seen->card_count; i++)
        if (seen->cards[i].received >= fmax(0.5 * facts->bytes, card ? card->received : 0))
            card = &seen->cards[i];
    if (card)
        snprintf(text, sizeof text, "%s received %s, of its link's speed", card->name,
                 unit_text(&texts, card->received / seen->at, UNIT_RATE));
    add_share(limits, LIMITS_NETWORK, BOUND, "/proc/net/dev", text,
              card ? card->received / seen->at / card->speed : (double)NAN, FULL);
}

static void look_at_round_trips(const struct limits_facts *facts, struct limits *limits)
{
    double trip = facts->seen.round_trip, shortest = facts->seen.min_trip;
    struct unit_texts texts = {0};
    bool deep = trip >= DEEP * shortest && trip - shortest >= DEEP_MIN, lost = facts->seen.disordered > 0;
    if (isnan(trip))
        add(limits, LIMITS_NETWORK, BOUND, LIMITS_UNKNOWN, "TCP_INFO",
            "round trips of the storage's connections: they are not this process's");
    else {
        add(limits, LIMITS_NETWORK, BOUND, deep == lost ? says_if(deep) : LIMITS_UNKNOWN, "TCP_INFO",
            "round trips take %s under load, %s at best; %.0f packets came out of order%s",
            unit_text(&texts, trip, UNIT_TIME), unit_text(&texts, shortest, UNIT_TIME),
            facts->seen.disordered, deep == lost ? "" : ": a queue in the network would show in both");
        add(limits, LIMITS_SERVER, WAITS, deep == lost ? says_if(!deep) : LIMITS_UNKNOWN, "TCP_INFO",
            "a full link would make packets queue and lose some");
    }
}

static void look_at_processors(const struct limits_facts *facts, struct limits *limits)
{
    char text[96];
    double busy = share_of(facts, LIMITS_CPU_BUSY) / facts->seen.cpus; /* above 1: ticks are coarse */
    snprintf(text, sizeof text, "busy share of the %d processors that this run may use, by all processes",
             facts->seen.cpus);
    add_share(limits, LIMITS_CPU, BOUND, "/proc/stat", text, busy > 1 ? 1 : busy, FULL);
    add_share(limits, LIMITS_CPU, BOUND, "cpu.stat", "time in which control groups throttled the run",
              facts->throttled / facts->seen.at, PRESSED);
}

/* Only that of memory counts: others' tasks wait, too, and this run's own waits are known. */
static void look_at_pressure(const struct limits_facts *facts, struct limits *limits)
{
    add_share(limits, LIMITS_CPU, 0, "/proc/pressure/cpu",
              "time in which some task of this system waited for a processor",
              share_of(facts, LIMITS_PRESSURE_CPU), MOST);
    add_share(limits, LIMITS_STORAGE, 0, "/proc/pressure/io",
              "time in which some task of this system waited for storage",
              share_of(facts, LIMITS_PRESSURE_IO), MOST);
    add_share(limits, LIMITS_MEMORY, WAITS, "/proc/pressure/memory",
              "time in which some task of this system waited for memory",
              share_of(facts, LIMITS_PRESSURE_MEMORY), PRESSED);
    add_share(limits, LIMITS_MEMORY, BOUND, "/proc/vmstat",
              "bytes that were read again, or swapped in, after memory had dropped them, of those read",
              facts->seen.counters[LIMITS_REFAULTS] / facts->bytes, AGAIN);
}

/* ---- The verdict ---- */

static const char *const verdicts[] = {
    "not clear: no two kinds of evidence agree",
    "the emulated accelerators: the storage would keep more of them busy",
    "the device",
    "the network",
    "the storage's server, beyond the network",
    "the processors of the host",
    "the memory of the host: what it drops is read again",
};

/* Two kinds for it, one of them its own; no storage limits where more readers get more. */
static bool is_shown(const struct limits *limits, enum limits_resource of, bool stored)
{
    int kinds = 0;
    bool own = false;
    for (int i = 0; i < limits->evidence_count; i++) {
        const struct limits_evidence *evidence = &limits->evidence[i];
        if (stored && evidence->kind == PLATEAU && evidence->says == LIMITS_AGAINST)
            return false;
        if (evidence->says != LIMITS_FOR ||
            (evidence->of != of && !(stored && evidence->of == LIMITS_STORAGE)))
            continue;
        kinds |= evidence->kind;
        own |= evidence->of == of && evidence->kind != 0;
    }
    return own && (kinds & (kinds - 1)) != 0;
}

/* A target that is met leaves no other limit, and for want of memory all else is busier. */
static void decide(const struct limits_facts *facts, struct limits *limits)
{
    static const enum limits_resource order[] = {LIMITS_ACCELERATORS, LIMITS_MEMORY, LIMITS_DEVICE,
                                                 LIMITS_NETWORK,      LIMITS_SERVER, LIMITS_CPU};
    enum limits_resource found = LIMITS_UNCLEAR;
    bool local = facts->seen.counted;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        enum limits_resource of = order[i];
        bool stored = local ? of == LIMITS_DEVICE : of == LIMITS_NETWORK || of == LIMITS_SERVER;
        if (found == LIMITS_ACCELERATORS || found == LIMITS_MEMORY || !is_shown(limits, of, stored))
            continue;
        if (found != LIMITS_UNCLEAR) {
            snprintf(limits->text, sizeof limits->text, "not clear: %s and %s both", limits_words[found],
                     limits_words[of]);
            return;
        }
        found = of;
    }
    limits->resource = found;
    snprintf(limits->text, sizeof limits->text, "%s%s%s", verdicts[found], found == LIMITS_DEVICE ? " " : "",
             found == LIMITS_DEVICE ? facts->seen.device : "");
}

void limits_judge(const struct limits_facts *facts, struct limits *limits)
{
    *limits = (struct limits){0};
    look_at_accelerators(facts, limits);
    look_at_readers(facts, limits);
    look_at_plateau(facts, limits);
    if (facts->seen.counted)
        look_at_device(facts, limits);
    else {
        add(limits, LIMITS_DEVICE, BOUND, LIMITS_UNKNOWN, "/proc/diskstats",
            "the device: %s has no single block device here", facts->seen.file_system);
        look_at_link(facts, limits);
        look_at_round_trips(facts, limits);
    }
    look_at_processors(facts, limits);
    look_at_pressure(facts, limits);
    decide(facts, limits);
}

/* ---- The documents ---- */

static const struct field limits_fields[] = {
    FIELD_WORDS(struct limits, "limit", resource, limits_words),
    FIELD_OUT(struct limits, "limit_text", text, FIELD_CHARS),
};

static const struct field evidence_fields[] = {
    FIELD_WORDS(struct limits_evidence, "of", of, limits_words),
    FIELD_WORDS(struct limits_evidence, "says", says, limits_says_words),
    FIELD_OUT(struct limits_evidence, "source", source, FIELD_TEXT),
    FIELD_OUT(struct limits_evidence, "text", text, FIELD_CHARS),
};

void limits_write(const struct limits *limits, struct json *json)
{
    FIELDS_WRITE(limits, limits_fields, json);
    FIELDS_LIST(limits->evidence, limits->evidence_count, evidence_fields, json, "evidence");
}

void limits_report(const struct limits *limits, struct text *out)
{
    text_format(out, "what limits: %s\n", limits->text);
    for (int i = 0; i < limits->evidence_count; i++)
        text_format(out, "  %-7s  %-12s  %s (%s)\n", limits_says_words[limits->evidence[i].says],
                    limits_words[limits->evidence[i].of], limits->evidence[i].text,
                    limits->evidence[i].source);
}
