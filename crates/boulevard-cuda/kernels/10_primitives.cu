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
// The same for 16 features, in one instruction.
__device__ __forceinline__ void multiply_add(double (&upper)[2], double (&lower)[2], const double (&a_upper)[4], const double (&a_lower)[4],
                                             const double (&b)[4]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
                 "{%0,%1,%2,%3};"
                 : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
                 : "d"(a_upper[0]), "d"(a_lower[0]), "d"(a_upper[1]), "d"(a_lower[1]), "d"(a_upper[2]), "d"(a_lower[2]), "d"(a_upper[3]),
                   "d"(a_lower[3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
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
