/* The kernel's counters. */
#include "core/clock.h"
#include "core/text.h"
#include "feed/groups.h"
#include "feed/limits.h"
#include "storage/facts.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <math.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UNKNOWN   ((double)NAN)
#define BUSY_FROM 1e6 /* bytes; a connection with fewer carries no data */

/* Returns the number behind the first word of a text that begins so ("total="); NaN: none. */
static double number_behind(const char *text, const char *word)
{
    for (const char *at = text; at && (at = strstr(at, word)); at++) {
        char *end;
        double number = text_number(at + strlen(word), &end);
        if ((at == text || at[-1] == ' ' || at[-1] == '\n') && end > at + strlen(word))
            return number;
    }
    return UNKNOWN;
}

static double number_in(const char *path, const char *word)
{
    char *text = groups_text(path);
    double number = text ? number_behind(text, word) : UNKNOWN;
    free(text);
    return number;
}

/* "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL …", in ticks: all but the fourth and fifth are busy. */
static void look_at_processors(struct limits_look *look)
{
    cpu_set_t allowed;
    char *text = groups_text("/proc/stat");
    double ticks = 0, per_second = (double)sysconf(_SC_CLK_TCK);
    int found = 0;
    look->cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        int cpu;
        double of[8];
        if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, of, of + 1, of + 2, of + 3, of + 4,
                   of + 5, of + 6, of + 7) != 9 ||
            look->cpus == 0 || cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed))
            continue;
        ticks += of[0] + of[1] + of[2] + of[5] + of[6] + of[7];
        found++;
    }
    look->counters[LIMITS_CPU_BUSY] = found > 0 && found == look->cpus ? ticks / per_second : UNKNOWN;
    free(text);
}

static void look_at_cards(struct limits_look *look)
{
    char *text = groups_text("/proc/net/dev");
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        struct limits_card card;
        char path[64];
        if (look->card_count == LIMITS_CARDS ||
            sscanf(line, " %15[^: ]: %lf", card.name, &card.received) != 2)
            continue;
        snprintf(path, sizeof path, "/sys/class/net/%s/speed", card.name);
        double megabits = number_in(path, "");
        card.speed = megabits > 0 ? megabits * 1e6 / 8 : UNKNOWN;
        look->cards[look->card_count++] = card;
    }
    free(text);
}

/* The round trips of this process's connections: a queue in the network makes them longer than the shortest. */
static void look_at_connections(struct limits_look *look)
{
    DIR *folder = opendir("/proc/self/fd");
    double sum = 0;
    int count = 0;
    look->round_trip = look->min_trip = UNKNOWN;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct tcp_info info = {0};
        socklen_t length = sizeof info;
        int64_t fd;
        if (!text_whole(entry->d_name, "", &fd) ||
            getsockopt((int)fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
            length < offsetof(struct tcp_info, tcpi_rcv_ooopack) + sizeof info.tcpi_rcv_ooopack ||
            (double)info.tcpi_bytes_received < BUSY_FROM)
            continue;
        sum += 1e-6 * info.tcpi_rtt;
        look->min_trip = fmin(look->min_trip, 1e-6 * info.tcpi_min_rtt);
        look->disordered += info.tcpi_rcv_ooopack;
        count++;
    }
    if (folder)
        closedir(folder);
    look->round_trip = count > 0 ? sum / count : UNKNOWN;
}

/* The lowest rate that control groups have for a device. */
struct group_rate {
    char device[32]; /* "254:0 " */
    double rate;
};

static void add_rate(void *context, const char *text)
{
    struct group_rate *group = context;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char own[256];
        if (strncmp(line, group->device, strlen(group->device)) != 0)
            continue;
        snprintf(own, sizeof own, "%.*s", (int)strcspn(line, "\n"), line);
        double rate = strstr(own, "bps=") ? number_behind(own, "rbps=") : number_behind(own, group->device);
        group->rate = fmin(group->rate, rate); /* NaN, as of "max", is no number */
    }
}

static void look_at_device(const char *folder, struct limits_look *look)
{
    struct storage_facts facts;
    struct error ignored;
    struct stat info;
    if (!storage_facts(folder, &facts, &ignored) || stat(folder, &info) != 0)
        return;
    snprintf(look->file_system, sizeof look->file_system, "%s", facts.file_system);
    look->counted = facts.counted;
    if (!facts.counted)
        return;
    snprintf(look->device, sizeof look->device, "%s", facts.device);
    look->counters[LIMITS_DEVICE_BUSY] = facts.busy;
    look->counters[LIMITS_DEVICE_QUEUED] = facts.queued;
    look->counters[LIMITS_DEVICE_READ] = (double)facts.read_bytes;
    struct group_rate group = {.rate = (double)INFINITY};
    char path[96];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(info.st_dev), minor(info.st_dev));
    bool is_part = access(path, F_OK) == 0; /* limits are those of the whole disk */
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%sdev", major(info.st_dev), minor(info.st_dev),
             is_part ? "../" : "");
    char *number = groups_text(path);
    snprintf(group.device, sizeof group.device, "%.*s ", number ? (int)strcspn(number, "\n") : 0,
             number ? number : "");
    free(number);
    groups_each("blkio", "blkio.throttle.read_bps_device", add_rate, &group);
    groups_each("", "io.max", add_rate, &group);
    look->group_rate = group.rate;
}

void limits_look(const char *folder, struct limits_look *look)
{
    double *counters = look->counters, page = (double)sysconf(_SC_PAGESIZE);
    int64_t read;
    *look = (struct limits_look){.at = clock_now(), .group_rate = UNKNOWN};
    for (int i = 0; i < LIMITS_COUNTERS; i++)
        counters[i] = UNKNOWN;
    snprintf(look->file_system, sizeof look->file_system, "%s", folder ? "unknown" : "s3");
    if (folder)
        look_at_device(folder, look);
    if (storage_process_read(&read))
        counters[LIMITS_OWN_READ] = (double)read;
    counters[LIMITS_PRESSURE_CPU] = 1e-6 * number_in("/proc/pressure/cpu", "total=");
    counters[LIMITS_PRESSURE_IO] = 1e-6 * number_in("/proc/pressure/io", "total=");
    counters[LIMITS_PRESSURE_MEMORY] = 1e-6 * number_in("/proc/pressure/memory", "total=");
    counters[LIMITS_REFAULTS] =
        page * (number_in("/proc/vmstat", "workingset_refault_file ") + number_in("/proc/vmstat", "pswpin "));
    look_at_processors(look);
    look_at_cards(look);
    look_at_connections(look);
}

void limits_add(struct limits_look *sum, const struct limits_look *before, const struct limits_look *after)
{
    struct limits_look total = *after;
    total.at = sum->at + after->at - before->at;
    for (int i = 0; i < LIMITS_COUNTERS; i++)
        total.counters[i] = sum->counters[i] + after->counters[i] - before->counters[i];
    for (int i = 0; i < total.card_count; i++) {
        struct limits_card *card = &total.cards[i];
        for (int k = 0; k < before->card_count; k++)
            if (strcmp(before->cards[k].name, card->name) == 0)
                card->received -= before->cards[k].received;
        for (int k = 0; k < sum->card_count; k++)
            if (strcmp(sum->cards[k].name, card->name) == 0)
                card->received += sum->cards[k].received;
    }
    *sum = total;
}
