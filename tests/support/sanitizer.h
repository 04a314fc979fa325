/* Is this program built with the thread sanitizer? It has memory and threads of its own, and gives a child process that a
 * program of several threads forked no way to start threads. */
#ifndef REHEARSE_TESTS_SUPPORT_SANITIZER_H
#define REHEARSE_TESTS_SUPPORT_SANITIZER_H

#if defined(__SANITIZE_THREAD__) /* gcc */
#define THREAD_SANITIZER 1
#elif defined(__has_feature) /* clang */
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER 0
#endif

#endif
