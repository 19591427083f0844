// Active rows: which stay, which come back, which are computed anew, and what double precision says about them.

// Rows that must stay: those that a step among the active ones could still move, by a margin.
extern "C" __global__ void flag_unsettled(const double *gradient, const u8 *status, u32 rows, double kink, double least0, double most0,
                                          double least1, double most1, double margin, u8 *flags) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Slopes s = slopes_of(status[row], gradient[row], kink);
    double least = s.group ? least1 : least0, most = s.group ? most1 : most0;
    flags[row] = (s.grow && s.up <= most + margin) || (s.fall && s.low >= least - margin);
}

// Rows near the extremes and one in `sampled` of the others, unless they are exact already. Support vectors are added by flag_ids.
extern "C" __global__ void flag_near(const double *gradient, const u8 *status, u32 rows, double kink, double least0, double most0,
                                     double least1, double most1, double slack, u32 sampled, u8 *flags) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Slopes s = slopes_of(status[row], gradient[row], kink);
    double least = s.group ? least1 : least0, most = s.group ? most1 : most0;
    flags[row] = (s.grow && s.up <= least + slack) || (s.fall && s.low >= most - slack) || row % sampled == 0;
}
extern "C" __global__ void flag_ids(const u32 *ids, u32 count, const u32 *place, u8 *flags) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) flags[place[ids[k]]] = 1;
}
extern "C" __global__ void unflag_exact(const u8 *exact, u32 rows, u8 *flags) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && exact[row]) flags[row] = 0;
}

extern "C" __global__ void count_flags(const u8 *flags, u32 rows, u32 *counts) {
    __shared__ u32 own;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    for (u32 round = 0; round < SELECT_ROWS / SELECT_THREADS; round++) {
        u32 row = blockIdx.x * SELECT_ROWS + round * SELECT_THREADS + threadIdx.x;
        u32 who = __ballot_sync(0xffffffffu, row < rows && flags[row]);
        if ((threadIdx.x & 31) == 0 && who) atomicAdd(&own, (u32)__popc(who));
    }
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = own;
}
// The places of flagged rows, rising.
extern "C" __global__ void write_flags(const u8 *flags, u32 rows, const u32 *counts, u32 *places) {
    __shared__ u32 warps[SELECT_THREADS / 32];
    u32 before = counts[blockIdx.x];
    for (u32 round = 0; round < SELECT_ROWS / SELECT_THREADS; round++) {
        u32 row = blockIdx.x * SELECT_ROWS + round * SELECT_THREADS + threadIdx.x;
        bool yes = row < rows && flags[row];
        u32 at = rank_in_block(yes, warps, before);
        if (yes) places[at] = row;
    }
}

// Numbers of rows from their places.
extern "C" __global__ void look_up(const u32 *places, u32 count, const u32 *ids, u32 *out) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) out[k] = ids[places[k]];
}
// State of the rows that stay.
extern "C" __global__ void compact_state(const u32 *places, u32 count, const double *gradient, const u8 *status, const u8 *exact,
                                         double *to_gradient, u8 *to_status, u8 *to_exact) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    to_gradient[k] = gradient[places[k]];
    to_status[k] = status[places[k]];
    to_exact[k] = exact[places[k]];
}
extern "C" __global__ void set_places(const u32 *ids, u32 count, u32 *place) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) place[ids[k]] = k;
}
extern "C" __global__ void count_up(u32 *ids, u32 count) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) ids[k] = k;
}

// Rows that were parked get the sums since, active rows have their own gradients. All by variable.
extern "C" __global__ void bring_back(double *parked, u8 *exact_all, const double *sums, u32 splits, u32 rows, const u32 *place,
                                      const double *gradient, const u8 *exact) {
    u32 id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= rows) return;
    u32 at = place[id];
    if (at != 0xffffffffu) {
        parked[id] = gradient[at];
        exact_all[id] = exact[at];
        return;
    }
    double sum = 0.0;
    for (u32 s = 0; s < splits; s++) sum += sums[(u64)s * rows + id];
    parked[id] += sum;
    exact_all[id] = 0;
}

// Gradients in double precision take the place of the old ones; the largest correction (not negative, so its bits are ordered).
extern "C" __global__ void correct(const u32 *places, u32 count, const u32 *ids, const double *sums, u32 splits, const double *linear,
                                   double *gradient, u8 *exact, u64 *largest) {
    u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    double change = 0.0;
    if (k < count) {
        double sum = 0.0;
        for (u32 s = 0; s < splits; s++) sum += sums[(u64)s * count + k];
        sum += linear[ids[k]];
        u32 at = places[k];
        change = fabs(sum - gradient[at]);
        gradient[at] = sum;
        exact[at] = 1;
    }
    for (int d = 16; d > 0; d >>= 1) change = fmax(change, __shfl_xor_sync(0xffffffffu, change, d));
    if ((threadIdx.x & 31) == 0) atomicMax(largest, (u64)__double_as_longlong(change));
}
