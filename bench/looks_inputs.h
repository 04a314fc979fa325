/* Large inputs of every kind that calls of the library read: what bench_looks works on. */
#ifndef REHEARSE_BENCH_LOOKS_INPUTS_H
#define REHEARSE_BENCH_LOOKS_INPUTS_H

/* Writes them into a folder that is there. Ends the program on failure. */
void looks_write_inputs(const char *folder);

#endif
