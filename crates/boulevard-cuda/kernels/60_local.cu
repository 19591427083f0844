// A set's own problem in one block: pair steps on its kernel matrix, two barriers per step.
//
//     i = the variable that may grow with the smallest slope (of the group with the largest violation)
//     j = the variable that may fall whose step with i gains most:  (slope_j - slope_i)^2 / (K_ii + K_jj - 2 K_ij)
//
// Gradients live in registers, four variables per thread, and beside them what a variable's slopes differ from its gradient by: plus or
// minus the kink, or infinity where it cannot move. Values and bounds are in shared memory in double precision. All threads compute the
// step; the first one writes it after the next barrier, when nobody reads the old values any more. Who is best is first found by value
// alone; only the thread that has it looks up which of its variables that was.

struct LocalFound {
    u32 key[2][2][32];   // per buffer, group, warp: smallest slope of a variable that may grow
    u32 index[2][2][32];
    u32 low[2][2][32];   // largest slope of a variable that may fall
    float4 partner[2][32];  // gain, variable, slope, curvature
};

__device__ __forceinline__ float grow_offset(double b, double upper, float kink) {
    return b < upper ? (b >= 0.0 ? kink : -kink) : __uint_as_float(0x7f800000u);
}
__device__ __forceinline__ float fall_offset(double b, double lower, float kink) {
    return b > lower ? (b > 0.0 ? kink : -kink) : __uint_as_float(0xff800000u);
}

template <int THREADS, bool TWO>
__device__ void local(const float *matrix, u32 size, u32 stride, const double *gradient, const double *start, const double *lower,
                      const double *upper, const u8 *second, double kink64, double stop64, u64 max_steps, double *out, u64 *counters,
                      u8 *memory) {
    enum { V = 4, WARPS = THREADS / 32, GROUPS = TWO ? 2 : 1 };
    __shared__ LocalFound found;
    double *b = (double *)memory, *low_bound = b + THREADS * V, *high_bound = low_bound + THREADS * V;
    u32 thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, own = thread * V, members = 0;
    float kink = (float)kink64, stop = (float)stop64;
    const float none = __uint_as_float(0xff800000u);
    float g[V], grow[V], fall[V], diagonal[V];
#pragma unroll
    for (int v = 0; v < V; v++) {
        u32 at = own + v;
        bool real = at < size;
        b[at] = real ? start[at] : 0.0;
        low_bound[at] = real ? lower[at] : 0.0;
        high_bound[at] = real ? upper[at] : 0.0;
        diagonal[v] = real ? matrix[(u64)at * stride + at] : 1.0f;
        g[v] = real ? (float)gradient[at] : 0.0f;
        grow[v] = grow_offset(b[at], high_bound[at], kink);
        fall[v] = fall_offset(b[at], low_bound[at], kink);
        if (TWO && real && second[at]) members |= 1u << v;
    }
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
            float least = -none, most = none;
#pragma unroll
            for (int v = 0; v < V; v++) {
                bool mine = !TWO || ((members >> v) & 1) == (u32)group;
                least = fminf(least, mine ? g[v] + grow[v] : -none);
                most = fmaxf(most, mine ? g[v] + fall[v] : none);
            }
            u32 key = ordered(least), of_warp = warp_min(key), low = warp_max(ordered(most));
            u32 who = __ballot_sync(0xffffffffu, key == of_warp);
            if ((int)lane == __ffs(who) - 1) {
                u32 at = own;
#pragma unroll
                for (int v = V - 1; v >= 0; v--)
                    if ((!TWO || ((members >> v) & 1) == (u32)group) && g[v] + grow[v] == least) at = own + v;
                found.key[buffer][group][warp] = of_warp;
                found.index[buffer][group][warp] = at;
                found.low[buffer][group][warp] = low;
            }
        }
        __syncthreads();
        if (pending && thread == 0) {
            b[moved_i] = value_i;
            b[moved_j] = value_j;
        }
        float slope_i = 0.0f;
        u32 i = 0, of_group = 0;
        gap = -1.0f;
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            u32 key = lane < WARPS ? found.key[buffer][group][lane] : 0xffffffffu;
            u32 most = lane < WARPS ? found.low[buffer][group][lane] : 0u;
            u32 least = warp_min(key);
            most = warp_max(most);
            u32 who = __ballot_sync(0xffffffffu, key == least);
            // Infinite where nothing can move: less than any other.
            float violation = unordered(most) - unordered(least);
            if (violation > gap) {
                gap = violation;
                of_group = group;
                slope_i = unordered(least);
                i = found.index[buffer][group][__ffs(who) - 1];
            }
        }
        if (!(gap > stop) || step >= max_steps) break;
        // The partner.
        const float4 row_i = *(const float4 *)(matrix + (u64)i * stride + own);
        float k_ii = matrix[(u64)i * stride + i];
        float k_i[V] = {row_i.x, row_i.y, row_i.z, row_i.w}, gain[V], best = 0.0f;
#pragma unroll
        for (int v = 0; v < V; v++) {
            float both = k_ii + diagonal[v], difference = fmaxf(g[v] + fall[v] - slope_i, 0.0f);
            float curvature = fmaxf(both - 2.0f * k_i[v], 1e-6f * both + 1e-30f);
            gain[v] = difference * difference * reciprocal(curvature);
            if (TWO && ((members >> v) & 1) != of_group) gain[v] = 0.0f;
            best = fmaxf(best, gain[v]);
        }
        u32 bits = __float_as_uint(best), most = warp_max(bits), who = __ballot_sync(0xffffffffu, bits == most);
        if ((int)lane == __ffs(who) - 1) {
            float4 partner = {best, __uint_as_float(0xffffffffu), 0.0f, 1.0f};
#pragma unroll
            for (int v = V - 1; v >= 0; v--)
                if (best > 0.0f && gain[v] == best) {
                    float both = k_ii + diagonal[v];
                    partner.y = __uint_as_float(own + v);
                    partner.z = g[v] + fall[v];
                    partner.w = fmaxf(both - 2.0f * k_i[v], 1e-6f * both + 1e-30f);
                }
            found.partner[buffer][warp] = partner;
        }
        __syncthreads();
        u32 all = lane < WARPS ? __float_as_uint(found.partner[buffer][lane].x) : 0u;
        most = warp_max(all);
        who = __ballot_sync(0xffffffffu, all == most && lane < WARPS);
        float4 partner = found.partner[buffer][__ffs(who) - 1];
        u32 j = __float_as_uint(partner.y);
        if (j == 0xffffffffu) break;
        const float4 row_j = *(const float4 *)(matrix + (u64)j * stride + own);
        double wanted = (double)((partner.z - slope_i) * reciprocal(partner.w));
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
        for (int v = 0; v < V; v++) g[v] += length32 * (k_i[v] - k_j[v]);
        if (i / V == thread || j / V == thread) {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (own + v == i || own + v == j) {
                    double value = own + v == i ? value_i : value_j;
                    grow[v] = grow_offset(value, high_bound[own + v], kink);
                    fall[v] = fall_offset(value, low_bound[own + v], kink);
                }
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
