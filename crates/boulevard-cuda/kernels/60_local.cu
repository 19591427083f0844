// A set's own problem in one block: pair steps on its kernel matrix, two barriers per step.
//
//     i = the variable that may grow with the smallest slope (of the group with the largest violation)
//     j = the variable that may fall whose step with i gains most:  (slope_j - slope_i)^2 / (K_ii + K_jj - 2 K_ij)
//
// Slopes and state bits live in registers, four variables per thread; values and bounds in shared memory in double precision. All threads
// compute the step; the first one writes it after the next barrier, when nobody reads the old values any more.

enum { UP = 1, LOW = 2, KINK_UP = 4, KINK_LOW = 8, SECOND = 16 };

struct LocalFound {
    u32 key[2][2][32];   // per buffer, group, warp: smallest slope of a variable that may grow
    u32 index[2][2][32];
    u32 low[2][2][32];   // largest slope of a variable that may fall
    float gain[2][32];
    u32 partner[2][32];
    float slope[2][32];
    float value[2][32];
};

__device__ __forceinline__ int local_bits(double b, double lower, double upper, bool second) {
    return (b < upper ? UP : 0) | (b > lower ? LOW : 0) | (b >= 0.0 ? KINK_UP : 0) | (b > 0.0 ? KINK_LOW : 0) | (second ? SECOND : 0);
}

template <int THREADS, bool TWO>
__device__ void local(const float *matrix, u32 size, u32 stride, const double *gradient, const double *start, const double *lower,
                      const double *upper, const u8 *second, double kink64, double stop, u64 max_steps, double *out, u64 *counters,
                      u8 *memory) {
    enum { V = 4, WARPS = THREADS / 32, GROUPS = TWO ? 2 : 1 };
    __shared__ LocalFound found;
    double *b = (double *)memory, *low_bound = b + THREADS * V, *high_bound = low_bound + THREADS * V;
    float *diagonal = (float *)(high_bound + THREADS * V);
    u32 thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, own = thread * V;
    float kink = (float)kink64;
    float g[V];
    int bits[V];
    for (int v = 0; v < V; v++) {
        u32 at = own + v;
        bool real = at < size;
        b[at] = real ? start[at] : 0.0;
        low_bound[at] = real ? lower[at] : 0.0;
        high_bound[at] = real ? upper[at] : 0.0;
        diagonal[at] = real ? matrix[(u64)at * stride + at] : 1.0f;
        g[v] = real ? (float)gradient[at] : 0.0f;
        bits[v] = local_bits(b[at], low_bound[at], high_bound[at], TWO && real && second[at]);
    }
    __syncthreads();
    u64 step = 0;
    float gap = 0.0f;
    u32 moved_i = 0, moved_j = 0;
    double value_i = 0.0, value_j = 0.0;
    bool pending = false;
    for (;; step++) {
        u32 buffer = (u32)step & 1;
        // The best of this thread, of this warp, of all.
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            u32 best = 0xffffffffu, at = 0, most = 0;
#pragma unroll
            for (int v = 0; v < V; v++) {
                bool mine = !TWO || ((bits[v] & SECOND) != 0) == (group == 1);
                if (mine && (bits[v] & UP)) {
                    u32 key = ordered((bits[v] & KINK_UP) ? g[v] + kink : g[v] - kink);
                    if (key < best) best = key, at = own + v;
                }
                if (mine && (bits[v] & LOW)) {
                    u32 key = ordered((bits[v] & KINK_LOW) ? g[v] + kink : g[v] - kink);
                    most = key > most ? key : most;
                }
            }
            u32 least = warp_min(best);
            most = warp_max(most);
            u32 who = __ballot_sync(0xffffffffu, best == least);
            u32 where = __shfl_sync(0xffffffffu, at, __ffs(who) - 1);
            if (lane == 0) {
                found.key[buffer][group][warp] = least;
                found.index[buffer][group][warp] = where;
                found.low[buffer][group][warp] = most;
            }
        }
        __syncthreads();
        if (pending && thread == 0) {
            b[moved_i] = value_i;
            b[moved_j] = value_j;
        }
        float slope_i = 0.0f;
        u32 i = 0;
        int of_group = 0;
        gap = -1.0f;
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            u32 key = lane < WARPS ? found.key[buffer][group][lane] : 0xffffffffu;
            u32 most = lane < WARPS ? found.low[buffer][group][lane] : 0u;
            u32 least = warp_min(key);
            most = warp_max(most);
            u32 who = __ballot_sync(0xffffffffu, key == least);
            if (least != 0xffffffffu && most != 0u) {
                float violation = unordered(most) - unordered(least);
                if (violation > gap) {
                    gap = violation;
                    of_group = group;
                    slope_i = unordered(least);
                    i = found.index[buffer][group][__ffs(who) - 1];
                }
            }
        }
        if (!(gap > (float)stop) || step >= max_steps) break;
        // The partner.
        const float4 row_i = *(const float4 *)(matrix + (u64)i * stride + own);
        float k_i[V] = {row_i.x, row_i.y, row_i.z, row_i.w};
        float k_ii = diagonal[i];
        float gain = 0.0f, slope = 0.0f, k_ij = 0.0f;
        u32 partner = 0xffffffffu;
