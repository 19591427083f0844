// Cholesky's factor of a matrix in double precision, and solutions with it. Rows lie next to each other; only the lower triangle counts.
//
// Columns are taken by panels of 512, and those by blocks of 64; what is right of two panels waits until both are done:
//
//     subtract_64        the block gets what the panel's earlier columns owe it
//     factor_block       its diagonal part is factored, and the factor inverted, by one block of the card
//     solve_block        the rows below are multiplied with the inverse
//     subtract_128       columns right of a panel get what the panel owes them: nearly all of the work
//
// Right sides are rows below the matrix: what is done to them on the way is the solution of L y = r. The second half, L' x = y, is
// back_block, from the last block to the first.
//
// Rows may also be added below a finished factor. That is how another system is solved that differs in some variables, without a new factor:
// rows J of the kernel matrix for variables that joined, unit rows E for those that are held where they are. With T = [J; E] L'^-1, y of the
// right sides r, and the joined variables' own matrix K and right sides s,
//
//     x = L'^-1 (y - T' m),    ([K 0; 0 0] - T T') m = [s; 0] - T y
//
// so that only a small matrix is factored. It is positive definite in the joined variables, and negative definite in what is left of the held
// ones after that: `negate` turns the sign in between. m of the joined ones is their solution.

#if defined(TENSOR_CORES)
enum { FACTOR = 64, FACTOR_STRIDE = 65, FACTOR_THREADS = 256 };

// matrix[row][column] -= sum of matrix[row][k] matrix[column][k] over `width` columns from `from` on, by tiles from (first, first_column)
// on that reach the lower triangle. Tiles are taken eight rows at a time: their data is still in the cache.
template <int MT, int NT, int WR, int WC>
__device__ void subtract(double *matrix, u32 stride, u32 size, u32 first, u32 first_column, u32 from, u32 width, u8 *memory) {
    typedef ExactTile<MT, NT, WR, WC, 1> Tile;
    u32 row = first + (blockIdx.y * 8 + blockIdx.x % 8) * Tile::ROWS, column = first_column + (blockIdx.x / 8) * Tile::COLUMNS;
    if (row >= size || column >= row + Tile::ROWS) return;
    double acc[MT][NT][2];
    clear(acc);
    Tile::multiply_whole(acc, matrix + (u64)row * stride + from, stride, matrix + (u64)column * stride + from, stride, width,
                         (typename Tile::Stage *)memory);
    double *out = matrix + (u64)(row + Tile::row_of_lane()) * stride + column + Tile::column_of_lane();
    // A line is on its way while the one before it is written.
    double2 there[2][NT];
#pragma unroll
    for (int j = 0; j < NT; j++) there[0][j] = *(const double2 *)(out + j * 8);
#pragma unroll
    for (int i = 0; i < MT; i++) {
        double *line = out + (u64)i * 8 * stride;
        if (i + 1 < MT) {
#pragma unroll
            for (int j = 0; j < NT; j++) there[(i + 1) & 1][j] = *(const double2 *)(line + (u64)8 * stride + j * 8);
        }
#pragma unroll
        for (int j = 0; j < NT; j++) {
            double2 value = there[i & 1][j];
            value.x -= acc[i][j][0];
            value.y -= acc[i][j][1];
            *(double2 *)(line + j * 8) = value;
        }
    }
}
extern "C" __global__ void __launch_bounds__(128, 3)
    subtract_64(double *matrix, u32 stride, u32 size, u32 first, u32 first_column, u32 from, u32 width) {
    SHARED_BYTES(memory);
    subtract<4, 4, 2, 2>(matrix, stride, size, first, first_column, from, width, memory);
}
extern "C" __global__ void __launch_bounds__(256, 1)
    subtract_128(double *matrix, u32 stride, u32 size, u32 first, u32 first_column, u32 from, u32 width) {
    SHARED_BYTES(memory);
    subtract<8, 4, 2, 4>(matrix, stride, size, first, first_column, from, width, memory);
}

