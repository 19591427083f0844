// A set's own problem in one block: several pair steps at a time on its kernel matrix, two barriers for all of them.
//
// Warps belong to teams. For every team
//
//     i = its variable that may grow with the smallest slope (of the group with the largest violation)
//     j = the variable of another team that may fall whose step with i gains most:  (slope_j - slope_i)^2 / (K_ii + K_jj - 2 K_ij)
//
// and which other team takes turns, so that every pair of teams meets. The steps are taken one after the other, each from where those
// before it have left the slopes: for that the few kernel values between the pairs are enough, and no step raises the objective. A barrier
// costs as much as all the arithmetic of a step, so steps that are a little less well chosen but come by twos or fours are the better ones:
// by fours where a set needs few steps, by twos where it needs many and they would undo each other.
//
// Gradients live in registers, four or eight variables per thread, and beside them what a variable's slopes differ from its gradient by: plus or
// minus the kink, or infinity where it cannot move. Values and bounds are in shared memory in double precision. Every warp computes all
// steps, a lane those of one pair; the first warp writes the new values after the next barrier, when nobody reads the old ones any more.
// Who is best is first found by value alone; only the thread that has it looks up which of its variables that was.

struct LocalFound {
    u32 key[2][32];  // per group and warp: smallest slope of a variable that may grow
    u32 low[2][32];  // largest slope of a variable that may fall
    float4 first[2][32];  // of the first: variable or NOBODY, slope, diagonal
    float4 partner[32];   // gain, variable or NOBODY, slope, curvature
};
enum : u32 { NOBODY = 0xffffffffu };

__device__ __forceinline__ float grow_offset(double b, double upper, float kink) {
    return b < upper ? (b >= 0.0 ? kink : -kink) : __uint_as_float(0x7f800000u);
}
__device__ __forceinline__ float fall_offset(double b, double lower, float kink) {
    return b > lower ? (b > 0.0 ? kink : -kink) : __uint_as_float(0xff800000u);
}

