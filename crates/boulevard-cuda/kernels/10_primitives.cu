// Instructions that C++ has no word for, each beside what it means. The emulator (emulate/cuda.h) has its own versions of these few
// functions; everything else is compiled from the same text for the card and for the processor.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

// Bits of a number in half precision. (Not the type of cuda_fp16.h: the compiler would need NVIDIA's headers for it.)
typedef unsigned short Half;

#ifndef BOULEVARD_EMULATED
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define TENSOR_CORES 1
#endif

// 2^x, wrong by two units in the last place; the smallest results are 0.
__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x, wrong by a unit in the last place.
__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ Half to_half(float x) {
    Half h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
__device__ __forceinline__ float from_half(Half h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}

#ifdef TENSOR_CORES
// d += a b for a 16 x 16, b 16 x 8: half precision in, single precision sums.
__device__ __forceinline__ void multiply_add(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// d += a b for a 8 x 4, b 4 x 8 in double precision: a lane holds a[lane / 4][lane % 4], b[lane % 4][lane / 4] and
// d[lane / 4][2 (lane % 4) ..].
__device__ __forceinline__ void multiply_add(double (&d)[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define LARGE_DOUBLE 1
// d += a b for a 16 x 8, b 8 x 8: upper and lower half of d and a; features 0-3 and 4-7. One instruction from Hopper on.
__device__ __forceinline__ void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[2], const double (&a_lower)[2],
                                             const double (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
                 : "d"(a_upper[0]), "d"(a_lower[0]), "d"(a_upper[1]), "d"(a_lower[1]), "d"(b[0]), "d"(b[1]));
}
// The same for 4 features.
__device__ __forceinline__ void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[1], const double (&a_lower)[1],
                                             const double (&b)[1]) {
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
                 : "d"(a_upper[0]), "d"(a_lower[0]), "d"(b[0]));
}
#endif

// Four 8 x 8 matrices of halves; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(u32 (&r)[4], const Half *row) {
    u32 address = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// 16 bytes from global to shared memory, on their way while other work goes on.
__device__ __forceinline__ void copy16(void *to, const void *from) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ void copies_begun() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all but the newest `LEFT` groups of copies have arrived.
template <int LEFT>
__device__ __forceinline__ void copies_arrived() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WARPGROUPS 1
// Where lines of 128 bytes begin in shared memory, for the instruction below: eight of them are 1024 bytes, parts exchanged within.
__device__ __forceinline__ u64 lines_from(const Half *first) {
    u32 address = (u32)__cvta_generic_to_shared(first);
    return (u64)((address & 0x3ffffu) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
// d = a b', or added to d, of four warps: a 64 lines and b 128 lines, 16 features from where the pointers are in the first line. Begun only:
// until group_end nobody touches d.
__device__ __forceinline__ void group_multiply(float (&d)[64], const Half *a, const Half *b, bool add) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, p, 1, 1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "l"(lines_from(a)), "l"(lines_from(b)), "r"((u32)add));
}
// Before the first of several, and their end.
__device__ __forceinline__ void group_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void group_end(float (&a)[64], float (&b)[64]) {
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int e = 0; e < 64; e++) asm volatile("" : "+f"(a[e]), "+f"(b[e])::"memory");
}
// What this thread wrote to shared memory, ahead of a barrier.
__device__ __forceinline__ void seen_by_tensor_cores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#endif
#endif
#endif

// Numbers whose order is that of floating point numbers.
__device__ __forceinline__ u64 ordered(double v) {
    u64 bits = (u64)__double_as_longlong(v);
    return (bits >> 63) ? ~bits : (bits | 0x8000000000000000ull);
}
__device__ __forceinline__ double unordered(u64 key) {
    return __longlong_as_double((long long)((key >> 63) ? (key & 0x7fffffffffffffffull) : ~key));
}
__device__ __forceinline__ u32 ordered(float v) {
    u32 bits = __float_as_uint(v);
    return bits ^ ((u32)((int)bits >> 31) | 0x80000000u);
}
__device__ __forceinline__ float unordered(u32 key) { return __uint_as_float((key >> 31) ? (key & 0x7fffffffu) : ~key); }

__device__ __forceinline__ u32 warp_min(u32 v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, v);
#else
    for (int d = 16; d > 0; d >>= 1) {
        u32 other = __shfl_xor_sync(0xffffffffu, v, d);
        v = v < other ? v : other;
    }
    return v;
#endif
}
__device__ __forceinline__ u32 warp_max(u32 v) { return ~warp_min(~v); }

// The same where there is no such instruction: by quarters.
#if defined(TENSOR_CORES) && !defined(LARGE_DOUBLE)
template <int QUADS>
__device__ __forceinline__ void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[QUADS],
                                             const double (&a_lower)[QUADS], const double (&b)[QUADS]) {
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        multiply_add(upper, a_upper[q], b[q]);
        multiply_add(lower, a_lower[q], b[q]);
    }
}
#endif
