#include "trace/capture/clients.h"
#include "names.h"

#include "core/caller.h"
#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLED  INT64_C(50000000) /* ns after which a script has executed the program that it is around */
#define MAX_LINE ((size_t)1 << 20)

enum place { CONTAINERS, SERVICES, JOBS, PODS, HOSTS };

/* Where the work is done, and how it is traced. */
static const struct {
    const char *where, *advice;
    bool here; /* on this host: --system sees it */
} places[] = {
    [CONTAINERS] = {"a daemon starts its containers",
                    "trace with --container NAME, or all from the start with --system", true},
    [SERVICES] = {"a daemon starts its processes",
                  "trace with --cgroup FOLDER, or all from the start with --system", true},
    [JOBS] = {"a daemon starts its tasks, on this host or others",
              "put the trace into the job: … rehearse trace -o FILE -- COMMAND", false},
    [PODS] = {"a node's daemon starts its containers", "trace on that node with --container ID", false},
    [HOSTS] = {"its commands run on another host", "trace there", false},
};

/* podman's own containers are its children, and so are apptainer's and singularity's: they are none. */
static const struct {
    const char *program;
    enum place place;
    const char *only;   /* its first argument makes it a client; NULL: it always is one */
    const char *unless; /* an argument that makes it none */
} known[] = {ROWS_client};
#define KNOWN (sizeof known / sizeof *known)
_Static_assert(KNOWN <= CAPTURE_CLIENTS, "more clients than counters");

/* Returns whether one of the first `count` words of a text is among others, also as "WORD=…". */
static bool has_word(const char *text, size_t count, const char *among)
{
    for (; *text && count > 0; text += strspn(text, " "), count--) {
        size_t length = strcspn(text, " "), name = strcspn(text, " =");
        for (const char *at = among; *at; at += strspn(at, " ")) {
            size_t word = strcspn(at, " ");
            if (word == name && memcmp(at, text, word) == 0)
                return true;
            at += word;
        }
        text += length;
    }
    return false;
}

/* Returns the words behind the program, which stands behind its interpreter if it is a script. */
static const char *arguments_of(const char *command, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = command; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        bool same = word >= length && memcmp(at + word - length, name, length) == 0 &&
                    (word == length || at[word - length - 1] == '/');
        at += word;
        if (same)
            return at + strspn(at, " ");
    }
    return "";
}

/* Returns the number of a client in `known`; -1: it is none. Behind a link may be another: docker can be podman. */
static int find(const char *program, const char *command)
{
    char *real = *program == '/' ? realpath(program, NULL) : NULL;
    const char *name = basename(real && strcmp(basename(real), "podman") == 0 ? real : program);
    const char *arguments = arguments_of(command, basename(program));
    int found = -1;
    for (size_t i = 0; i < KNOWN && found < 0; i++)
        if (strcmp(known[i].program, name) == 0 &&
            (!known[i].only || has_word(arguments, 1, known[i].only)) &&
            !(known[i].unless && has_word(arguments, SIZE_MAX, known[i].unless)))
            found = (int)i;
    free(real);
    return found;
}

void capture_clients_note(struct capture_clients *clients, uint32_t pid, const char *program,
                          const char *command, int64_t now)
{
    int which = find(program, command);
    for (size_t i = 0; i < KNOWN; i++) {
        struct capture_client *client = &clients->of[i];
        if (client->last != pid || client->count == 0)
            continue;
        if (which == (int)i)
            return; /* it is known already */
        client->count--;
        client->last = 0;
    }
    if (which < 0 || (clients->system && places[known[which].place].here))
        return;
    clients->of[which].count++;
    clients->of[which].last = pid;
    clients->of[which].since = now;
}

void capture_clients_look(struct capture_clients *clients, int pid, int64_t now)
{
    char path[64], *name, *command;
    size_t length;
    struct error ignored;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (!file_read(path, MAX_LINE, &name, &length, &ignored))
        return; /* it has ended */
    name[strcspn(name, "\n")] = '\0';
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    if (file_read(path, MAX_LINE, &command, &length, &ignored)) {
        for (size_t i = 0; i + 1 < length; i++)
            if (command[i] == '\0')
                command[i] = ' ';
        capture_clients_note(clients, (uint32_t)pid, name, command, now);
        free(command);
    }
    free(name);
}

void capture_clients_tell(struct capture_clients *clients, int64_t now)
{
    for (size_t i = 0; i < KNOWN; i++) {
        struct capture_client *client = &clients->of[i];
        if (client->count == 0 || client->told || now - client->since < SETTLED)
            continue;
        client->told = true;
        caller_warn("%s is only a client: %s, which are not in this trace; %s", known[i].program,
                    places[known[i].place].where, places[known[i].place].advice);
    }
}

void capture_clients_list(const struct capture_clients *clients, struct text *lines)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (clients->of[i].count > 0)
            text_format(lines, "the work of %s, executed %d time%s: %s; %s\n", known[i].program,
                        clients->of[i].count, clients->of[i].count == 1 ? "" : "s",
                        places[known[i].place].where, places[known[i].place].advice);
}
