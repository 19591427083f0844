// Kernel values in double precision on tensor cores, for kernels of inner products and distances: the certificate, and the matrices that
// Newton's steps need. Rows and columns are packed next to each other, padded with zeros to whole tiles and to eight features.
//
//     sums[split][row] = sum over the split's columns of weight * K(row, column)
//     matrix[row][column] = K(row, column), the lower triangle by tiles

// Rows of the table by their numbers, features padded to `width`, rows to `padded`. Weights may be absent.
extern "C" __global__ void gather_exact(const u32 *ids, u32 count, u32 padded, u32 columns, u32 width, const double *table,
                                        const double *norms, const double *weights, double *to, double *to_norms, double *to_weights) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 row = at / width;
    if (row >= padded) return;
    u32 column = (u32)(at % width);
    bool real = row < count;
    to[at] = real && column < columns ? table[(u64)ids[row] * columns + column] : 0.0;
    if (column == 0) {
        to_norms[row] = real ? norms[ids[row]] : 0.0;
        if (to_weights) to_weights[row] = real ? weights[row] : 0.0;
    }
}

#if defined(TENSOR_CORES)
// Features that pass through shared memory at once, and how far rows are apart there: lanes of a half warp meet no bank twice.
enum { EXACT_CHUNK = 16, EXACT_STRIDE = 20 };

// A tile of WR x WC warps with (8 MT) x (8 NT) values each, 4 QUADS features at a time.
template <int MT, int NT, int WR, int WC, int QUADS>
struct ExactTile {
    enum { ROWS = 8 * MT * WR, COLUMNS = 8 * NT * WC, THREADS = 32 * WR * WC };
    struct Stage {
        double left[ROWS * EXACT_STRIDE];
        double right[COLUMNS * EXACT_STRIDE];
    };
    static __device__ __forceinline__ u32 row_of_lane() { return ((threadIdx.x >> 5) / WC) * 8 * MT + ((threadIdx.x & 31) >> 2); }
    static __device__ __forceinline__ u32 column_of_lane() { return ((threadIdx.x >> 5) % WC) * 8 * NT + (threadIdx.x & 3) * 2; }

    // Both sides on their way through shared memory: every thread copies the same 16 bytes of some lines, a piece after the other.
    struct Loader {
        enum { PARTS = EXACT_CHUNK / 2, LINES = THREADS / PARTS };
        const double *left, *right;
        u64 left_step, right_step;
        u32 features, part, place;

        __device__ __forceinline__ Loader(const double *left, u64 left_stride, const double *right, u64 right_stride, u32 width)
            : left_step(LINES * left_stride), right_step(LINES * right_stride), features(width), part(threadIdx.x % PARTS * 2) {
            u32 line = threadIdx.x / PARTS;
            this->left = left + line * left_stride + part;
            this->right = right + line * right_stride + part;
            place = line * EXACT_STRIDE + part;
        }

        // Begins the next piece; after the last one nothing, but the count of begun copies goes on.
        __device__ __forceinline__ void next(Stage &stage) {
            if (part < features) {
#pragma unroll
                for (int j = 0; j < ROWS / LINES; j++) copy16(stage.left + place + j * LINES * EXACT_STRIDE, left + j * left_step);
#pragma unroll
                for (int j = 0; j < COLUMNS / LINES; j++) copy16(stage.right + place + j * LINES * EXACT_STRIDE, right + j * right_step);
            }
            features = features > EXACT_CHUNK ? features - EXACT_CHUNK : 0;
            left += EXACT_CHUNK;
            right += EXACT_CHUNK;
            copies_begun();
        }
    };