template <int THREADS, int V, int PAIRS, bool TWO>
__device__ void local(const float *matrix, u32 size, u32 stride, const double *gradient, const double *start, const double *lower,
                      const double *upper, const u8 *second, double kink64, double stop64, u64 max_steps, double *out, u64 *counters,
                      u8 *memory) {
    // Variables of a thread lie in runs of four, so that a warp reads rows in one piece.
    enum { RUN = 4, RUNS = V / RUN, NEXT = THREADS * RUN, WARPS = THREADS / 32, GROUPS = TWO ? 2 : 1 };
    __shared__ LocalFound found;
    double *b = (double *)memory, *low_bound = b + THREADS * V, *high_bound = low_bound + THREADS * V;
    u32 thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, own = thread * RUN, members = 0;
    // Lanes look at a warp each; those past the last one at the first ones again. So a lane sees a team's warp, and after an exchange among
    // the lanes of a team, the whole team. As one of a pair it has that whose partner is in the team.
    u32 seen = lane & (WARPS - 1), team = warp & (PAIRS - 1);
    float kink = (float)kink64, stop = (float)stop64;
    const float none = __uint_as_float(0xff800000u);
    float g[V], grow[V], fall[V], diagonal[V];
    auto variable = [=](int v) { return own + (v / RUN) * NEXT + v % RUN; };
#pragma unroll
    for (int v = 0; v < V; v++) {
        u32 at = variable(v);
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
    // A thread's part of a row; of nobody's row anything, since nothing comes of it.
    auto row = [=](u32 of, float (&k)[V]) {
        const float *from = matrix + (of == NOBODY ? 0 : (u64)of * stride) + own;
#pragma unroll
        for (int run = 0; run < RUNS; run++) {
            float4 four = *(const float4 *)(from + run * NEXT);
            k[RUN * run] = four.x, k[RUN * run + 1] = four.y, k[RUN * run + 2] = four.z, k[RUN * run + 3] = four.w;
        }
    };
    u64 steps = 0;
    u32 turn = 0, idle = 0, i = 0, j = 0;
    float gap = 0.0f;
    double value_i = 0.0, value_j = 0.0;
    bool paired = false;
    for (;; turn++) {
        // The best of this thread, of this warp.
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
                float4 first = {__uint_as_float(NOBODY), least, 1.0f, 0.0f};
#pragma unroll
                for (int v = V - 1; v >= 0; v--)
                    if ((!TWO || ((members >> v) & 1) == (u32)group) && least < -none && g[v] + grow[v] == least) {
                        first.x = __uint_as_float(variable(v));
                        first.z = diagonal[v];
                    }
                found.key[group][warp] = of_warp;
                found.low[group][warp] = low;
                found.first[group][warp] = first;
            }
        }
        __syncthreads();
        if (paired && thread < PAIRS) {
            b[i] = value_i;
            b[j] = value_j;
        }
        // The first of the lane's team. What the last bits of a slope say does not matter here: they are the warp's number instead.
        gap = -1.0f;
        float4 first = {0.0f, 0.0f, 0.0f, 0.0f};
        float of_team = -1.0f;
        u32 of_group = 0;
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            u32 key = found.key[group][seen], most = warp_max(found.low[group][seen]), best = (key & ~31u) | seen;
#pragma unroll
            for (u32 other = PAIRS; other < WARPS; other *= 2) {
                u32 of_other = __shfl_xor_sync(0xffffffffu, best, other);
                best = of_other < best ? of_other : best;
            }
            float4 there = found.first[group][best & 31];
            // Infinite where nothing can move: less than any other.
            gap = fmaxf(gap, unordered(most) - unordered(warp_min(key)));
            float violation = unordered(most) - there.y;
            if (group == 0 || violation > of_team) {
                of_team = violation;
                first = there;
                of_group = group;
            }
        }
        if (!(gap > stop) || steps >= max_steps) break;
        // Pairs by the team of their partner: the first one's team is `turn` teams before it.
        u32 first_team = (lane - turn) & (PAIRS - 1), own_first = (team - turn) & (PAIRS - 1);
        u32 own_i = __shfl_sync(0xffffffffu, __float_as_uint(first.x), own_first);
        float k_own[V];
        row(own_i, k_own);
        float slope = __shfl_sync(0xffffffffu, first.y, own_first), k_ii = __shfl_sync(0xffffffffu, first.z, own_first);
        u32 own_group = TWO ? __shfl_sync(0xffffffffu, of_group, own_first) : 0u;
        i = __shfl_sync(0xffffffffu, __float_as_uint(first.x), first_team);
        float slope_i = __shfl_sync(0xffffffffu, first.y, first_team);
        u32 all_i[PAIRS];
        float k_i[PAIRS][V];
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            all_i[p] = __shfl_sync(0xffffffffu, i, p);
            row(all_i[p], k_i[p]);
        }
        // The partner.
        {
            float gain[V], best = 0.0f;
#pragma unroll
            for (int v = 0; v < V; v++) {
                float both = k_ii + diagonal[v], difference = fmaxf(g[v] + fall[v] - slope, 0.0f);
                float curvature = fmaxf(both - 2.0f * k_own[v], 1e-6f * fabsf(both) + 1e-30f);
                gain[v] = difference * difference * reciprocal(curvature);
                if (TWO && ((members >> v) & 1) != own_group) gain[v] = 0.0f;
                best = fmaxf(best, gain[v]);
            }
            u32 bits = __float_as_uint(best), most = warp_max(bits), who = __ballot_sync(0xffffffffu, bits == most);
            if ((int)lane == __ffs(who) - 1) {
                float4 partner = {best, __uint_as_float(NOBODY), 0.0f, 1.0f};
#pragma unroll
                for (int v = V - 1; v >= 0; v--)
                    if (best > 0.0f && gain[v] == best) {
                        float both = k_ii + diagonal[v];
                        partner.y = __uint_as_float(variable(v));
                        partner.z = g[v] + fall[v];
                        partner.w = fmaxf(both - 2.0f * k_own[v], 1e-6f * fabsf(both) + 1e-30f);
                    }
                found.partner[warp] = partner;
            }
        }
        __syncthreads();
        u32 best = (__float_as_uint(found.partner[seen].x) & ~31u) | seen;
#pragma unroll
        for (u32 other = PAIRS; other < WARPS; other *= 2) {
            u32 of_other = __shfl_xor_sync(0xffffffffu, best, other);
            best = of_other > best ? of_other : best;
        }
        float4 partner = found.partner[best & 31];
        j = __float_as_uint(partner.y);
        paired = j != NOBODY;
        u32 all_j[PAIRS];
        float k_j[PAIRS][V];
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            all_j[p] = __shfl_sync(0xffffffffu, j, p);
            row(all_j[p], k_j[p]);
        }
        // What a step of one pair does to the difference of slopes of another: four kernel values, a lane each, for the next pair and the
        // one after it.
        float between;
        {
            u32 part = lane / PAIRS, which = part & 3, next = (lane + 1 + (part >> 2) % (PAIRS / 2)) & (PAIRS - 1);
            u32 next_i = __shfl_sync(0xffffffffu, i, next), next_j = __shfl_sync(0xffffffffu, j, next);
            u32 line = which & 1 ? j : i, column = which & 2 ? next_j : next_i;
            float value = line == NOBODY || column == NOBODY ? 0.0f : matrix[(u64)line * stride + column];
            between = which == 1 || which == 2 ? -value : value;
        }
        // One variable, one pair: who is the first of another pair is nobody's partner. (The pair with the smallest slope stays.)
