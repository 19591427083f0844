// Kernel values by tiles of 64 x 64 in plain arithmetic, single or double precision: the certificate, the matrix of a set, kernels without
// inner products, and cards without tensor cores.
//
//     sums[split][row] = sum over the split's columns of weight * K(row, column)          (WEIGH)
//     out[row][column] = K(row, column) in single precision                                (STORE)

enum { TILE = 64, CHUNK = 16, TILE_STRIDE = 68 };

template <typename T, int ARGUMENT, bool STORE>
__device__ void tile(const T *rows, const u32 *row_ids, const double *row_norms, u32 row_count, const T *columns, const T *column_norms,
                     const double *weights, u32 column_count, u32 width, Formula formula, double *sums, float *out, u32 out_width) {
    __shared__ T left[CHUNK][TILE_STRIDE];
    __shared__ T right[CHUNK][TILE_STRIDE];
    u32 thread = threadIdx.x, tx = thread & 15, ty = thread >> 4;
    u32 first_row = blockIdx.x * TILE;
    // Whole tiles per split; the cut depends on sizes alone, so that sums keep their bits.
    u32 tiles = (column_count + TILE - 1) / TILE, each = (tiles + gridDim.y - 1) / gridDim.y;
    u32 from = blockIdx.y * each, to = from + each < tiles ? from + each : tiles;
    double total[4] = {0.0, 0.0, 0.0, 0.0};
    T row_term[4];
    for (int i = 0; i < 4; i++) {
        u32 row = first_row + ty * 4 + i;
        double norm = 0.0;
        if (row_norms && row < row_count) norm = row_norms[row_ids ? row_ids[row] : row];
        row_term[i] = (T)(formula.shift + formula.norm_factor * norm);
    }
    T factor = (T)formula.factor, norm_factor = (T)formula.norm_factor;
    for (u32 t = from; t < to; t++) {
        u32 first_column = t * TILE;
        T sum[4][4];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) sum[i][j] = (T)0;
        for (u32 k0 = 0; k0 < width; k0 += CHUNK) {
            __syncthreads();
            for (int e = 0; e < 4; e++) {
                u32 r = (thread >> 4) + 16 * e, k = thread & 15;
                u32 row = first_row + r, column = first_column + r;
                bool inside = k0 + k < width;
                T a = (T)0, b = (T)0;
                if (inside && row < row_count) a = rows[(u64)(row_ids ? row_ids[row] : row) * width + k0 + k];
                if (inside && column < column_count) b = columns[(u64)column * width + k0 + k];
                left[k][r] = a;
                right[k][r] = b;
            }
            __syncthreads();
#pragma unroll 4
            for (int k = 0; k < CHUNK; k++) {
                T a[4], b[4];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    a[i] = left[k][ty * 4 + i];
                    b[i] = right[k][tx * 4 + i];
                }
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++) sum[i][j] = extend<ARGUMENT, T>(sum[i][j], a[i], b[j]);
            }
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u32 column = first_column + tx * 4 + j;
            if (column < column_count) {
                T column_term = column_norms ? norm_factor * column_norms[column] : (T)0;
                T weight = STORE ? (T)0 : (T)weights[column];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    T value = finish<T>(formula.kind, formula.degree, factor * sum[i][j] + (row_term[i] + column_term));
                    u32 row = first_row + ty * 4 + i;
                    if (STORE) {
                        if (row < row_count) out[(u64)row * out_width + column] = (float)value;
                    } else {
                        total[i] += (double)(weight * value);
                    }
                }
            }
        }
    }
    if (STORE) return;
    for (int i = 0; i < 4; i++) {
        double v = total[i];
        for (int d = 8; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
        u32 row = first_row + ty * 4 + i;
        if (tx == 0 && row < row_count) sums[(u64)blockIdx.y * row_count + row] = v;
    }
}

#define TILE_ARGUMENTS(T)                                                                                                                  \
    const T *rows, const u32 *row_ids, const double *row_norms, u32 row_count, const T *columns, const T *column_norms,                    \
        const double *weights, u32 column_count, u32 width, Formula formula, double *sums, float *out, u32 out_width
#define TILE_KERNEL(NAME, T, ARGUMENT, STORE)                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) NAME(TILE_ARGUMENTS(T)) {                                                            \
        tile<T, ARGUMENT, STORE>(rows, row_ids, row_norms, row_count, columns, column_norms, weights, column_count, width, formula, sums,  \
                                 out, out_width);                                                                                          \
    }
TILE_KERNEL(weigh_double_product, double, PRODUCT, false)
TILE_KERNEL(weigh_double_absolute, double, ABSOLUTE, false)
TILE_KERNEL(weigh_single_product, float, PRODUCT, false)
TILE_KERNEL(weigh_single_squared, float, SQUARED, false)
TILE_KERNEL(weigh_single_absolute, float, ABSOLUTE, false)
TILE_KERNEL(store_single_product, float, PRODUCT, true)
TILE_KERNEL(store_single_squared, float, SQUARED, true)
TILE_KERNEL(store_single_absolute, float, ABSOLUTE, true)

// Parts of sums together, in their order: sums[0][i] += sums[1][i] + ...
extern "C" __global__ void add_parts(double *sums, u32 splits, u64 count) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    double sum = sums[at];
    for (u32 split = 1; split < splits; split++) sum += sums[split * count + at];
    sums[at] = sum;
}