    // acc += left right' over `width` features, a multiple of 4 QUADS. All threads call it; shared memory is free afterwards.
    static __device__ __forceinline__ void multiply(double (&acc)[MT][NT][2], const double *left, u64 left_stride, const double *right,
                                                    u64 right_stride, u32 width, Stage *stages) {
        u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        u32 left_place = ((warp / WC) * 8 * MT + (lane >> 2)) * EXACT_STRIDE + (lane & 3);
        u32 right_place = ((warp % WC) * 8 * NT + (lane >> 2)) * EXACT_STRIDE + (lane & 3);
        // Two pieces are on their way while a third is used, with one barrier each.
        __syncthreads();
        Loader loader(left, left_stride, right, right_stride, width);
        for (u32 piece = 0; piece < 2; piece++) loader.next(stages[piece]);
        u32 buffer = 0;
        for (u32 k = 0; k < width; k += EXACT_CHUNK, buffer = buffer == 2 ? 0 : buffer + 1) {
            copies_arrived<1>();
            __syncthreads();
            loader.next(stages[buffer == 0 ? 2 : buffer - 1]);
            const double *from_left = stages[buffer].left + left_place, *from_right = stages[buffer].right + right_place;
            u32 features = width - k < EXACT_CHUNK ? width - k : EXACT_CHUNK;
            for (u32 at = 0; at < features; at += 4 * QUADS) {
                double a[MT][QUADS], b[NT][QUADS];
#pragma unroll
                for (int q = 0; q < QUADS; q++) {
#pragma unroll
                    for (int i = 0; i < MT; i++) a[i][q] = from_left[i * 8 * EXACT_STRIDE + at + q * 4];
#pragma unroll
                    for (int j = 0; j < NT; j++) b[j][q] = from_right[j * 8 * EXACT_STRIDE + at + q * 4];
                }
#pragma unroll
                for (int i = 0; i < MT; i += 2)
#pragma unroll
                    for (int j = 0; j < NT; j++) multiply_add(acc[i][j], acc[i + 1][j], a[i], a[i + 1], b[j]);
            }
        }
        copies_arrived<0>();
        __syncthreads();
    }

    // What a lane needs of 4 QUADS features from `at` on.
    static __device__ __forceinline__ void read(double (&a)[MT][QUADS], double (&b)[NT][QUADS], const Stage &stage, u32 left, u32 right,
                                                u32 at) {
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
#pragma unroll
            for (int i = 0; i < MT; i++) a[i][q] = stage.left[left + i * 8 * EXACT_STRIDE + at + q * 4];
#pragma unroll
            for (int j = 0; j < NT; j++) b[j][q] = stage.right[right + j * 8 * EXACT_STRIDE + at + q * 4];
        }
    }

    // The same for a multiple of EXACT_CHUNK features: numbers are read from shared memory while those before them are multiplied.
    static __device__ __forceinline__ void multiply_whole(double (&acc)[MT][NT][2], const double *left, u64 left_stride, const double *right,
                                                          u64 right_stride, u32 width, Stage *stages) {
        enum { STEPS = EXACT_CHUNK / (4 * QUADS) };
        u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        u32 left_place = ((warp / WC) * 8 * MT + (lane >> 2)) * EXACT_STRIDE + (lane & 3);
        u32 right_place = ((warp % WC) * 8 * NT + (lane >> 2)) * EXACT_STRIDE + (lane & 3);
        double a[2][MT][QUADS], b[2][NT][QUADS];
        __syncthreads();
        Loader loader(left, left_stride, right, right_stride, width);
        for (u32 piece = 0; piece < 2; piece++) loader.next(stages[piece]);
        copies_arrived<1>();
        __syncthreads();
        read(a[0], b[0], stages[0], left_place, right_place, 0);
        u32 buffer = 0;
        for (u32 k = 0; k < width; k += EXACT_CHUNK) {
            u32 next = buffer == 2 ? 0 : buffer + 1;
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                if (step == STEPS - 1) {
                    // The next piece is there, and nobody reads the last one any more.
                    copies_arrived<1>();
                    __syncthreads();
                }
                read(a[(step + 1) & 1], b[(step + 1) & 1], stages[step == STEPS - 1 ? next : buffer], left_place, right_place,
                     step == STEPS - 1 ? 0 : (step + 1) * 4 * QUADS);
                if (step == 0) loader.next(stages[buffer == 0 ? 2 : buffer - 1]);
#pragma unroll
                for (int i = 0; i < MT; i += 2)
#pragma unroll
                    for (int j = 0; j < NT; j++) multiply_add(acc[i][j], acc[i + 1][j], a[step & 1][i], a[step & 1][i + 1], b[step & 1][j]);
            }
            buffer = next;
        }
        copies_arrived<0>();
        __syncthreads();
    }
};

