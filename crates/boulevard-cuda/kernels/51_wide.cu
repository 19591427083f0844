// Weighted sums on tensor cores for any number of features and every kernel of an inner product or a distance: tiles of 128 x 128, both
// sides pass through shared memory in pieces of 32 features, of which the last may have 16. The split into halves is that of 50_narrow.cu. The same values can be stored
// instead (STORE), for machines with several outputs and for many problems on one table; of a symmetric matrix half is computed.

#if defined(TENSOR_CORES)
enum { WIDE = 128, WIDE_CHUNK = 32, WIDE_STRIDE = WIDE_CHUNK + 8, WIDE_THREADS = 256 };

struct WideStage {
    Half row_high[WIDE * WIDE_STRIDE];
    Half row_low[WIDE * WIDE_STRIDE];
    Half column_high[WIDE * WIDE_STRIDE];
    Half column_low[WIDE * WIDE_STRIDE];
};

// Both sides of a block on their way through shared memory: every thread copies the same part of two rows and of two columns, a piece after
// the other, tile by tile.
struct WideLoader {
    const Half *high, *low, *column_high, *column_low;
    u64 of_row[2], of_column[2];
    u32 column_count, width, tile, last, k, stage, line, part;

    __device__ __forceinline__ WideLoader(const Half *high, const Half *low, u32 first_row, u32 row_count, const Half *column_high,
                                          const Half *column_low, u32 column_count, u32 width, u32 from, u32 to)
        : high(high), low(low), column_high(column_high), column_low(column_low), column_count(column_count), width(width), tile(from),
          last(to), k(0), stage(0), line(threadIdx.x / 4), part((threadIdx.x % 4) * 8) {
        for (u32 j = 0; j < 2; j++) {
            u32 row = first_row + line + 64 * j;
            of_row[j] = (u64)(row < row_count ? row : row_count - 1) * width + part;
        }
        find_columns();
    }

    __device__ __forceinline__ void find_columns() {
        for (u32 j = 0; j < 2; j++) {
            u32 column = tile * WIDE + line + 64 * j;
            of_column[j] = (u64)(column < column_count ? column : column_count - 1) * width + part;
        }
    }

    // Begins the next piece; after the last one nothing, but the count of begun copies goes on.
    __device__ __forceinline__ void next(WideStage *stages) {
        if (tile < last) {
            WideStage &to = stages[stage];
            // Of the last piece there may be half.
            if (k + part < width) {
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    u32 place = (line + 64 * j) * WIDE_STRIDE + part;
                    copy16(&to.row_high[place], high + of_row[j] + k);
                    copy16(&to.row_low[place], low + of_row[j] + k);
                    copy16(&to.column_high[place], column_high + of_column[j] + k);
                    copy16(&to.column_low[place], column_low + of_column[j] + k);
                }
            }
            k += WIDE_CHUNK;
            if (k >= width) {
                k = 0;
                tile++;
                find_columns();
            }
        }
        stage = stage == 2 ? 0 : stage + 1;
        copies_begun();
    }
};

// Products of one piece, or of the first `STEPS` times 16 features of it.
template <int STEPS>
__device__ __forceinline__ void wide_multiply(float (&large)[2][8][4], float (&small)[2][8][4], const WideStage &stage, u32 warp_row,
                                              u32 warp_column, u32 lane) {
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        u32 a_high[2][4], a_low[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++) {
            // Matrices in the order of a lane's registers: rows 0-7 and 8-15 of the first eight features, then of the second.
            u32 place = (warp_row + 16 * m + ((lane >> 3) & 1) * 8 + (lane & 7)) * WIDE_STRIDE + k * 16 + (lane >> 4) * 8;
            load_matrices(a_high[m], stage.row_high + place);
            load_matrices(a_low[m], stage.row_low + place);
        }
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
            u32 b_high[4], b_low[4];
            u32 place = (warp_column + pair * 16 + (lane >> 4) * 8 + (lane & 7)) * WIDE_STRIDE + k * 16 + ((lane >> 3) & 1) * 8;
            load_matrices(b_high, stage.column_high + place);
            load_matrices(b_low, stage.column_low + place);
            // Three rounds, so that nobody waits for the sum that was just added to.
#pragma unroll
            for (int e = 0; e < 4; e++)
                multiply_add(small[e >> 1][2 * pair + (e & 1)], a_high[e >> 1], b_low[2 * (e & 1)], b_low[2 * (e & 1) + 1]);
#pragma unroll
            for (int e = 0; e < 4; e++)
                multiply_add(large[e >> 1][2 * pair + (e & 1)], a_high[e >> 1], b_high[2 * (e & 1)], b_high[2 * (e & 1) + 1]);
#pragma unroll
            for (int e = 0; e < 4; e++)
                multiply_add(small[e >> 1][2 * pair + (e & 1)], a_low[e >> 1], b_high[2 * (e & 1)], b_high[2 * (e & 1) + 1]);
        }
    }
}

