// A graphics card in a few lines, for tests on machines without one: the threads of a block are fibers on one thread of the processor, which
// take turns and wait for each other at barriers and in the instructions of a warp. Blocks run one after the other, so that shared memory
// can be static. Slow, exact in its logic, and blind to races between blocks and to the weak order of memory.

#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define BOULEVARD_EMULATED 1
#define TENSOR_CORES 1
#define WARPGROUPS 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ static
#define SHARED_BYTES(NAME) unsigned char *NAME = emulate::shared()

struct Three {
    unsigned x, y, z;
};
inline Three threadIdx, blockIdx, blockDim, gridDim;
struct float4 {
    float x, y, z, w;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) double2 {
    double x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulate {

// A fiber is entered once by its context, then by jumps: those leave the signals alone and take no calls of the system.
struct Fiber {
    ucontext_t context;
    jmp_buf jump;
    bool begun = false;
    std::vector<char> stack;
    bool done = false;
};
// Threads that have come to a barrier, and how often it has opened.
struct Barrier {
    unsigned waiting = 0, opened = 0, members = 0;
};

inline std::vector<Fiber> fibers;
inline std::vector<Barrier> warps;
inline Barrier block;
inline jmp_buf back;
inline unsigned current = 0;
inline std::vector<uint64_t> exchange;
inline std::vector<unsigned char> shared_bytes;
inline std::function<void()> body;

inline unsigned char *shared() { return (unsigned char *)(((uintptr_t)shared_bytes.data() + 127) & ~(uintptr_t)127); }

inline void pause() {
    unsigned self = current;
    if (!_setjmp(fibers[self].jump)) _longjmp(back, 1);
    current = self;
    threadIdx.x = self;
}
inline void wait(Barrier &barrier) {
    unsigned ticket = barrier.opened;
    if (++barrier.waiting == barrier.members) {
        barrier.waiting = 0;
        barrier.opened++;
    }
    while (barrier.opened == ticket) pause();
}
inline void fiber_main() {
    body();
    fibers[current].done = true;
    // A thread that has ended is no longer waited for.
    Barrier &warp = warps[current / 32];
    warp.members--;
    block.members--;
    for (Barrier *b : {&warp, &block})
        if (b->members && b->waiting == b->members) {
            b->waiting = 0;
            b->opened++;
        }
    _longjmp(back, 1);
}

inline void enter(Fiber &fiber) {
    if (_setjmp(back)) return;
    if (fiber.begun) _longjmp(fiber.jump, 1);
    fiber.begun = true;
    setcontext(&fiber.context);
}

// kernel<<<(gx, gy), threads, bytes>>>: `call` calls the kernel with its arguments.
inline void launch(unsigned gx, unsigned gy, unsigned threads, size_t bytes, std::function<void()> call) {
    body = call;
    gridDim = {gx, gy, 1};
    blockDim = {threads, 1, 1};
    shared_bytes.assign(bytes + 256, 0xee);
    exchange.assign(threads * 2, 0);
    if (fibers.size() < threads) fibers.resize(threads);
    for (unsigned by = 0; by < gy; by++)
        for (unsigned bx = 0; bx < gx; bx++) {
            blockIdx = {bx, by, 0};
            block = {0, 0, threads};
            warps.assign((threads + 31) / 32, Barrier{});
            for (unsigned t = 0; t < threads; t++) warps[t / 32].members++;
            for (unsigned t = 0; t < threads; t++) {
                Fiber &fiber = fibers[t];
                fiber.done = fiber.begun = false;
                fiber.stack.resize(1 << 16);
                getcontext(&fiber.context);
                fiber.context.uc_stack.ss_sp = fiber.stack.data();
                fiber.context.uc_stack.ss_size = fiber.stack.size();
                fiber.context.uc_link = nullptr;
                makecontext(&fiber.context, fiber_main, 0);
            }
            for (bool running = true; running;) {
                running = false;
                for (unsigned t = 0; t < threads; t++)
                    if (!fibers[t].done) {
                        running = true;
                        current = t;
                        threadIdx = {t, 0, 0};
                        enter(fibers[t]);
                    }
            }
        }
}

// Every lane gives a value and sees those of its warp.
template <typename T, typename F>
auto among_lanes(T value, F choose) {
    unsigned first = current & ~31u;
    uint64_t raw = 0;
    memcpy(&raw, &value, sizeof value);
    exchange[current] = raw;
    wait(warps[current / 32]);
    auto result = choose([first](unsigned lane) {
        T v;
        memcpy(&v, &exchange[first + lane], sizeof v);
        return v;
    });
    wait(warps[current / 32]);
    return result;
}
}  // namespace emulate

inline void __syncthreads() { emulate::wait(emulate::block); }
inline void __syncwarp() { emulate::wait(emulate::warps[emulate::current / 32]); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
template <typename T>
T __shfl_xor_sync(unsigned, T v, int d) {
    unsigned lane = threadIdx.x & 31;
    return emulate::among_lanes(v, [=](auto of) { return of(lane ^ d); });
}
template <typename T>
T __shfl_up_sync(unsigned, T v, int d) {
    int lane = threadIdx.x & 31;
    return emulate::among_lanes(v, [=](auto of) { return of(lane >= d ? lane - d : lane); });
}
template <typename T>
T __shfl_sync(unsigned, T v, int from) {
    return emulate::among_lanes(v, [=](auto of) { return of(from & 31); });
}
inline unsigned __ballot_sync(unsigned, bool yes) {
    return emulate::among_lanes((unsigned)yes, [](auto of) {
        unsigned all = 0;
        for (unsigned lane = 0; lane < 32; lane++) all |= of(lane) ? 1u << lane : 0;
        return all;
    });
}
inline int __ffs(unsigned v) { return __builtin_ffs((int)v); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
template <typename T>
T atomicAdd(T *p, T v) { T old = *p; *p += v; return old; }
template <typename T>
T atomicMin(T *p, T v) { T old = *p; if (v < old) *p = v; return old; }
template <typename T>
T atomicMax(T *p, T v) { T old = *p; if (v > old) *p = v; return old; }
inline long long __double_as_longlong(double v) { long long b; memcpy(&b, &v, 8); return b; }
inline double __longlong_as_double(long long b) { double v; memcpy(&v, &b, 8); return v; }
inline unsigned __float_as_uint(float v) { unsigned b; memcpy(&b, &v, 4); return b; }
inline float __uint_as_float(unsigned b) { float v; memcpy(&v, &b, 4); return v; }

// The primitives of 10_primitives.cu.
inline float power_of_two(float x) { return exp2f(x); }
inline float reciprocal(float x) { return 1.0f / x; }
inline unsigned short to_half(float x) { _Float16 h = (_Float16)x; unsigned short b; memcpy(&b, &h, 2); return b; }
inline float from_half(unsigned short b) { _Float16 h; memcpy(&h, &b, 2); return (float)h; }

// Lanes hold fragments as the PTX manual draws them for m16n8k16: a row l / 4 (+ 8), features 2 (l % 4) (+ 8); b column l / 4.
inline void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    unsigned lane = threadIdx.x & 31;
    unsigned all[6][32], own[6] = {a[0], a[1], a[2], a[3], b0, b1};
    for (int r = 0; r < 6; r++)
        emulate::among_lanes(own[r], [&](auto of) {
            for (unsigned l = 0; l < 32; l++) all[r][l] = of(l);
            return 0;
        });
    auto half_of = [](unsigned word, int which) { return from_half((unsigned short)(word >> (16 * which))); };
    for (int c = 0; c < 4; c++) {
        unsigned row = lane / 4 + 8 * (c / 2), column = (lane % 4) * 2 + c % 2;
        double sum = d[c];
        for (unsigned k = 0; k < 16; k++) {
            unsigned pair = (k % 8) / 2, from = (row % 8) * 4 + pair;
            float av = half_of(all[row / 8 + 2 * (k / 8)][from], k % 2);
            float bv = half_of(all[4 + k / 8][column * 4 + pair], k % 2);
            sum += (double)av * bv;
        }
        d[c] = (float)sum;
    }
}
// For m8n8k4 in double precision: a[l / 4][l % 4], b[l % 4][l / 4], d[l / 4][2 (l % 4) ..].
inline void multiply_add(double (&d)[2], double a, double b) {
    unsigned lane = threadIdx.x & 31;
    double all[2][32], own[2] = {a, b};
    for (int r = 0; r < 2; r++)
        emulate::among_lanes(own[r], [&](auto of) {
            for (unsigned l = 0; l < 32; l++) all[r][l] = of(l);
            return 0;
        });
    for (unsigned c = 0; c < 2; c++)
        for (unsigned k = 0; k < 4; k++) d[c] += all[0][(lane / 4) * 4 + k] * all[1][((lane % 4) * 2 + c) * 4 + k];
}
inline void load_matrices(unsigned (&r)[4], const unsigned short *row) {
    unsigned lane = threadIdx.x & 31;
    for (int m = 0; m < 4; m++)
        r[m] = emulate::among_lanes((uint64_t)(uintptr_t)row, [&](auto of) {
            const unsigned short *from = (const unsigned short *)(uintptr_t)of(m * 8 + lane / 4);
            if ((uintptr_t)from % 16) fprintf(stderr, "a matrix row is not aligned\n"), abort();
            return (unsigned)from[(lane % 4) * 2] | (unsigned)from[(lane % 4) * 2 + 1] << 16;
        });
}
inline void copy16(void *to, const void *from) {
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16) fprintf(stderr, "a copy is not aligned\n"), abort();
    memcpy(to, from, 16);
}
inline void copies_begun() {}
template <int LEFT>
void copies_arrived() {}

// Lanes hold sums as the PTX manual draws them for m64n128k16: warp w has rows 16 w on; lines of 128 bytes whose parts of 16 are exchanged.
inline void group_multiply(float (&d)[64], const unsigned short *a, const unsigned short *b, bool add) {
    auto value = [](const unsigned short *from, unsigned line, unsigned feature) {
        uintptr_t address = (uintptr_t)from, first = address & ~(uintptr_t)127;
        if (first % 1024 || address % 32) fprintf(stderr, "lines are not aligned\n"), abort();
        feature += (unsigned)(address & 127) / 2;
        return from_half(((const unsigned short *)first)[line * 64 + (((feature / 8) ^ (line % 8)) * 8) + feature % 8]);
    };
    unsigned lane = threadIdx.x & 31, warp = (threadIdx.x >> 5) & 3;
    for (unsigned e = 0; e < 64; e++) {
        unsigned row = warp * 16 + lane / 4 + 8 * ((e / 2) % 2), column = (e / 4) * 8 + (lane % 4) * 2 + e % 2;
        double sum = add ? d[e] : 0.0;
        for (unsigned k = 0; k < 16; k++) sum += (double)value(a, row, k) * value(b, column, k);
        d[e] = (float)sum;
    }
}
inline void group_begin() {}
inline void group_end(float (&)[64], float (&)[64]) {}
inline void seen_by_tensor_cores() {}
