/* What a plain MPI program moves: two ranks exchange the messages of a pipeline of two stages, as `rehearse run --link host` does when
 * kernels take no time: up to two are under way, each answer follows what it answers. Beside it, bench/run_against_twin. Prints bytes a
 * second.
 *
 * AHEAD receives are open at one time. Two look better than one, but where MPI copies a message as soon as its receive is there (between
 * processes of one host), both are copied before the first is answered, and the other rank has nothing to do meanwhile: the faster
 * of both counts.
 *
 *     mpirun -n 2 twin BYTES MICROBATCHES ITERATIONS AHEAD */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD = 1, BACK, UNDER_WAY = 2 };

static char *out, *in[UNDER_WAY];
static MPI_Request sent[UNDER_WAY], received[UNDER_WAY];

static void iterate(int rank, int bytes, int count, int ahead)
{
    int come = rank == 0 ? BACK : FORWARD, go = rank == 0 ? FORWARD : BACK;
    for (int i = 0; i < ahead && i < count; i++)
        MPI_Irecv(in[i], bytes, MPI_BYTE, 1 - rank, come, MPI_COMM_WORLD, &received[i]);
    for (int i = 0; rank == 0 && i < UNDER_WAY && i < count; i++)
        MPI_Isend(out, bytes, MPI_BYTE, 1, go, MPI_COMM_WORLD, &sent[i]);
    for (int i = 0; i < count; i++) {
        int place = i % UNDER_WAY;
        MPI_Wait(&received[i % ahead], MPI_STATUS_IGNORE);
        MPI_Wait(&sent[place], MPI_STATUS_IGNORE);
        if (rank == 1 || i + UNDER_WAY < count)
            MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, go, MPI_COMM_WORLD, &sent[place]);
        if (i + ahead < count)
            MPI_Irecv(in[i % ahead], bytes, MPI_BYTE, 1 - rank, come, MPI_COMM_WORLD, &received[i % ahead]);
    }
    MPI_Waitall(UNDER_WAY, sent, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 1 << 20, count = argc > 2 ? atoi(argv[2]) : 8,
              iterations = argc > 3 ? atoi(argv[3]) : 10, ahead = argc > 4 ? atoi(argv[4]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = malloc((size_t)bytes);
    memset(out, 1, (size_t)bytes);
    for (int i = 0; i < UNDER_WAY; i++) {
        in[i] = malloc((size_t)bytes);
        memset(in[i], 1, (size_t)bytes);
        sent[i] = MPI_REQUEST_NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < iterations; i++)
        iterate(rank, bytes, count, ahead == 2 ? 2 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6g\n", 2.0 * bytes * count * iterations / (MPI_Wtime() - start));
    MPI_Finalize();
    return 0;
}