// The factor of the 64 x 64 block at `at`, in its place, and its inverse in inverses[at / 64]. Everybody waits for this one, so it goes by
// parts of 16: a warp factors and inverts a part in registers, all threads do the rest. A pivot below `least` is told, and replaced so that
// nothing becomes infinite.
extern "C" __global__ void __launch_bounds__(FACTOR_THREADS, 1)
    factor_block(double *matrix, u32 stride, u32 at, double least, double *inverses, u32 *failed) {
    enum { PART = 16, S = FACTOR_STRIDE };
    SHARED_BYTES(memory);
    double *a = (double *)memory, *inverse = a + FACTOR * S;
    double *block = matrix + (u64)at * stride + at;
    u32 thread = threadIdx.x, lane = thread & 31, line = thread / PART, place = thread % PART;
    for (u32 e = thread; e < FACTOR * FACTOR; e += FACTOR_THREADS) {
        u32 i = e / FACTOR, k = e % FACTOR;
        a[i * S + k] = k <= i ? block[(u64)i * stride + k] : 0.0;
        inverse[i * S + k] = 0.0;
    }
    __syncthreads();
    for (u32 first = 0; first < FACTOR; first += PART) {
        double *part = a + first * S + first;
        if (thread < 32) {
            // A lane has a row; what is right of the diagonal is never used.
            u32 own = lane % PART;
            double row[PART], scale[PART];
#pragma unroll
            for (int k = 0; k < PART; k++) row[k] = part[own * S + k];
#pragma unroll
            for (int j = 0; j < PART; j++) {
                double pivot = __shfl_sync(0xffffffffu, row[j], j);
                if (!(pivot > least)) {
                    if (lane == 0) *failed = 1;
                    pivot = 1.0;
                }
                scale[j] = rsqrt(pivot);
                row[j] = own == j ? pivot * scale[j] : row[j] * scale[j];
#pragma unroll
                for (int k = j + 1; k < PART; k++) row[k] -= row[j] * __shfl_sync(0xffffffffu, row[j], k);
            }
            if (lane < PART) {
#pragma unroll
                for (int k = 0; k < PART; k++)
                    if (k <= own) part[own * S + k] = row[k];
            }
            __syncwarp();
            // A lane has a column of the inverse.
            double column[PART];
#pragma unroll
            for (int i = 0; i < PART; i++) {
                double sum = i == (int)own ? 1.0 : 0.0;
#pragma unroll
                for (int k = 0; k < i; k++) sum -= part[i * S + k] * column[k];
                column[i] = i < (int)own ? 0.0 : sum * scale[i];
                if (lane < PART) inverse[(first + i) * S + first + own] = column[i];
            }
        }
        __syncthreads();
        u32 next = first + PART, left = FACTOR - next;
        double solved[3];
#pragma unroll
        for (int e = 0; e < 3; e++) {
            u32 i = line + e * PART;
            solved[e] = 0.0;
            if (i < left)
                for (u32 k = 0; k < PART; k++) solved[e] += a[(next + i) * S + first + k] * inverse[(first + place) * S + first + k];
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 3; e++)
            if (line + e * PART < left) a[(next + line + e * PART) * S + first + place] = solved[e];
        __syncthreads();
        for (u32 i = line; i < left; i += PART)
            for (u32 k = place; k <= i; k += PART) {
                double sum = 0.0;
#pragma unroll
                for (int m = 0; m < PART; m++) sum += a[(next + i) * S + first + m] * a[(next + k) * S + first + m];
                a[(next + i) * S + next + k] -= sum;
            }
        __syncthreads();
    }
    // Parts of the inverse below the diagonal, by lines of parts; what is right of the diagonal of `a` is room for products.
    for (u32 r = 1; r < FACTOR / PART; r++) {
        for (u32 c = 0; c < r; c++) {
            double sum = 0.0;
#pragma unroll 4
            for (u32 m = c * PART; m < r * PART; m++) sum += a[(r * PART + line) * S + m] * inverse[m * S + c * PART + place];
            a[(c * PART + line) * S + r * PART + place] = sum;
        }
        __syncthreads();
        for (u32 c = 0; c < r; c++) {
            double sum = 0.0;
#pragma unroll
            for (u32 m = 0; m < PART; m++)
                sum -= inverse[(r * PART + line) * S + r * PART + m] * a[(c * PART + m) * S + r * PART + place];
            inverse[(r * PART + line) * S + c * PART + place] = sum;
        }
        __syncthreads();
    }
    double *out = inverses + (u64)(at / FACTOR) * FACTOR * FACTOR;
    for (u32 e = thread; e < FACTOR * FACTOR; e += FACTOR_THREADS) {
        u32 i = e / FACTOR, c = e % FACTOR;
        if (c <= i) block[(u64)i * stride + c] = a[i * S + c];
        out[e] = inverse[i * S + c];
    }
}

// Rows from `first` on: theirs in the block's columns times the inverse, in their place.
extern "C" __global__ void __launch_bounds__(128, 3)
    solve_block(double *matrix, u32 stride, u32 at, u32 first, const double *inverses) {
    SHARED_BYTES(memory);
    enum { MT = 4, NT = 4 };
    double *rows = matrix + (u64)(first + blockIdx.x * ValueTile::ROWS) * stride + at;
    double acc[MT][NT][2];
    clear(acc);
    ValueTile::multiply(acc, rows, stride, inverses + (u64)(at / FACTOR) * FACTOR * FACTOR, FACTOR, FACTOR, (ValueTile::Stage *)memory);
    double *out = rows + (u64)ValueTile::row_of_lane() * stride + ValueTile::column_of_lane();
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++) {
            double *to = out + (u64)i * 8 * stride + j * 8;
            to[0] = acc[i][j][0];
            to[1] = acc[i][j][1];
        }
}

// Rows from `first` on are those of the unit matrix with these numbers.
extern "C" __global__ void unit_rows(double *matrix, u32 stride, u32 first, const u32 *numbers, u32 count) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x, row = at / stride;
    if (row < count) matrix[first * (u64)stride + at] = at % stride == numbers[row] ? 1.0 : 0.0;
}

