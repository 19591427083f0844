// The table on the card: centered, split into halves of half precision, gathered by lists of rows.

// Sums of the columns over pieces of `piece` rows: partial[block][column].
extern "C" __global__ void column_sums(const double *table, u32 rows, u32 columns, u32 piece, double *partial) {
    u32 first = blockIdx.x * piece, last = first + piece < rows ? first + piece : rows;
    for (u32 c = threadIdx.x; c < columns; c += blockDim.x) {
        double sum = 0.0;
        for (u32 r = first; r < last; r++) sum += table[(u64)r * columns + c];
        partial[(u64)blockIdx.x * columns + c] = sum;
    }
}

extern "C" __global__ void column_means(const double *partial, u32 pieces, u32 rows, u32 columns, double *means) {
    u32 c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    double sum = 0.0;
    for (u32 p = 0; p < pieces; p++) sum += partial[(u64)p * columns + c];
    means[c] = sum / rows;
}

// Takes the means off (none if null) and finds the largest absolute value.
extern "C" __global__ void center(double *table, u64 values, u32 columns, const double *means, u64 *largest) {
    double most = 0.0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < values; at += (u64)gridDim.x * blockDim.x) {
        double v = table[at];
        if (means) {
            v -= means[at % columns];
            table[at] = v;
        }
        most = fmax(most, fabs(v));
    }
    for (int d = 16; d > 0; d >>= 1) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, d));
    if ((threadIdx.x & 31) == 0) atomicMax(largest, (u64)__double_as_longlong(most));
}

#if defined(TENSOR_CORES)
// x * scale = high + low in half precision, rows padded to `width`; squared norms of the rows of the table. A warp per row.
extern "C" __global__ void split_rows(const double *table, u32 rows, u32 columns, u32 width, double scale, Half *high, Half *low,
                                      double *norms, float *norms32) {
    u32 row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    double norm = 0.0, halves = 0.0;
    for (u32 c = lane; c < width; c += 32) {
        double v = c < columns ? table[(u64)row * columns + c] : 0.0;
        float scaled = (float)(v * scale);
        Half h = to_half(scaled);
        Half l = to_half((float)(v * scale - (double)from_half(h)));
        high[(u64)row * width + c] = h;
        low[(u64)row * width + c] = l;
        double both = ((double)from_half(h) + (double)from_half(l)) / scale;
        norm += v * v;
        halves += both * both;
    }
    for (int d = 16; d > 0; d >>= 1) {
        norm += __shfl_xor_sync(0xffffffffu, norm, d);
        halves += __shfl_xor_sync(0xffffffffu, halves, d);
    }
    if (lane == 0) {
        norms[row] = norm;
        norms32[row] = (float)halves;
    }
}

// Rows of the split table by their numbers; rows up to `padded` are zero. Weights may be absent.
extern "C" __global__ void gather_halves(const u32 *ids, u32 count, u32 padded, u32 width, const Half *high, const Half *low,
                                         const float *norms, const double *weights, Half *to_high, Half *to_low, float *to_norms,
                                         float *to_weights) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x, parts = width / 8;
    u32 row = at / parts, part = at % parts;
    if (row >= padded) return;
    bool real = row < count;
    u64 from = real ? (u64)ids[row] * width + 8 * part : 0, to = (u64)row * width + 8 * part;
    uint4 zero = make_uint4(0, 0, 0, 0);
    *(uint4 *)(to_high + to) = real ? *(const uint4 *)(high + from) : zero;
    *(uint4 *)(to_low + to) = real ? *(const uint4 *)(low + from) : zero;
    if (part == 0) {
        to_norms[row] = real ? norms[ids[row]] : 0.0f;
        if (to_weights) to_weights[row] = real ? (float)weights[row] : 0.0f;
    }
}
#endif

// Squared norms alone, and the table in single precision where there are no tensor cores. A warp per row.
extern "C" __global__ void plain_rows(const double *table, u32 rows, u32 columns, float *single, double *norms) {
    u32 row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    double norm = 0.0;
    for (u32 c = lane; c < columns; c += 32) {
        double v = table[(u64)row * columns + c];
        single[(u64)row * columns + c] = (float)v;
        norm += v * v;
    }
    for (int d = 16; d > 0; d >>= 1) norm += __shfl_xor_sync(0xffffffffu, norm, d);
    if (lane == 0) norms[row] = norm;
}

// Rows of the table in single precision.
extern "C" __global__ void gather_single(const u32 *ids, u32 count, u32 columns, const double *table, const double *norms, float *to,
                                         float *to_norms) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 row = at / columns;
    if (row >= count) return;
    u32 column = (u32)(at % columns);
    to[at] = (float)table[(u64)ids[row] * columns + column];
    if (column == 0) to_norms[row] = (float)norms[ids[row]];
}
