#include "support/forked.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_COUNT 16

static _Noreturn void become(int rank, int count, double silence, int (*sockets)[MAX_COUNT],
                             int (*be)(struct wire *wire, void *context), void *context)
{
    struct error err;
    for (int other = 0; other < count; other++)
        for (int one = 0; one < count; one++)
            if (other != rank && sockets[other][one] >= 0)
                close(sockets[other][one]);
    struct wire *wire = wire_over_sockets(rank, count, sockets[rank], silence, &err);
    wire_leave(wire, wire ? be(wire, context) : 1);
}

int forked_run(int count, double silence, int (*be)(struct wire *wire, void *context), void *context)
{
    int sockets[MAX_COUNT][MAX_COUNT], ends[2], status = 0;
    pid_t pids[MAX_COUNT];
    if (count > MAX_COUNT)
        return 1;
    for (int a = 0; a < count; a++) {
        sockets[a][a] = -1;
        for (int b = 0; b < a; b++) {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
                return 1;
            sockets[a][b] = ends[0];
            sockets[b][a] = ends[1];
        }
    }
    fflush(NULL);
    for (int rank = 0; rank < count; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0)
            become(rank, count, silence, sockets, be, context);
    }
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++)
            if (sockets[a][b] >= 0)
                close(sockets[a][b]);
    for (int rank = 0; rank < count; rank++) {
        int own;
        if (pids[rank] < 0 || waitpid(pids[rank], &own, 0) != pids[rank] || !WIFEXITED(own))
            own = 1;
        if (status == 0)
            status = own;
    }
    return status;
}
