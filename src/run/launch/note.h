/* Notes between the launcher and a rank: over a pair of sockets that keeps the bounds of messages, each a kind, a rank,
 * some bytes, and at most one open file. Private to run/launch. */
#ifndef REHEARSE_RUN_LAUNCH_NOTE_H
#define REHEARSE_RUN_LAUNCH_NOTE_H

#include "core/error.h"
#include "run/launch/launch.h"

#include <stddef.h>
#include <stdint.h>

#define LAUNCH_VARIABLE "REHEARSE_RANK" /* environment variable of a rank: LAUNCH_CONTROL */
#define LAUNCH_CONTROL  3               /* file descriptor of a rank: its launcher */

enum note_kind {
    NOTE_SEAT = 1, /* to a rank: struct note_seat */
    NOTE_READY,    /* of a rank: it has its seat */
    NOTE_PEER,     /* to a rank, with a file: the socket to rank `rank` */
    NOTE_GO,       /* to a rank: when it begins, a double */
    NOTE_RESULT,   /* of a rank */
    NOTE_FAILED,   /* of a rank: the error's kind and text */
    NOTE_KINDS
};

struct note_seat {
    char version[32];
    int32_t rank, size, number;
    int32_t later; /* this rank comes later than the others */
    int32_t note_length;
    char note[LAUNCH_MAX_NOTE];
};

struct note_head {
    uint32_t magic, kind;
    int32_t rank;
};

struct note {
    struct note_head head;
    char bytes[LAUNCH_PIECE];
    size_t length;
    int file; /* the receiver's to close; -1: none */
};

/* Sends a note (`file` -1: without one). It waits while the other side's queue is full, or too many files are under
 * way, until `deadline` by clock_now. Returns 0, or the errno. Writing to a process that has ended raises no signal. */
int note_send(int control, enum note_kind kind, int rank, const void *bytes, size_t length, int file,
              double deadline);

enum note_found { NOTE_NONE, NOTE_THERE, NOTE_ENDED, NOTE_BROKEN };

/* Takes the next note, without waiting. NOTE_BROKEN: what came is no note, or its file could not be taken (errno). */
enum note_found note_take(int control, struct note *note);

#endif
