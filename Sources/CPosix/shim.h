#pragma once
// GNU extensions that <pthread.h> shows only with _GNU_SOURCE, which Swift's importer does not set.
#include <pthread.h>
extern int pthread_setname_np(pthread_t thread, const char *name);
