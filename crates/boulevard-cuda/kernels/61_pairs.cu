// Many problems on one stored kernel matrix, one block each: pair steps over all variables of a problem, whose rows are two ranges of the
// matrix (two classes). Kernels with one number on the diagonal, no kink, one sum. The steps are those of 60_local.cu; variables are dealt
// to threads in turn, so that a row is read in order.

#if defined(TENSOR_CORES)
struct PairProblem {
    u32 first[2];   // rows of the matrix
    u32 count[2];
    u64 offset;     // where the problem's variables begin
};
struct PairFound {
    u32 key[2][32];
    u32 index[2][32];
    u32 low[2][32];
    float4 partner[2][32];  // gain, variable, slope, curvature
};
enum { PAIR_THREADS = 1024 };

template <int V>
__device__ void solve_pair(const float *matrix, u64 stride, float diagonal, const PairProblem *problems, const double *lower,
                           const double *upper, double stop64, u32 max_steps, double *point, double *gradient, u64 *counters, u8 *memory) {
    enum { WARPS = PAIR_THREADS / 32 };
    __shared__ PairFound found;
    const PairProblem problem = problems[blockIdx.x];
    double *b = (double *)memory;
    u32 thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, size = problem.count[0] + problem.count[1];
    // The row of the matrix that a variable has: its number, and this.
    u32 before = problem.first[0], after = problem.first[1] - problem.count[0], border = problem.count[0];
    lower += problem.offset;
    upper += problem.offset;
    point += problem.offset;
    gradient += problem.offset;
    float stop = (float)stop64;
    const float none = __uint_as_float(0xff800000u);
    float g[V];
    u32 grow = 0, fall = 0;
#pragma unroll
    for (int v = 0; v < V; v++) {
        u32 at = v * PAIR_THREADS + thread;
        g[v] = 0.0f;
        if (at < size) {
            double value = point[at];
            b[at] = value;
            g[v] = (float)gradient[at];
            if (value < upper[at]) grow |= 1u << v;
            if (value > lower[at]) fall |= 1u << v;
        }
    }
    u32 step = 0;
    float gap = 0.0f;
    u32 moved_i = 0, moved_j = 0;
    double value_i = 0.0, value_j = 0.0;
    bool pending = false;
    for (;; step++) {
        u32 buffer = step & 1;
        float least = -none, most = none;
#pragma unroll
        for (int v = 0; v < V; v++) {
            if ((grow >> v) & 1) least = fminf(least, g[v]);
            if ((fall >> v) & 1) most = fmaxf(most, g[v]);
        }
        u32 key = ordered(least), of_warp = warp_min(key), low = warp_max(ordered(most));
        u32 who = __ballot_sync(0xffffffffu, key == of_warp);
        if ((int)lane == __ffs(who) - 1) {
            u32 at = thread;
#pragma unroll
            for (int v = V - 1; v >= 0; v--)
                if (((grow >> v) & 1) && g[v] == least) at = v * PAIR_THREADS + thread;
            found.key[buffer][warp] = of_warp;
            found.index[buffer][warp] = at;
            found.low[buffer][warp] = low;
        }
        __syncthreads();
        if (pending && thread == 0) {
            b[moved_i] = value_i;
            b[moved_j] = value_j;
        }
        key = found.key[buffer][lane];
        u32 all_least = warp_min(key), all_most = warp_max(found.low[buffer][lane]);
        who = __ballot_sync(0xffffffffu, key == all_least);
        u32 i = found.index[buffer][__ffs(who) - 1];
        float slope_i = unordered(all_least);
        // Infinite where nothing can move: less than any other.
        gap = unordered(all_most) - slope_i;
        if (!(gap > stop) || step >= max_steps) break;
        const float *row_i = matrix + (u64)(i + (i < border ? before : after)) * stride;
        double limit_i = upper[i];
        float k_i[V], best = 0.0f;
#pragma unroll
        for (int v = 0; v < V; v++) {
            u32 at = v * PAIR_THREADS + thread;
            k_i[v] = at < size ? row_i[at + (at < border ? before : after)] : 0.0f;
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            float difference = ((fall >> v) & 1) ? fmaxf(g[v] - slope_i, 0.0f) : 0.0f;
            best = fmaxf(best, difference * difference * reciprocal(fmaxf(2.0f * (diagonal - k_i[v]), 2e-6f * diagonal)));
        }
        u32 bits = __float_as_uint(best), of_all = warp_max(bits);
        who = __ballot_sync(0xffffffffu, bits == of_all);
        if ((int)lane == __ffs(who) - 1) {
            float4 partner = {best, __uint_as_float(0xffffffffu), 0.0f, 1.0f};
#pragma unroll
            for (int v = V - 1; v >= 0; v--) {
                float difference = ((fall >> v) & 1) ? fmaxf(g[v] - slope_i, 0.0f) : 0.0f;
                float curvature = fmaxf(2.0f * (diagonal - k_i[v]), 2e-6f * diagonal);
                if (best > 0.0f && difference * difference * reciprocal(curvature) == best) {
                    partner.y = __uint_as_float(v * PAIR_THREADS + thread);
                    partner.z = g[v];
                    partner.w = curvature;
                }
            }
            found.partner[buffer][warp] = partner;
        }
        __syncthreads();
        u32 gain = __float_as_uint(found.partner[buffer][lane].x);
        of_all = warp_max(gain);
        who = __ballot_sync(0xffffffffu, gain == of_all);
        float4 partner = found.partner[buffer][__ffs(who) - 1];
        u32 j = __float_as_uint(partner.y);
        if (j == 0xffffffffu) break;
        const float *row_j = matrix + (u64)(j + (j < border ? before : after)) * stride;
        float k_j[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            u32 at = v * PAIR_THREADS + thread;
            k_j[v] = at < size ? row_j[at + (at < border ? before : after)] : 0.0f;
        }
        double limit_j = lower[j], b_i = b[i], b_j = b[j];
        double room_i = limit_i - b_i, room_j = b_j - limit_j;
        double length = fmin((double)((partner.z - slope_i) * reciprocal(partner.w)), fmin(room_i, room_j));
        // Limits are reached exactly.
        value_i = length >= room_i ? limit_i : b_i + length;
        value_j = length >= room_j ? limit_j : b_j - length;
        moved_i = i;
        moved_j = j;
        pending = true;
        float length32 = (float)length;
#pragma unroll
        for (int v = 0; v < V; v++) g[v] += length32 * (k_i[v] - k_j[v]);
        if (i % PAIR_THREADS == thread) {
            u32 bit = 1u << (i / PAIR_THREADS);
            grow = value_i < limit_i ? grow | bit : grow & ~bit;
            fall = value_i > lower[i] ? fall | bit : fall & ~bit;
        }
        if (j % PAIR_THREADS == thread) {
            u32 bit = 1u << (j / PAIR_THREADS);
            grow = value_j < upper[j] ? grow | bit : grow & ~bit;
            fall = value_j > limit_j ? fall | bit : fall & ~bit;
        }
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < V; v++) {
        u32 at = v * PAIR_THREADS + thread;
        if (at < size) {
            point[at] = b[at];
            gradient[at] = (double)g[v];
        }
    }
    if (thread == 0) {
        counters[2 * blockIdx.x] = step;
        counters[2 * blockIdx.x + 1] = (u64)__double_as_longlong((double)gap);
    }
}

#define PAIR_KERNEL(V)                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(PAIR_THREADS, 1)                                                                          \
        solve_pairs_##V(const float *matrix, u64 stride, double diagonal, const PairProblem *problems, const double *lower,                \
                        const double *upper, double stop, u32 max_steps, double *point, double *gradient, u64 *counters) {                 \
        SHARED_BYTES(memory);                                                                                                              \
        solve_pair<V>(matrix, stride, (float)diagonal, problems, lower, upper, stop, max_steps, point, gradient, counters, memory);        \
    }
PAIR_KERNEL(4)
PAIR_KERNEL(8)
PAIR_KERNEL(12)
PAIR_KERNEL(16)
#endif