template <int MT, int NT>
__device__ __forceinline__ void clear(double (&acc)[MT][NT][2]) {
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++) acc[i][j][0] = acc[i][j][1] = 0.0;
}

typedef ExactTile<4, 4, 2, 2, 2> ValueTile;  // 64 x 64, three blocks of it on a processor at once

template <bool EXPONENT>
__device__ __forceinline__ double exact_value(const Formula &formula, double t) {
    return EXPONENT ? finish_exponential(t) : finish<double>(formula.kind, formula.degree, t);
}

template <bool EXPONENT>
__device__ void weigh_exact(const double *rows, const double *row_norms, u32 row_count, const double *columns, const double *column_norms,
                            const double *weights, u32 column_tiles, u32 width, Formula formula, double *sums, u8 *memory) {
    enum { MT = 4, NT = 4 };
    ValueTile::Stage *stages = (ValueTile::Stage *)memory;
    u32 first_row = blockIdx.x * ValueTile::ROWS, row = ValueTile::row_of_lane(), column = ValueTile::column_of_lane();
    u32 each = (column_tiles + gridDim.y - 1) / gridDim.y;
    u32 from = blockIdx.y * each, to = from + each < column_tiles ? from + each : column_tiles;
    double row_term[MT], total[MT];
#pragma unroll
    for (int i = 0; i < MT; i++) {
        row_term[i] = formula.shift + formula.norm_factor * row_norms[first_row + row + 8 * i];
        total[i] = 0.0;
    }
    for (u32 t = from; t < to; t++) {
        double acc[MT][NT][2];
        clear(acc);
        u64 first_column = (u64)t * ValueTile::COLUMNS;
        ValueTile::multiply(acc, rows + (u64)first_row * width, width, columns + first_column * width, width, width, stages);
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                u64 at = first_column + column + 8 * j + s;
                double term = formula.norm_factor * column_norms[at], weight = weights[at];
#pragma unroll
                for (int i = 0; i < MT; i++)
                    total[i] += weight * exact_value<EXPONENT>(formula, formula.factor * acc[i][j][s] + (row_term[i] + term));
            }
    }
    // Four lanes and two warps have parts of a row.
    double *halves = (double *)memory;
    u32 lane = threadIdx.x & 31, side = (threadIdx.x >> 5) % 2;
#pragma unroll
    for (int i = 0; i < MT; i++) {
        double v = total[i];
        v += __shfl_xor_sync(0xffffffffu, v, 1);
        v += __shfl_xor_sync(0xffffffffu, v, 2);
        if ((lane & 3) == 0) halves[side * ValueTile::ROWS + row + 8 * i] = v;
    }
    __syncthreads();
    u32 own = first_row + threadIdx.x;
    if (threadIdx.x < ValueTile::ROWS && own < row_count)
        sums[(u64)blockIdx.y * row_count + own] = halves[threadIdx.x] + halves[ValueTile::ROWS + threadIdx.x];
}