#pragma unroll
        for (int p = 0; p < PAIRS; p++) paired = paired && j != all_i[p];
        if (!paired) i = j = 0;
        double b_i = b[i], b_j = b[j], limit_i = high_bound[i], limit_j = low_bound[j];
        // Where the absolute value has its kink the slope changes: a step ends there.
        if (kink != 0.0f && b_i < 0.0 && limit_i > 0.0) limit_i = 0.0;
        if (kink != 0.0f && b_j > 0.0 && limit_j < 0.0) limit_j = 0.0;
        double room_i = limit_i - b_i, room_j = b_j - limit_j, room = fmin(room_i, room_j);
        float difference[PAIRS], inverse[PAIRS], most[PAIRS], length[PAIRS];
        float inverse_lane = reciprocal(partner.w), difference_lane = paired ? partner.z - slope_i : none;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            difference[p] = __shfl_sync(0xffffffffu, difference_lane, p);
            inverse[p] = __shfl_sync(0xffffffffu, inverse_lane, p);
            most[p] = __shfl_sync(0xffffffffu, (float)room, p);
        }
        between += __shfl_xor_sync(0xffffffffu, between, PAIRS);
        between += __shfl_xor_sync(0xffffffffu, between, 2 * PAIRS);
        u32 moving = 0;
        float length_lane = 0.0f;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
#pragma unroll
            for (int before = 0; before < p; before++) {
                // The pair and its next one, or the one after that, as the lanes above have them.
                int apart = p - before, lane_of = apart == PAIRS - 1 && PAIRS > 2 ? p : before + (apart == 2 ? 4 * PAIRS : 0);
                difference[p] -= length[before] * __shfl_sync(0xffffffffu, between, lane_of);
            }
            bool moves = difference[p] > 0.0f && steps < max_steps;
            length[p] = moves ? fminf(difference[p] * inverse[p], most[p]) : 0.0f;
            if ((int)(lane & (PAIRS - 1)) == p) {
                length_lane = length[p];
                paired = moves;
            }
            moving |= moves ? 1u << p : 0u;
            steps += moves ? 1 : 0;
        }
        // Limits are reached exactly.
        double exact = length_lane >= (float)room ? room : (double)length_lane;
        value_i = exact >= room_i ? limit_i : b_i + exact;
        value_j = exact >= room_j ? limit_j : b_j - exact;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
#pragma unroll
            for (int v = 0; v < V; v++) g[v] += length[p] * (k_i[p][v] - k_j[p][v]);
            // Whose variable moved sees whether it still may.
            if (((moving >> p) & 1) && (all_i[p] % NEXT / (32 * RUN) == warp || all_j[p] % NEXT / (32 * RUN) == warp)) {
                double now_i = __shfl_sync(0xffffffffu, value_i, p), now_j = __shfl_sync(0xffffffffu, value_j, p);
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (variable(v) == all_i[p] || variable(v) == all_j[p]) {
                        double value = variable(v) == all_i[p] ? now_i : now_j;
                        grow[v] = grow_offset(value, high_bound[variable(v)], kink);
                        fall[v] = fall_offset(value, low_bound[variable(v)], kink);
                    }
            }
        }
        // Nothing in any team for anybody: rounding is all that is left.
        idle = moving ? 0 : idle + 1;
        if (idle == PAIRS) break;
    }
    __syncthreads();
    for (int v = 0; v < V; v++)
        if (variable(v) < size) out[variable(v)] = b[variable(v)];
    if (thread == 0) {
        counters[0] = steps;
        counters[1] = (u64)__double_as_longlong((double)gap);
    }
}

// Called after the most variables that they take, and how many steps they take at a time.
#define LOCAL_KERNEL(THREADS, V, MOST, PAIRS, NAME, TWO)                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                                               \
        NAME##_##MOST##_by_##PAIRS(const float *matrix, u32 size, u32 stride, const double *gradient, const double *start,                 \
                                   const double *lower, const double *upper, const u8 *second, double kink, double stop, u64 max_steps,    \
                                   double *out, u64 *counters) {                                                                           \
        SHARED_BYTES(memory);                                                                                                              \
        local<THREADS, V, PAIRS, TWO>(matrix, size, stride, gradient, start, lower, upper, second, kink, stop, max_steps, out, counters,   \
                                      memory);                                                                                             \
    }
LOCAL_KERNEL(256, 4, 1024, 2, local_one, false)
LOCAL_KERNEL(256, 4, 1024, 4, local_one, false)
LOCAL_KERNEL(256, 8, 2048, 2, local_one, false)
LOCAL_KERNEL(256, 8, 2048, 4, local_one, false)
LOCAL_KERNEL(512, 8, 4096, 2, local_one, false)
LOCAL_KERNEL(256, 4, 1024, 2, local_two, true)
LOCAL_KERNEL(256, 8, 2048, 2, local_two, true)
LOCAL_KERNEL(512, 8, 4096, 2, local_two, true)
