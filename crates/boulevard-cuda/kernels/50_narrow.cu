// Weighted sums of exponential kernels on tensor cores, up to 128 features: rows stay in registers, columns pass through shared memory.
//
//     sums[split][row] = sum over the split's columns of weight * 2^min(0, t)
//
// x = high + low in half precision, so x z = high high + (high low + low high) + something below single precision. The small products have
// sums of their own: tensor cores cut off digits when they add, always downwards, and large and small terms in one sum would be biased.
// Values of 16 columns are added in single precision, the rest in double.

#if defined(TENSOR_CORES)
enum { NARROW_ROWS = 128, NARROW_COLUMNS = 64, NARROW_THREADS = 128 };

template <int STEPS>
struct NarrowStage {
    enum { STRIDE = STEPS * 16 + 8 };
    Half high[NARROW_COLUMNS * STRIDE];
    Half low[NARROW_COLUMNS * STRIDE];
    float norm[NARROW_COLUMNS];
    float weight[NARROW_COLUMNS];
};

template <int STEPS>
__device__ __forceinline__ void narrow_load(NarrowStage<STEPS> &stage, const Half *high, const Half *low, const float *norms,
                                            const float *weights, u32 first) {
    enum { PARTS = STEPS * 2, STRIDE = NarrowStage<STEPS>::STRIDE };
    for (u32 e = threadIdx.x; e < NARROW_COLUMNS * PARTS; e += NARROW_THREADS) {
        u32 column = e / PARTS, part = e % PARTS;
        u64 from = (u64)(first + column) * (STEPS * 16) + part * 8;
        copy16(&stage.high[column * STRIDE + part * 8], high + from);
        copy16(&stage.low[column * STRIDE + part * 8], low + from);
    }
    if (threadIdx.x < 16) copy16(&stage.norm[threadIdx.x * 4], norms + first + threadIdx.x * 4);
    else if (threadIdx.x < 32) copy16(&stage.weight[(threadIdx.x - 16) * 4], weights + first + (threadIdx.x - 16) * 4);
}

