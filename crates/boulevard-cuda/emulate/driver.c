// A driver that has no card, for tests of what happens when a card or its driver fails: `cc -shared -fPIC driver.c -o libcuda.so.1`.
//
// Memory of the card is that of the host, and kernels do nothing. What goes wrong is said by the variable PRETEND: a word and, where it has
// to wait for a number of calls, that number.
//
//     old_card        compute capability 5.2            no_cards        none
//     old_text        modules are refused               no_start        the driver does not start
//     small           little memory                     taken N         no memory after N blocks
//     lost N          kernels fail after N of them      fork            the process forks when it asks for memory
//
// Compiled with -DOLD it lacks a function, as an old driver would.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long Address;
enum { FINE = 0, OUT_OF_MEMORY = 2, NO_DEVICE = 100, LAUNCH_FAILED = 719, UNSUPPORTED_TEXT = 222 };

static int is(const char *word) {
    const char *wanted = getenv("PRETEND");
    return wanted && strncmp(wanted, word, strlen(word)) == 0;
}
// Whether a call is past the number after the word.
static int past(const char *word, int calls) { return is(word) && calls > atoi(getenv("PRETEND") + strlen(word)); }

int cuInit(unsigned flags) { return is("no_start") ? NO_DEVICE : FINE; }
int cuDeviceGetCount(int *count) { return *count = is("no_cards") ? 0 : 1, FINE; }
int cuDeviceGet(int *device, int number) { return *device = number, FINE; }
int cuDeviceGetName(char *name, int length, int device) { return snprintf(name, (size_t)length, "Pretended card"), FINE; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 16: *value = 4; break;                         // processors
    case 75: *value = is("old_card") ? 5 : 8; break;    // compute capability
    case 76: *value = is("old_card") ? 2 : 0; break;
    case 97: *value = 164 << 10; break;                 // shared memory of a block
    default: *value = 0;
    }
    return FINE;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = (void *)1, FINE; }
int cuCtxSetCurrent(void *context) { return FINE; }
int cuCtxSynchronize(void) { return FINE; }
int cuModuleLoadDataEx(void **module, const void *text, unsigned count, int *options, void **values) {
    return *module = (void *)1, is("old_text") ? UNSUPPORTED_TEXT : FINE;
}
int cuModuleGetFunction(void **function, void *module, const char *name) { return *function = (void *)1, FINE; }
int cuFuncSetAttribute(void *function, int attribute, int value) { return FINE; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
    static int asked;
    *free = is("small") ? 64 << 20 : (size_t)8 << 30;
    *total = (size_t)16 << 30;
    // The first question is part of opening the card.
    if (is("fork") && ++asked == 2) {
        pid_t child = fork();
        if (child > 0) {
            // The child goes on in place of its parent.
            int status = 1;
            waitpid(child, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
    }
    return FINE;
}
int cuMemAlloc_v2(Address *address, size_t bytes) {
    static int calls;
    if (past("taken", ++calls)) return OUT_OF_MEMORY;
    *address = (Address)calloc(1, bytes);
    return *address ? FINE : OUT_OF_MEMORY;
}
int cuMemFree_v2(Address address) { return free((void *)address), FINE; }
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void *stream) { return memset((void *)to, value, bytes), FINE; }
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) { return memcpy((void *)to, from, bytes), FINE; }
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) { return memcpy(to, (void *)from, bytes), FINE; }
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream) { return memmove((void *)to, (void *)from, bytes), FINE; }
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) { return *memory = calloc(1, bytes), FINE; }
int cuMemFreeHost(void *memory) { return free(memory), FINE; }
int cuEventCreate(void **event, unsigned flags) { return *event = (void *)1, FINE; }
int cuEventDestroy_v2(void *event) { return FINE; }
int cuEventRecord(void *event, void *stream) { return FINE; }
int cuEventSynchronize(void *event) { return FINE; }
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned shared, void *stream,
                   void **arguments, void **extra) {
    static int calls;
    return past("lost", ++calls) ? LAUNCH_FAILED : FINE;
}
#ifndef OLD
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) { return *stream = (void *)1, FINE; }
#endif
int cuStreamSynchronize(void *stream) { return FINE; }
int cuGetErrorName(int code, const char **name) {
    *name = code == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    return FINE;
}
