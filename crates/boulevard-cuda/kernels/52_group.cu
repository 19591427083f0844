// What 51_wide.cu computes, with Hopper's instructions for four warps at once: tiles of 128 x 128 by two groups of four warps, 64 rows each,
// whose factors stay in shared memory. Pieces are of 64 features, of which the last may have fewer; a line of a piece is 128 bytes, its
// parts of 16 bytes exchanged as the instruction wants them.
//
//     sums[split][output][row] = sum over the split's columns of weights[output][column] * K(row, column)
//
// for several outputs: a value is computed once, and the sums of a tile's 128 columns are in single precision.

#if defined(WARPGROUPS)
enum { GROUP_TILE = 128, GROUP_CHUNK = 64, GROUP_THREADS = 256, GROUP_STAGES = 3 };
// What becomes of values.
enum Use { SUM, SEVERAL, STORE };

struct GroupStage {
    Half row_high[GROUP_TILE * GROUP_CHUNK];
    Half row_low[GROUP_TILE * GROUP_CHUNK];
    Half column_high[GROUP_TILE * GROUP_CHUNK];
    Half column_low[GROUP_TILE * GROUP_CHUNK];
};

// Both sides of a block on their way through shared memory: every thread copies the same part of four rows and of four columns, a piece
// after the other, tile by tile.
struct GroupLoader {
    const Half *high, *low, *column_high, *column_low;
    u64 of_row[4], of_column[4];
    u32 column_count, width, tile, last, k, stage, line, part;

    __device__ __forceinline__ GroupLoader(const Half *high, const Half *low, u32 first_row, u32 row_count, const Half *column_high,
                                           const Half *column_low, u32 column_count, u32 width, u32 from, u32 to)
        : high(high), low(low), column_high(column_high), column_low(column_low), column_count(column_count), width(width), tile(from),
          last(to), k(0), stage(0), line(threadIdx.x / 8), part((threadIdx.x % 8) * 8) {
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            u32 row = first_row + line + 32 * j;
            of_row[j] = (u64)(row < row_count ? row : row_count - 1) * width + part;
        }
        find_columns();
    }

    __device__ __forceinline__ void find_columns() {
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            u32 column = tile * GROUP_TILE + line + 32 * j;
            of_column[j] = (u64)(column < column_count ? column : column_count - 1) * width + part;
        }
    }

    // Begins the next piece; after the last one nothing, but the count of begun copies goes on.
    __device__ __forceinline__ void next(GroupStage *stages) {
        if (tile < last) {
            GroupStage &to = stages[stage];
            // Of the last piece there may be less.
            if (k + part < width) {
#pragma unroll
                for (u32 j = 0; j < 4; j++) {
                    u32 at = line + 32 * j, place = at * GROUP_CHUNK + (part ^ ((at & 7) * 8));
                    copy16(&to.row_high[place], high + of_row[j] + k);
                    copy16(&to.row_low[place], low + of_row[j] + k);
                    copy16(&to.column_high[place], column_high + of_column[j] + k);
                    copy16(&to.column_low[place], column_low + of_column[j] + k);
                }
            }
            k += GROUP_CHUNK;
            if (k >= width) {
                k = 0;
                tile++;
                find_columns();
            }
        }
        stage = stage == GROUP_STAGES - 1 ? 0 : stage + 1;
        copies_begun();
    }
};

