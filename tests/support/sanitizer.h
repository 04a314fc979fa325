/* Is this program built with the thread or the address sanitizer? Either has memory of its own, beyond what a limit of
 * addresses allows. The thread sanitizer has threads, too, and gives a child process that a program of several threads
 * forked no way to start threads. */
#ifndef REHEARSE_TESTS_SUPPORT_SANITIZER_H
#define REHEARSE_TESTS_SUPPORT_SANITIZER_H

#if defined(__has_feature) /* clang */
#define THREAD_SANITIZER  __has_feature(thread_sanitizer)
#define ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else /* gcc */
#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif
#ifdef __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER 1
#else
#define ADDRESS_SANITIZER 0
#endif
#endif

/* Of many golden files a sanitizer, which is slow, takes every eighth: memory is used in the same ways in all of them. */
#define GOLDEN_STEP (ADDRESS_SANITIZER || THREAD_SANITIZER ? 8 : 1)

/* The same for random cases of long searches. A single long case, whose steps are those of quicker tests, is left out. */
#define SEARCH_STEP (ADDRESS_SANITIZER || THREAD_SANITIZER ? 32 : 1)

#endif