template <bool EXPONENT, bool STORE>
__device__ void wide(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high,
                     const Half *column_low, const float *column_norms, const float *weights, u32 column_count, u32 width,
                     Formula formula, double *sums, float *out, u64 stride, bool symmetric, u8 *memory) {
    WideStage *stages = (WideStage *)memory;
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warp_row = (warp & 3) * 32, warp_column = (warp >> 2) * 64;
    // Of a symmetric matrix the last rows have the most to do: they begin.
    u32 block = STORE && symmetric ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    u32 block_row = block * WIDE, column_tiles = (column_count + WIDE - 1) / WIDE;
    if (STORE && symmetric) column_tiles = block + 1;
    u32 each = (column_tiles + gridDim.y - 1) / gridDim.y;
    u32 from = blockIdx.y * each, to = from + each < column_tiles ? from + each : column_tiles;
    float factor = (float)formula.factor, norm_factor = (float)formula.norm_factor;
    float row_term[2][2];
    double total[2][2];
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u32 row = block_row + warp_row + 16 * m + 8 * h + (lane >> 2);
            row = row < row_count ? row : row_count - 1;
            row_term[m][h] = (float)(formula.shift + formula.norm_factor * (double)norms[row]);
            total[m][h] = 0.0;
        }
    float large[2][8][4], small[2][8][4];
#pragma unroll
    for (int e = 0; e < 64; e++) {
        large[e >> 5][(e >> 2) & 7][e & 3] = 0.0f;
        small[e >> 5][(e >> 2) & 7][e & 3] = 0.0f;
    }
    // Two pieces are on their way while a third is used, with one barrier each.
    WideLoader loader(high, low, block_row, row_count, column_high, column_low, column_count, width, from, to);
    loader.next(stages);
    loader.next(stages);
    u32 used = 0;
    for (u32 tile = from; tile < to; tile++) {
        for (u32 k = 0; k < width; k += WIDE_CHUNK) {
            copies_arrived<1>();
            __syncthreads();
            loader.next(stages);
            if (k + WIDE_CHUNK <= width)
                wide_multiply<WIDE_CHUNK / 16>(large, small, stages[used], warp_row, warp_column, lane);
            else
                wide_multiply<1>(large, small, stages[used], warp_row, warp_column, lane);
            used = used == 2 ? 0 : used + 1;
        }
        u32 first_column = tile * WIDE + warp_column + (lane & 3) * 2;
#pragma unroll
        for (int c = 0; c < 8; c++) {
            float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
#pragma unroll
            for (int s = 0; s < 2; s++) {
                u32 column = first_column + c * 8 + s;
                bool real = !STORE || column < column_count;
                float term = real ? norm_factor * column_norms[column] : 0.0f, weight = STORE ? 0.0f : weights[column];
#pragma unroll
                for (int m = 0; m < 2; m++)
#pragma unroll
                    for (int h = 0; h < 2; h++) {
                        float t = factor * (large[m][c][2 * h + s] + small[m][c][2 * h + s]) + (row_term[m][h] + term);
                        float value = EXPONENT ? finish_exponential(t) : finish<float>(formula.kind, formula.degree, t);
                        if (STORE) {
                            u32 row = block_row + warp_row + 16 * m + 8 * h + (lane >> 2);
                            if (real && row < row_count) {
                                out[row * stride + column] = value;
                                // A tile on the diagonal has both sides already, with other last digits.
                                if (symmetric && column / WIDE != row / WIDE) out[column * stride + row] = value;
                            }
                        } else {
                            sum[m][h] += weight * value;
                        }
                        large[m][c][2 * h + s] = 0.0f;
                        small[m][c][2 * h + s] = 0.0f;
                    }
            }
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int h = 0; h < 2; h++) total[m][h] += (double)sum[m][h];
        }
    }
    if (STORE) return;
    // The two halves of the columns meet in shared memory, which nobody else uses any more.
    copies_arrived<0>();
    __syncthreads();
    double *halves = (double *)memory;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            double v = total[m][h];
            v += __shfl_xor_sync(0xffffffffu, v, 1);
            v += __shfl_xor_sync(0xffffffffu, v, 2);
            if ((lane & 3) == 0) halves[(warp >> 2) * WIDE + warp_row + 16 * m + 8 * h + (lane >> 2)] = v;
        }
    __syncthreads();
    u32 row = block_row + threadIdx.x;
    if (threadIdx.x < WIDE && row < row_count) sums[(u64)blockIdx.y * row_count + row] = halves[threadIdx.x] + halves[WIDE + threadIdx.x];
}