#pragma unroll
        for (int v = 0; v < V; v++) {
            bool mine = !TWO || ((bits[v] & SECOND) != 0) == (of_group == 1);
            if (mine && (bits[v] & LOW)) {
                float s = (bits[v] & KINK_LOW) ? g[v] + kink : g[v] - kink;
                float difference = s - slope_i;
                if (difference > 0.0f) {
                    float k_jj = diagonal[own + v];
                    float curvature = fmaxf(k_ii + k_jj - 2.0f * k_i[v], 1e-6f * (k_ii + k_jj) + 1e-30f);
                    float score = difference * difference / curvature;
                    if (score > gain) gain = score, slope = s, k_ij = k_i[v], partner = own + v;
                }
            }
        }
        u32 most = warp_max(__float_as_uint(gain));
        u32 who = __ballot_sync(0xffffffffu, __float_as_uint(gain) == most);
        if ((int)lane == __ffs(who) - 1) {
            found.gain[buffer][warp] = gain;
            found.partner[buffer][warp] = partner;
            found.slope[buffer][warp] = slope;
            found.value[buffer][warp] = k_ij;
        }
        __syncthreads();
        u32 all = lane < WARPS ? __float_as_uint(found.gain[buffer][lane]) : 0u;
        most = warp_max(all);
        who = __ballot_sync(0xffffffffu, all == most && lane < WARPS);
        u32 winner = __ffs(who) - 1;
        u32 j = found.partner[buffer][winner];
        if (j == 0xffffffffu) break;
        float slope_j = found.slope[buffer][winner];
        const float4 row_j = *(const float4 *)(matrix + (u64)j * stride + own);
        double curvature = (double)fmaxf(k_ii + diagonal[j] - 2.0f * found.value[buffer][winner], 1e-6f * (k_ii + diagonal[j]) + 1e-30f);
        double wanted = ((double)slope_j - (double)slope_i) / curvature;
        double b_i = b[i], b_j = b[j], limit_i = high_bound[i], limit_j = low_bound[j];
        // Where the absolute value has its kink the slope changes: a step ends there.
        if (kink != 0.0f && b_i < 0.0 && limit_i > 0.0) limit_i = 0.0;
        if (kink != 0.0f && b_j > 0.0 && limit_j < 0.0) limit_j = 0.0;
        double room_i = limit_i - b_i, room_j = b_j - limit_j;
        double length = fmin(wanted, fmin(room_i, room_j));
        // Limits are reached exactly.
        value_i = length >= room_i ? limit_i : b_i + length;
        value_j = length >= room_j ? limit_j : b_j - length;
        moved_i = i;
        moved_j = j;
        pending = true;
        float length32 = (float)length, k_j[V] = {row_j.x, row_j.y, row_j.z, row_j.w};
#pragma unroll
        for (int v = 0; v < V; v++) {
            g[v] += length32 * (k_i[v] - k_j[v]);
            if (own + v == i) bits[v] = local_bits(value_i, low_bound[i], high_bound[i], (bits[v] & SECOND) != 0);
            if (own + v == j) bits[v] = local_bits(value_j, low_bound[j], high_bound[j], (bits[v] & SECOND) != 0);
        }
    }
    __syncthreads();
    for (int v = 0; v < V; v++)
        if (own + v < size) out[own + v] = b[own + v];
    if (thread == 0) {
        counters[0] = step;
        counters[1] = (u64)__double_as_longlong((double)gap);
    }
}

#define LOCAL_KERNEL(THREADS, NAME, TWO)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                                               \
        NAME##_##THREADS(const float *matrix, u32 size, u32 stride, const double *gradient, const double *start, const double *lower,      \
                         const double *upper, const u8 *second, double kink, double stop, u64 max_steps, double *out, u64 *counters) {     \
        SHARED_BYTES(memory);                                                                                                              \
        local<THREADS, TWO>(matrix, size, stride, gradient, start, lower, upper, second, kink, stop, max_steps, out, counters, memory);    \
    }
LOCAL_KERNEL(256, local_one, false)
LOCAL_KERNEL(512, local_one, false)
LOCAL_KERNEL(1024, local_one, false)
LOCAL_KERNEL(256, local_two, true)
LOCAL_KERNEL(512, local_two, true)
LOCAL_KERNEL(1024, local_two, true)
