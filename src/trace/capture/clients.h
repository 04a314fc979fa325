/* Programs that only ask another program to do the work: docker, srun, ssh. A trace of their processes misses the work,
 * so it says that. */
#ifndef REHEARSE_TRACE_CAPTURE_CLIENTS_H
#define REHEARSE_TRACE_CAPTURE_CLIENTS_H

#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_CLIENTS 32

/* The clients among the traced processes. Begin with {0}, or with `system` where all processes of this host are
 * traced. */
struct capture_clients {
    struct capture_client {
        int count;     /* times it was executed */
        uint32_t last; /* the last process that executed it */
        int64_t since; /* when that did so */
        bool told;
    } of[CAPTURE_CLIENTS];
    bool system;
};

/* Notes that a process executed a program with this command line, its words divided by spaces. A process that goes on
 * to execute another program has only been a script around that. */
void capture_clients_note(struct capture_clients *clients, uint32_t pid, const char *program,
                          const char *command, int64_t now);

/* The same of a process as /proc has it: with --no-bpf nobody reports its beginning. */
void capture_clients_look(struct capture_clients *clients, int pid, int64_t now);

/* Warns the caller once of each client that has been one for some time. */
void capture_clients_tell(struct capture_clients *clients, int64_t now);

/* Adds a line for each client: "docker: its work …". */
void capture_clients_list(const struct capture_clients *clients, struct text *lines);

#endif