#define WIDE_KERNEL(NAME, STORED, EXPONENT)                                                                                                \
    extern "C" __global__ void __launch_bounds__(WIDE_THREADS, 1)                                                                          \
        NAME(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high,                                \
             const Half *column_low, const float *column_norms, const float *weights, u32 column_tiles, u32 width, Formula formula,        \
             double *sums) {                                                                                                               \
        SHARED_BYTES(memory);                                                                                                              \
        wide<EXPONENT, false>(high, low, norms, row_count, column_high, column_low, column_norms, weights, column_tiles * WIDE, width,     \
                              formula, sums, nullptr, 0, false, memory);                                                                   \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(WIDE_THREADS, 1)                                                                          \
        STORED(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high, const Half *column_low,      \
               const float *column_norms, u32 column_count, u32 width, Formula formula, float *out, u64 stride, u32 symmetric) {           \
        SHARED_BYTES(memory);                                                                                                              \
        wide<EXPONENT, true>(high, low, norms, row_count, column_high, column_low, column_norms, nullptr, column_count, width, formula,    \
                             nullptr, out, stride, symmetric != 0, memory);                                                                \
    }
WIDE_KERNEL(weigh_wide_exponential, store_wide_exponential, true)
WIDE_KERNEL(weigh_wide, store_wide, false)

// Stored values times weights, several outputs at once: sums[output][row] = sum over columns of weights[output][column] * values[row][column].
// A warp has four rows and four outputs.
extern "C" __global__ void __launch_bounds__(256) weigh_stored(const float *values, u64 stride, u32 row_count, u32 column_count,
                                                               const double *weights, u32 outputs, double *sums) {
    enum { ROWS = 4, OUTPUTS = 4 };
    u32 lane = threadIdx.x & 31, first = (blockIdx.x * 8 + (threadIdx.x >> 5)) * ROWS, output = blockIdx.y * OUTPUTS;
    double total[ROWS][OUTPUTS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) total[r][o] = 0.0;
    for (u32 column = lane; column < column_count; column += 32) {
        double weight[OUTPUTS];
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) weight[o] = output + o < outputs ? weights[(u64)(output + o) * column_count + column] : 0.0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            double value = first + r < row_count ? (double)values[(first + r) * stride + column] : 0.0;
#pragma unroll
            for (int o = 0; o < OUTPUTS; o++) total[r][o] += weight[o] * value;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) {
            double v = total[r][o];
            for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
            if (lane == 0 && first + r < row_count && output + o < outputs) sums[(u64)(output + o) * row_count + first + r] = v;
        }
}
#endif
