// The gradient after a move, its extremes, and the candidates for the next set.
//
// Lists are 0, 1: variables that may grow, of the first and second group; 2, 3: that may fall. Slopes between the extremes are counted in
// bins; the bin that holds the last candidate wanted is found; what is in better bins is written, then what is in that bin, both in the
// order of rows, so that equal input gives equal lists. Extremes are kept as ordered whole numbers: 0, 1 least_up; 2, 3 most_low.

enum { BINS = 2048, LISTS = 4, TAKEN = 128, SELECT_THREADS = 256, SELECT_ROWS = 1024 };

struct Entry {
    double slope;
    double gradient;
    u32 id;
    u32 unused;
};

// Which way a variable may move, as the library's status bytes say it.
struct Slopes {
    int group;
    bool grow, fall;
    double up, low;
};
__device__ __forceinline__ Slopes slopes_of(u8 status, double g, double kink) {
    Slopes s;
    s.group = (status & 0x30) ? 1 : 0;
    s.grow = (status & 0x11) != 0;
    s.fall = (status & 0x22) != 0;
    s.up = (status & 4) ? g + kink : g - kink;
    s.low = (status & 8) ? g + kink : g - kink;
    return s;
}

// Statuses of variables that moved, among the active rows and among all.
extern "C" __global__ void set_status(const u32 *ids, const u8 *values, u32 count, const u32 *place, u8 *status, u8 *all) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    all[ids[k]] = values[k];
    if (place[ids[k]] != 0xffffffffu) status[place[ids[k]]] = values[k];
}

// g += the sums of all splits (in order); clears the marks of exact rows where there are sums; extremes.
extern "C" __global__ void apply_sums(double *gradient, const double *sums, u32 splits, u32 rows, const u8 *status, u8 *exact, double kink,
                                      u64 *extremes) {
    __shared__ u64 best[LISTS][SELECT_THREADS / 32];
    u64 least[2] = {~0ull, ~0ull}, most[2] = {0, 0};
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        double g = gradient[row];
        if (splits) {
            double sum = 0.0;
            for (u32 s = 0; s < splits; s++) sum += sums[(u64)s * rows + row];
            g += sum;
            gradient[row] = g;
            exact[row] = 0;
        }
        Slopes s = slopes_of(status[row], g, kink);
        u64 up = ordered(s.up), low = ordered(s.low);
#pragma unroll
        for (int group = 0; group < 2; group++) {
            if (s.grow && s.group == group && up < least[group]) least[group] = up;
            if (s.fall && s.group == group && low > most[group]) most[group] = low;
        }
    }
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int group = 0; group < 2; group++) {
        for (int d = 16; d > 0; d >>= 1) {
            u64 other = __shfl_xor_sync(0xffffffffu, least[group], d);
            least[group] = other < least[group] ? other : least[group];
            other = __shfl_xor_sync(0xffffffffu, most[group], d);
            most[group] = other > most[group] ? other : most[group];
        }
        if (lane == 0) {
            best[group][warp] = least[group];
            best[2 + group][warp] = most[group];
        }
    }
    __syncthreads();
    if (threadIdx.x < LISTS) {
        u64 v = best[threadIdx.x][0];
        for (int w = 1; w < SELECT_THREADS / 32; w++) {
            u64 other = best[threadIdx.x][w];
            v = threadIdx.x < 2 ? (other < v ? other : v) : (other > v ? other : v);
        }
        if (threadIdx.x < 2) atomicMin(&extremes[threadIdx.x], v);
        else atomicMax(&extremes[threadIdx.x], v);
    }
}

// Marks variables that stay in the set and tells their gradients; or takes the marks off.
extern "C" __global__ void mark_kept(const u32 *ids, u32 count, const u32 *place, u8 *status, const double *gradient, double *out) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    u32 at = place[ids[k]];
    status[at] |= TAKEN;
    out[k] = gradient[at];
}
extern "C" __global__ void unmark_kept(const u32 *ids, u32 count, const u32 *place, u8 *status) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) status[place[ids[k]]] &= (u8)~TAKEN;
}

// The bin of a row in a list, or -1 where it is no candidate.
__device__ __forceinline__ int bin_of(int list, const Slopes &s, const u64 *extremes) {
    int group = list & 1;
    bool low = list >= 2;
    if (group != s.group || !(low ? s.fall : s.grow)) return -1;
    u64 least = extremes[group], most = extremes[2 + group];
    if (least == ~0ull || most == 0) return -1;
    double from = unordered(least), to = unordered(most), range = to - from;
    double away = low ? to - s.low : s.up - from;
    if (!(range > 0.0) || !(away < range)) return -1;
    int bin = (int)(away / range * BINS);
    return bin < BINS ? bin : BINS - 1;
}

extern "C" __global__ void count_bins(const double *gradient, const u8 *status, u32 rows, double kink, const u64 *extremes, u32 *bins) {
    __shared__ u32 own[LISTS * BINS];
    for (u32 k = threadIdx.x; k < LISTS * BINS; k += blockDim.x) own[k] = 0;
    __syncthreads();
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        u8 state = status[row];
        if (state & TAKEN) continue;
        Slopes s = slopes_of(state, gradient[row], kink);
        for (int direction = 0; direction < 2; direction++) {
            int list = 2 * direction + s.group, bin = bin_of(list, s, extremes);
            if (bin >= 0) atomicAdd(&own[list * BINS + bin], 1u);
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < LISTS * BINS; k += blockDim.x)
        if (own[k]) atomicAdd(&bins[k], own[k]);
}