// Columns past `size` are those of the unit matrix with a large diagonal: whatever rows hold there does not matter.
template <bool EXPONENT>
__device__ void store_exact(const double *rows, const double *norms, u32 size, u32 width, Formula formula, double ridge, double outside,
                            double *matrix, u32 stride, u8 *memory) {
    enum { MT = 4, NT = 4 };
    if (blockIdx.x > blockIdx.y) return;
    u32 first_row = blockIdx.y * ValueTile::ROWS, first_column = blockIdx.x * ValueTile::COLUMNS;
    double acc[MT][NT][2];
    clear(acc);
    ValueTile::multiply(acc, rows + (u64)first_row * width, width, rows + (u64)first_column * width, width, width,
                        (ValueTile::Stage *)memory);
    u32 row = first_row + ValueTile::row_of_lane(), column = first_column + ValueTile::column_of_lane();
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                u32 r = row + 8 * i, c = column + 8 * j + s;
                double t = formula.factor * acc[i][j][s] + (formula.shift + formula.norm_factor * (norms[r] + norms[c]));
                double value = r == c ? outside : 0.0;
                if (r < size && c < size) value = exact_value<EXPONENT>(formula, t) + (r == c ? ridge : 0.0);
                matrix[(u64)r * stride + c] = value;
            }
}

// matrix[row][column] for rows beside the columns of a matrix; zero past `column_count`. Rows past `row_count` are left as they are.
template <bool EXPONENT>
__device__ void store_beside(const double *rows, const double *norms, u32 row_count, const double *columns, const double *column_norms,
                             u32 column_count, u32 width, Formula formula, double *matrix, u32 stride, u8 *memory) {
    enum { MT = 4, NT = 4 };
    u32 first_row = blockIdx.y * ValueTile::ROWS, first_column = blockIdx.x * ValueTile::COLUMNS;
    double acc[MT][NT][2];
    clear(acc);
    ValueTile::multiply(acc, rows + (u64)first_row * width, width, columns + (u64)first_column * width, width, width,
                        (ValueTile::Stage *)memory);
    u32 row = first_row + ValueTile::row_of_lane(), column = first_column + ValueTile::column_of_lane();
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                u32 r = row + 8 * i, c = column + 8 * j + s;
                if (r >= row_count) continue;
                double t = formula.factor * acc[i][j][s] + (formula.shift + formula.norm_factor * (norms[r] + column_norms[c]));
                matrix[(u64)r * stride + c] = c < column_count ? exact_value<EXPONENT>(formula, t) : 0.0;
            }
}

#define EXACT_KERNELS(WEIGH, STORE, BESIDE, EXPONENT)                                                                                      \
    extern "C" __global__ void __launch_bounds__(128, 3)                                                                                   \
        WEIGH(const double *rows, const double *row_norms, u32 row_count, const double *columns, const double *column_norms,               \
              const double *weights, u32 column_tiles, u32 width, Formula formula, double *sums) {                                         \
        SHARED_BYTES(memory);                                                                                                              \
        weigh_exact<EXPONENT>(rows, row_norms, row_count, columns, column_norms, weights, column_tiles, width, formula, sums, memory);     \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(128, 3)                                                                                   \
        STORE(const double *rows, const double *norms, u32 size, u32 width, Formula formula, double ridge, double outside, double *matrix, \
              u32 stride) {                                                                                                                \
        SHARED_BYTES(memory);                                                                                                              \
        store_exact<EXPONENT>(rows, norms, size, width, formula, ridge, outside, matrix, stride, memory);                                  \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(128, 3)                                                                                   \
        BESIDE(const double *rows, const double *norms, u32 row_count, const double *columns, const double *column_norms,                  \
               u32 column_count, u32 width, Formula formula, double *matrix, u32 stride) {                                                 \
        SHARED_BYTES(memory);                                                                                                              \
        store_beside<EXPONENT>(rows, norms, row_count, columns, column_norms, column_count, width, formula, matrix, stride, memory);       \
    }
EXACT_KERNELS(weigh_exact_exponential, store_exact_exponential, store_beside_exponential, true)
EXACT_KERNELS(weigh_exact_other, store_exact_other, store_beside_other, false)
#endif
