#include "feed/limits.h"

#include "core/fields.h"
#include "core/unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    const double *counters = seen->counters;
    double busy = share_of(facts, LIMITS_DEVICE_BUSY), rate = share_of(facts, LIMITS_OWN_READ);
    struct unit_texts texts = {0};
    add(limits, LIMITS_DEVICE, WAITS, says_if(busy >= BUSY), "/proc/diskstats",
        "%s was busy %.0f %% of the time with %.2g requests on average, %s read (by all processes)",
        seen->device, 100 * fmin(busy, 1), counters[LIMITS_DEVICE_QUEUED] / seen->at,
        unit_text(&texts, share_of(facts, LIMITS_DEVICE_READ), UNIT_RATE));
    if (isinf(seen->group_rate))
        add(limits, LIMITS_DEVICE, BOUND, LIMITS_AGAINST, "control groups",
            "no control group limits reads of %s", seen->device);
    else if (isnan(seen->group_rate) || isnan(rate))
        add(limits, LIMITS_DEVICE, BOUND, LIMITS_UNKNOWN, "control groups",
            "what this process may read of %s", seen->device);
    else
        add(limits, LIMITS_DEVICE, BOUND, says_if(rate >= FULL * seen->group_rate), "control groups",
            "a control group limits reads of %s to %s, and this process had %s", seen->device,
            unit_text(&texts, seen->group_rate, UNIT_RATE), unit_text(&texts, rate, UNIT_RATE));
}

/* The card that received most, and the link's speed in bytes/s. */
static const struct limits_card *card_of(const struct limits_facts *facts, double *speed)
{
    const struct limits_look *seen = &facts->seen;
    const struct limits_card *card = seen->cards;
    char path[64];
    double megabits = -1;
    for (int i = 1; i < seen->card_count; i++)
        if (seen->cards[i].received > card->received)
            card = &seen->cards[i];
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", card->name);
    FILE *file = seen->card_count > 0 ? fopen(path, "re") : NULL;
    if (file && fscanf(file, "%lf", &megabits) != 1)
        megabits = -1;
    if (file)
        fclose(file);
    *speed = megabits > 0 ? megabits * 1e6 / 8 : (double)NAN;
    return seen->card_count > 0 && card->received >= 0.5 * facts->bytes ? card : NULL;
}

static void look_at_network(const struct limits_facts *facts, struct limits *limits)
{
    double speed, trip = facts->seen.round_trip, shortest = facts->seen.min_trip;
    const struct limits_card *card = card_of(facts, &speed);
    double rate = card && facts->seen.at > 0 ? card->received / facts->seen.at : (double)NAN;
    struct unit_texts texts = {0};
    bool full = rate >= FULL * speed, deep = trip >= DEEP * shortest && trip - shortest >= DEEP_MIN,
         lost = facts->seen.disordered > 0;
    if (!card)
        add(limits, LIMITS_NETWORK, BOUND, LIMITS_UNKNOWN, "/proc/net/dev",
            "no card received as much as the readers: which link the bytes took");
    else if (isnan(speed))
        add(limits, LIMITS_NETWORK, BOUND, LIMITS_UNKNOWN, "/sys/class/net",
            "the speed of the link %s, which received %s", card->name, unit_text(&texts, rate, UNIT_RATE));
    else
        add(limits, LIMITS_NETWORK, BOUND, says_if(full), "/proc/net/dev",
            "%s received %s of the %s of its link", card->name, unit_text(&texts, rate, UNIT_RATE),
            unit_text(&texts, speed, UNIT_RATE));
    if (isnan(trip))
        add(limits, LIMITS_NETWORK, BOUND, LIMITS_UNKNOWN, "TCP_INFO",
            "round trips of the storage's connections: they are not this process's");
    else {
        add(limits, LIMITS_NETWORK, BOUND, deep == lost ? says_if(deep) : LIMITS_UNKNOWN, "TCP_INFO",
            "round trips take %s under load, %s at best; %.0f packets came out of order%s",
            unit_text(&texts, trip, UNIT_TIME), unit_text(&texts, shortest, UNIT_TIME),
            facts->seen.disordered, deep == lost ? "" : ": a queue in the network would show in both");
        add(limits, LIMITS_SERVER, WAITS, deep == lost ? says_if(!deep && !full) : LIMITS_UNKNOWN, "TCP_INFO",
            "%s",
            deep != lost   ? "whether the network has a queue"
            : deep || full ? "the network has a queue or a full link"
                           : "no queue in the network, which a full link would have");
    }
}

static void look_at_processors(const struct limits_facts *facts, struct limits *limits)
{
    double busy = share_of(facts, LIMITS_CPU_BUSY) / facts->seen.cpus;
    double throttled = facts->throttled / facts->seen.at;
    if (isnan(busy))
        add(limits, LIMITS_CPU, BOUND, LIMITS_UNKNOWN, "/proc/stat", "how busy the processors are");
    else
        add(limits, LIMITS_CPU, BOUND, says_if(busy >= FULL), "/proc/stat",
            "of the %d processor%s that this run may use, %.0f %% were busy (by all processes)",
            facts->seen.cpus, facts->seen.cpus == 1 ? "" : "s", 100 * fmin(busy, 1));
    add(limits, LIMITS_CPU, BOUND, says_if(throttled >= PRESSED), "cpu.stat",
        "control groups throttled the run %.1f %% of the time", 100 * throttled);
}

/* Only that of memory counts: others' tasks wait, too, and this run's own waits are known. */
static void look_at_pressure(const struct limits_facts *facts, struct limits *limits)
{
    static const struct {
        enum limits_resource of;
        enum limits_counter counter;
        int kind;
        double from;
        const char *source, *word;
    } rows[] = {
        {LIMITS_CPU, LIMITS_PRESSURE_CPU, 0, MOST, "/proc/pressure/cpu", "a processor"},
        {LIMITS_STORAGE, LIMITS_PRESSURE_IO, 0, MOST, "/proc/pressure/io", "storage"},
        {LIMITS_MEMORY, LIMITS_PRESSURE_MEMORY, WAITS, PRESSED, "/proc/pressure/memory", "memory"},
    };
    double again = facts->seen.counters[LIMITS_REFAULTS] / facts->bytes;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double share = share_of(facts, rows[i].counter);
        if (isnan(share))
            add(limits, rows[i].of, rows[i].kind, LIMITS_UNKNOWN, rows[i].source,
                "how long any task of this system waited for %s", rows[i].word);
        else
            add(limits, rows[i].of, rows[i].kind, says_if(share >= rows[i].from), rows[i].source,
                "some task of this system waited for %s %.1f %% of the time", rows[i].word,
                100 * fmin(share, 1));
    }
    if (isnan(again))
        add(limits, LIMITS_MEMORY, BOUND, LIMITS_UNKNOWN, "/proc/vmstat",
            "how much was dropped and read again");
    else
        add(limits, LIMITS_MEMORY, BOUND, says_if(again >= AGAIN), "/proc/vmstat",
            "%.1f %% of the bytes were read again, or swapped in, after memory had dropped them",
            100 * again);
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
        look_at_network(facts, limits);
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