template <bool EXPONENT, Use USE>
__device__ void group(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high,
                      const Half *column_low, const float *column_norms, const float *weights, u32 column_count, u32 width,
                      Formula formula, double *sums, u32 outputs, float *out, u64 stride, bool symmetric, u8 *memory) {
    // The exchange of parts goes by address.
    GroupStage *stages = (GroupStage *)(((u64)memory + 1023) & ~(u64)1023);
    u32 lane = threadIdx.x & 31, group_row = (threadIdx.x >> 7) * 64, warp_row = group_row + ((threadIdx.x >> 5) & 3) * 16;
    // Of a symmetric matrix the last rows have the most to do: they begin.
    u32 block = USE == STORE && symmetric ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    u32 block_row = block * GROUP_TILE, column_tiles = (column_count + GROUP_TILE - 1) / GROUP_TILE;
    if (USE == STORE && symmetric) column_tiles = block + 1;
    u32 each = (column_tiles + gridDim.y - 1) / gridDim.y;
    u32 from = blockIdx.y * each, to = from + each < column_tiles ? from + each : column_tiles;
    float factor = (float)formula.factor, norm_factor = (float)formula.norm_factor;
    float row_term[2];
    double total[2] = {0.0, 0.0};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        u32 row = block_row + warp_row + 8 * h + (lane >> 2);
        row_term[h] = (float)(formula.shift + formula.norm_factor * (double)norms[row < row_count ? row : row_count - 1]);
    }
    // 64 x 128 sums of four warps: a lane has rows lane / 4 and eight below of its warp's 16, and two of every eight columns.
    float large[64], small[64];
    GroupLoader loader(high, low, block_row, row_count, column_high, column_low, column_count, width, from, to);
    loader.next(stages);
    loader.next(stages);
    // Sums of several outputs; a row's are those of one lane.
    double *totals = (double *)(stages + GROUP_STAGES) + warp_row + (lane >> 2);
    if (USE == SEVERAL && (lane & 3) == 0)
        for (u32 o = 0; o < outputs; o++) totals[o * GROUP_TILE] = totals[o * GROUP_TILE + 8] = 0.0;
    u32 used = 0;
    for (u32 tile = from; tile < to; tile++) {
        for (u32 k = 0; k < width; k += GROUP_CHUNK) {
            copies_arrived<1>();
            seen_by_tensor_cores();
            __syncthreads();
            loader.next(stages);
            const GroupStage &stage = stages[used];
            group_begin();
#pragma unroll
            for (int s = 0; s < GROUP_CHUNK / 16; s++)
                if (k + 16 * s < width) {
                    const Half *row_high = stage.row_high + group_row * GROUP_CHUNK + 16 * s, *column_low = stage.column_low + 16 * s;
                    const Half *row_low = stage.row_low + group_row * GROUP_CHUNK + 16 * s, *column_high = stage.column_high + 16 * s;
                    group_multiply(small, row_high, column_low, k + s > 0);
                    group_multiply(large, row_high, column_high, k + s > 0);
                    group_multiply(small, row_low, column_high, true);
                }
            group_end(large, small);
            used = used == GROUP_STAGES - 1 ? 0 : used + 1;
        }
        u32 first_column = tile * GROUP_TILE + (lane & 3) * 2;
#pragma unroll
        for (int c = 0; c < 16; c++) {
            float sum[2] = {0.0f, 0.0f};
#pragma unroll
            for (int s = 0; s < 2; s++) {
                u32 column = first_column + c * 8 + s;
                bool real = USE != STORE || column < column_count;
                float term = real ? norm_factor * column_norms[column] : 0.0f, weight = USE == SUM ? weights[column] : 0.0f;
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float t = factor * (large[4 * c + 2 * h + s] + small[4 * c + 2 * h + s]) + (row_term[h] + term);
                    float value = EXPONENT ? finish_exponential(t) : finish<float>(formula.kind, formula.degree, t);
                    if (USE == STORE) {
                        u32 row = block_row + warp_row + 8 * h + (lane >> 2);
                        if (real && row < row_count) {
                            out[row * stride + column] = value;
                            // A tile on the diagonal has both sides already, with other last digits.
                            if (symmetric && column / GROUP_TILE != row / GROUP_TILE) out[column * stride + row] = value;
                        }
                    } else if (USE == SEVERAL) {
                        large[4 * c + 2 * h + s] = value;
                    } else {
                        sum[h] += weight * value;
                    }
                }
            }
            total[0] += (double)sum[0];
            total[1] += (double)sum[1];
        }
        if (USE == SEVERAL)
            for (u32 o = 0; o < outputs; o++) {
                const float *of_output = weights + (u64)o * column_count + first_column;
                float sum[2] = {0.0f, 0.0f};
#pragma unroll
                for (int c = 0; c < 16; c++) {
                    float2 weight = *(const float2 *)(of_output + c * 8);
#pragma unroll
                    for (int h = 0; h < 2; h++) sum[h] += weight.x * large[4 * c + 2 * h] + weight.y * large[4 * c + 2 * h + 1];
                }
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 1);
                    sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 2);
                    if ((lane & 3) == 0) totals[o * GROUP_TILE + 8 * h] += (double)sum[h];
                }
            }
    }
    if (USE == STORE) return;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        double v = total[h];
        v += __shfl_xor_sync(0xffffffffu, v, 1);
        v += __shfl_xor_sync(0xffffffffu, v, 2);
        u32 row = block_row + warp_row + 8 * h + (lane >> 2);
        if ((lane & 3) != 0 || row >= row_count) continue;
        if (USE == SUM) sums[(u64)blockIdx.y * row_count + row] = v;
        else
            for (u32 o = 0; o < outputs; o++) sums[((u64)blockIdx.y * outputs + o) * row_count + row] = totals[o * GROUP_TILE + 8 * h];
    }
}

#define GROUP_KERNEL(NAME, MANY, STORED, EXPONENT)                                                                                               \
    extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 1)                                                                         \
        NAME(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high,                                \
             const Half *column_low, const float *column_norms, const float *weights, u32 column_tiles, u32 width, Formula formula,        \
             double *sums) {                                                                                                               \
        SHARED_BYTES(memory);                                                                                                              \
        group<EXPONENT, SUM>(high, low, norms, row_count, column_high, column_low, column_norms, weights, column_tiles * GROUP_TILE,       \
                             width, formula, sums, 1, nullptr, 0, false, memory);                                                          \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 1)                                                                         \
        MANY(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high, const Half *column_low,        \
             const float *column_norms, const float *weights, u32 column_tiles, u32 width, Formula formula, double *sums, u32 outputs) {   \
        SHARED_BYTES(memory);                                                                                                              \
        group<EXPONENT, SEVERAL>(high, low, norms, row_count, column_high, column_low, column_norms, weights,                              \
                                 column_tiles * GROUP_TILE, width, formula, sums, outputs, nullptr, 0, false, memory);                     \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 1)                                                                         \
        STORED(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high, const Half *column_low,      \
               const float *column_norms, u32 column_count, u32 width, Formula formula, float *out, u64 stride, u32 symmetric) {           \
        SHARED_BYTES(memory);                                                                                                              \
        group<EXPONENT, STORE>(high, low, norms, row_count, column_high, column_low, column_norms, nullptr, column_count, width,           \
                               formula, nullptr, 0, out, stride, symmetric != 0, memory);                                                  \
    }
GROUP_KERNEL(weigh_group_exponential, weigh_several_exponential, store_group_exponential, true)
GROUP_KERNEL(weigh_group, weigh_several, store_group, false)
#endif