template <int STEPS>
__device__ void narrow(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high,
                       const Half *column_low, const float *column_norms, const float *weights, u32 column_tiles, Formula formula,
                       double *sums, u8 *memory) {
    enum { STRIDE = NarrowStage<STEPS>::STRIDE, WIDTH = STEPS * 16 };
    NarrowStage<STEPS> *stages = (NarrowStage<STEPS> *)memory;
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 first_row = blockIdx.x * NARROW_ROWS + warp * 32 + (lane >> 2);
    u32 each = (column_tiles + gridDim.y - 1) / gridDim.y;
    u32 from = blockIdx.y * each, to = from + each < column_tiles ? from + each : column_tiles;
    float factor = (float)formula.factor, norm_factor = (float)formula.norm_factor;

    // Rows of this lane: first_row + 8 h + 16 m.
    u32 a_high[2][STEPS][4], a_low[2][STEPS][4];
    float row_term[2][2];
    double total[2][2];
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            u32 row = first_row + 16 * m + 8 * h;
            row = row < row_count ? row : row_count - 1;
            row_term[m][h] = (float)(formula.shift + formula.norm_factor * (double)norms[row]);
            total[m][h] = 0.0;
            const u32 *from_high = (const u32 *)(high + (u64)row * WIDTH), *from_low = (const u32 *)(low + (u64)row * WIDTH);
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                a_high[m][k][h] = from_high[k * 8 + (lane & 3)];
                a_high[m][k][h + 2] = from_high[k * 8 + 4 + (lane & 3)];
                a_low[m][k][h] = from_low[k * 8 + (lane & 3)];
                a_low[m][k][h + 2] = from_low[k * 8 + 4 + (lane & 3)];
            }
        }

    if (from < to) narrow_load<STEPS>(stages[from & 1], column_high, column_low, column_norms, weights, from * NARROW_COLUMNS);
    copies_begun();
    for (u32 t = from; t < to; t++) {
        if (t + 1 < to)
            narrow_load<STEPS>(stages[(t + 1) & 1], column_high, column_low, column_norms, weights, (t + 1) * NARROW_COLUMNS);
        copies_begun();
        copies_arrived<1>();
        __syncthreads();
        NarrowStage<STEPS> &stage = stages[t & 1];
#pragma unroll 1
        for (int group = 0; group < NARROW_COLUMNS / 16; group++) {
            float large[2][2][4], small[2][2][4];
#pragma unroll
            for (int e = 0; e < 16; e++) {
                large[e >> 3][(e >> 2) & 1][e & 3] = 0.0f;
                small[e >> 3][(e >> 2) & 1][e & 3] = 0.0f;
            }
            u32 place = (group * 16 + (lane >> 4) * 8 + (lane & 7)) * STRIDE + ((lane >> 3) & 1) * 8;
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                u32 b_high[4], b_low[4];
                load_matrices(b_high, stage.high + place + k * 16);
                load_matrices(b_low, stage.low + place + k * 16);
                // Three rounds, so that nobody waits for the sum that was just added to.
#pragma unroll
                for (int e = 0; e < 4; e++)
                    multiply_add(small[e >> 1][e & 1], a_high[e >> 1][k], b_low[2 * (e & 1)], b_low[2 * (e & 1) + 1]);
#pragma unroll
                for (int e = 0; e < 4; e++)
                    multiply_add(large[e >> 1][e & 1], a_high[e >> 1][k], b_high[2 * (e & 1)], b_high[2 * (e & 1) + 1]);
#pragma unroll
                for (int e = 0; e < 4; e++)
                    multiply_add(small[e >> 1][e & 1], a_low[e >> 1][k], b_high[2 * (e & 1)], b_high[2 * (e & 1) + 1]);
            }
            float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
#pragma unroll
            for (int c = 0; c < 2; c++)
#pragma unroll
                for (int s = 0; s < 2; s++) {
                    u32 column = group * 16 + c * 8 + (lane & 3) * 2 + s;
                    float term = norm_factor * stage.norm[column], weight = stage.weight[column];
#pragma unroll
                    for (int m = 0; m < 2; m++)
#pragma unroll
                        for (int h = 0; h < 2; h++) {
                            float product = large[m][c][2 * h + s] + small[m][c][2 * h + s];
                            sum[m][h] += weight * finish_exponential(factor * product + (row_term[m][h] + term));
                        }
                }
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int h = 0; h < 2; h++) total[m][h] += (double)sum[m][h];
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            double v = total[m][h];
            v += __shfl_xor_sync(0xffffffffu, v, 1);
            v += __shfl_xor_sync(0xffffffffu, v, 2);
            u32 row = first_row + 16 * m + 8 * h;
            if ((lane & 3) == 0 && row < row_count) sums[(u64)blockIdx.y * row_count + row] = v;
        }
}

#define NARROW_KERNEL(STEPS, BLOCKS)                                                                                                       \
    extern "C" __global__ void __launch_bounds__(NARROW_THREADS, BLOCKS)                                                                   \
        weigh_narrow_##STEPS(const Half *high, const Half *low, const float *norms, u32 row_count, const Half *column_high,          \
                             const Half *column_low, const float *column_norms, const float *weights, u32 column_tiles,                  \
                             Formula formula, double *sums) {                                                                              \
        SHARED_BYTES(memory);                                                                                                              \
        narrow<STEPS>(high, low, norms, row_count, column_high, column_low, column_norms, weights, column_tiles, formula, sums, memory);   \
    }
NARROW_KERNEL(1, 4)
NARROW_KERNEL(2, 4)
NARROW_KERNEL(3, 3)
NARROW_KERNEL(4, 3)
NARROW_KERNEL(6, 2)
NARROW_KERNEL(8, 2)
#endif