// out[i][j] = products of the rows from `first` on, lower triangle: `size` of them, and right sides below, from tile `tile` on. Past these as
// in store_exact.
extern "C" __global__ void __launch_bounds__(256, 1)
    gram_rows(const double *matrix, u32 stride, u32 first, u32 size, u32 sides, u32 tile, double outside, double *out, u32 out_stride) {
    SHARED_BYTES(memory);
    enum { MT = 8, NT = 4 };
    typedef ExactTile<MT, NT, 2, 4, 1> Tile;
    if (blockIdx.x > tile + blockIdx.y) return;
    u32 first_row = (tile + blockIdx.y) * Tile::ROWS, first_column = blockIdx.x * Tile::COLUMNS;
    double acc[MT][NT][2];
    clear(acc);
    Tile::multiply_whole(acc, matrix + (u64)(first + first_row) * stride, stride, matrix + (u64)(first + first_column) * stride, stride,
                         stride, (Tile::Stage *)memory);
    u32 row = first_row + Tile::row_of_lane(), column = first_column + Tile::column_of_lane();
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                u32 r = row + 8 * i, c = column + 8 * j + s;
                bool real = c < size && r < size + sides;
                out[(u64)r * out_stride + c] = real ? acc[i][j][s] : (r == c ? outside : 0.0);
            }
}

// The small system. `order` has the number among the added rows for each of its rows: the joined ones first, then padding up to `first_held`,
// then those held. `gram` are products of the added rows and, below, of the right sides; lower triangles, as everywhere.
extern "C" __global__ void border(const double *gram, u32 gram_stride, u32 added, const u32 *order, u32 joined, u32 first_held, u32 held,
                                  u32 sides, const double *kernel, u32 kernel_stride, const double *side_values, double outside, double *out,
                                  u32 stride) {
    u32 c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y, end = first_held + held;
    if (c > r || c >= stride) return;
    bool column_joined = c < joined, column_held = c >= first_held && c < end;
    bool row_joined = r < joined, row_held = r >= first_held && r < end, row_side = r >= end && r < end + sides;
    double value = r == c ? outside : 0.0;
    if ((column_joined || column_held) && (row_joined || row_held || row_side)) {
        u32 a = row_side ? added + (r - end) : order[r], b = order[c];
        value = -gram[(u64)(a > b ? a : b) * gram_stride + (a > b ? b : a)];
        if (column_joined && row_joined) value += kernel[(u64)r * kernel_stride + c];
        if (column_joined && row_side) value += side_values[(u64)(r - end) * joined + c];
    }
    out[(u64)r * stride + c] = value;
}

// Turns the sign of a part of a matrix.
extern "C" __global__ void negate(double *matrix, u32 stride, u32 first_row, u32 first_column, u32 columns) {
    u32 c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) matrix[(u64)(first_row + blockIdx.y) * stride + first_column + c] *= -1.0;
}

// y[side] = the row of a right side less the sum of multipliers[side][k] times the row k from `first` on; zero past the matrix.
extern "C" __global__ void combine_rows(const double *matrix, u32 stride, u32 size, u32 first, u32 count, u32 sides,
                                        const double *multipliers, u32 multiplier_stride, double *y) {
    u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= stride) return;
    for (u32 side = 0; side < sides; side++) {
        double sum = matrix[(u64)(first + count + side) * stride + column];
#pragma unroll 8
        for (u32 k = 0; k < count; k++)
            sum -= multipliers[(u64)side * multiplier_stride + k] * matrix[(u64)(first + k) * stride + column];
        y[(u64)side * stride + column] = column < size ? sum : 0.0;
    }
}

// The right sides after the factor, zero past the matrix.
extern "C" __global__ void take_sides(const double *matrix, u32 stride, u32 size, u32 sides, double *y) {
    u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= stride) return;
    for (u32 side = 0; side < sides; side++)
        y[(u64)side * stride + column] = column < size ? matrix[(u64)(size + side) * stride + column] : 0.0;
}

// x of the block at `at` for each of `sides` right sides, y of the rows before it. y[side][row] and x[side][row], `stride` apart.
extern "C" __global__ void __launch_bounds__(FACTOR_THREADS) back_block(const double *matrix, u32 stride, u32 at, const double *inverses,
                                                                        u32 sides, double *y, double *x) {
    __shared__ double solved[FACTOR];
    const double *inverse = inverses + (u64)(at / FACTOR) * FACTOR * FACTOR;
    u32 thread = threadIdx.x, row = thread / 4, part = thread % 4, column = blockIdx.x * FACTOR_THREADS + thread;
    for (u32 side = 0; side < sides; side++) {
        double sum = 0.0;
        for (u32 i = part; i < FACTOR; i += 4) sum += inverse[i * FACTOR + row] * y[(u64)side * stride + at + i];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        __syncthreads();
        if (part == 0) {
            solved[row] = sum;
            if (blockIdx.x == 0) x[(u64)side * stride + at + row] = sum;
        }
        __syncthreads();
        if (column < at) {
            double owed = 0.0;
#pragma unroll 8
            for (u32 i = 0; i < FACTOR; i++) owed += matrix[(u64)(at + i) * stride + column] * solved[i];
            y[(u64)side * stride + column] -= owed;
        }
    }
}
#endif