// Per list the bin of the last candidate wanted; BINS if there are not so many. One warp per list.
extern "C" __global__ void find_bins(const u32 *bins, u32 wanted, u32 *thresholds) {
    u32 list = threadIdx.x >> 5, lane = threadIdx.x & 31;
    u32 before = 0, threshold = BINS;
    for (u32 base = 0; base < BINS && threshold == BINS; base += 32) {
        u32 sum = bins[list * BINS + base + lane];
        for (int d = 1; d < 32; d <<= 1) {
            u32 other = __shfl_up_sync(0xffffffffu, sum, d);
            if ((int)lane >= d) sum += other;
        }
        u32 enough = __ballot_sync(0xffffffffu, before + sum >= wanted);
        if (enough) threshold = base + __ffs(enough) - 1;
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0) thresholds[list] = threshold;
}

// What a row is to a list: 0 nothing, 1 in a better bin than the last, 2 in the last.
__device__ __forceinline__ int chosen(int list, u8 status, double g, double kink, const u64 *extremes, const u32 *thresholds) {
    if (status & TAKEN) return 0;
    int bin = bin_of(list, slopes_of(status, g, kink), extremes);
    if (bin < 0 || bin > (int)thresholds[list]) return 0;
    return bin < (int)thresholds[list] ? 1 : 2;
}

// counts[counter][block]; counter = 2 list + (in the last bin).
extern "C" __global__ void count_chosen(const double *gradient, const u8 *status, u32 rows, double kink, const u64 *extremes,
                                        const u32 *thresholds, u32 *counts) {
    __shared__ u32 own[2 * LISTS];
    if (threadIdx.x < 2 * LISTS) own[threadIdx.x] = 0;
    __syncthreads();
    for (u32 round = 0; round < SELECT_ROWS / SELECT_THREADS; round++) {
        u32 row = blockIdx.x * SELECT_ROWS + round * SELECT_THREADS + threadIdx.x;
        for (int list = 0; list < LISTS; list++) {
            int what = row < rows ? chosen(list, status[row], gradient[row], kink, extremes, thresholds) : 0;
            for (int last = 0; last < 2; last++) {
                u32 who = __ballot_sync(0xffffffffu, what == 1 + last);
                if ((threadIdx.x & 31) == 0 && who) atomicAdd(&own[2 * list + last], (u32)__popc(who));
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < 2 * LISTS) counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// counts become the sums of the blocks before, totals those of all. One warp per counter.
extern "C" __global__ void scan_counts(u32 *counts, u32 blocks, u32 *totals) {
    u32 counter = threadIdx.x >> 5, lane = threadIdx.x & 31, before = 0;
    for (u32 base = 0; base < blocks; base += 32) {
        u32 value = base + lane < blocks ? counts[(u64)counter * blocks + base + lane] : 0, sum = value;
        for (int d = 1; d < 32; d <<= 1) {
            u32 other = __shfl_up_sync(0xffffffffu, sum, d);
            if ((int)lane >= d) sum += other;
        }
        if (base + lane < blocks) counts[(u64)counter * blocks + base + lane] = before + sum - value;
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0) totals[counter] = before;
}

// Ranks of the threads of a block that say yes, in their order, after `before` others.
__device__ __forceinline__ u32 rank_in_block(bool yes, u32 *warps, u32 &before) {
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 who = __ballot_sync(0xffffffffu, yes);
    if (lane == 0) warps[warp] = __popc(who);
    __syncthreads();
    u32 rank = before + __popc(who & ((1u << lane) - 1));
    for (u32 w = 0; w < blockDim.x / 32; w++) {
        if (w < warp) rank += warps[w];
        before += warps[w];
    }
    __syncthreads();
    return rank;
}

extern "C" __global__ void write_chosen(const double *gradient, const u8 *status, const u32 *ids, u32 rows, double kink,
                                        const u64 *extremes, const u32 *thresholds, const u32 *counts, const u32 *totals, u32 room,
                                        Entry *entries) {
    __shared__ u32 warps[SELECT_THREADS / 32];
    u32 before[2 * LISTS];
    for (int c = 0; c < 2 * LISTS; c++) before[c] = counts[c * gridDim.x + blockIdx.x];
    for (u32 round = 0; round < SELECT_ROWS / SELECT_THREADS; round++) {
        u32 row = blockIdx.x * SELECT_ROWS + round * SELECT_THREADS + threadIdx.x;
        double g = row < rows ? gradient[row] : 0.0;
        u8 state = row < rows ? status[row] : (u8)TAKEN;
        for (int list = 0; list < LISTS; list++) {
            if (!totals[2 * list] && !totals[2 * list + 1]) continue;
            int what = chosen(list, state, g, kink, extremes, thresholds);
            for (int last = 0; last < 2; last++) {
                u32 at = rank_in_block(what == 1 + last, warps, before[2 * list + last]) + (last ? totals[2 * list] : 0);
                if (what == 1 + last && at < room) {
                    Slopes s = slopes_of(state, g, kink);
                    Entry entry = {list >= 2 ? s.low : s.up, g, ids[row], 0};
                    entries[(u64)list * room + at] = entry;
                }
            }
        }
    }
}
