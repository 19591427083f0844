// Every kernel against a plain reference, on the emulated card. Ends with the number of checks, or says what is wrong.

#include "cuda.h"
#include "kernels.inc"

#include <algorithm>
#include <random>

static int checks = 0, failures = 0;
static void check(bool good, const char *what, double found = 0, double wanted = 0) {
    checks++;
    if (!good && failures++ < 30) printf("wrong: %s: %.9g, not %.9g\n", what, found, wanted);
}
static std::mt19937_64 engine(7);
static double normal() { return std::normal_distribution<double>()(engine); }
static double uniform() { return std::uniform_real_distribution<double>()(engine); }
static u32 blocks(u64 items, u32 each) { return (u32)((items + each - 1) / each); }
using emulate::launch;

template <typename T>
struct Aligned {  // cudaMalloc aligns to 256 bytes, so does this
    std::vector<T> store;
    T *at;
    size_t size;
    explicit Aligned(size_t n, T value = T()) : store(n + 256 / sizeof(T) + 1, value), size(n) {
        at = (T *)(((uintptr_t)store.data() + 255) & ~(uintptr_t)255);
    }
    T &operator[](size_t i) { return at[i]; }
    operator T *() { return at; }
};

static double value(const Formula &f, int argument, const double *x, const double *z, u32 d) {
    double arg = 0, nx = 0, nz = 0;
    for (u32 k = 0; k < d; k++) {
        double diff = x[k] - z[k];
        arg += argument == PRODUCT ? x[k] * z[k] : argument == SQUARED ? diff * diff : fabs(diff);
        nx += x[k] * x[k], nz += z[k] * z[k];
    }
    double t = f.factor * arg + f.norm_factor * (nx + nz) + f.shift;
    switch (f.kind) {
    case EXPONENTIAL: return exp2(fmin(t, 0));
    case POWER: return pow(t, f.degree);
    case TANGENT: return tanh(t);
    case INVERSE_ROOT: return 1 / sqrt(t);
    case TRUNCATED: return pow(fmax(t, 0), f.degree);
    default: return t;
    }
}

struct Table {
    u32 n, d, width;
    Aligned<double> x, norms;
    Aligned<Half> high, low;
    Aligned<float> norms32;
    Table(u32 n, u32 d, u32 width)
        : n(n), d(d), width(width), x((size_t)n * d), norms(n), high((size_t)n * width, 0xffff), low((size_t)n * width, 0xffff), norms32(n) {
        for (size_t i = 0; i < (size_t)n * d; i++) x[i] = normal() * (1 + i % d % 3) + (double)(i % d % 5);
        Aligned<double> partial(blocks(n, 16) * d), means(d);
        Aligned<u64> largest(1, 0);
        launch(blocks(n, 16), 1, 64, 0, [&] { column_sums(x, n, d, 16, partial); });
        launch(blocks(d, 64), 1, 64, 0, [&] { column_means(partial, blocks(n, 16), n, d, means); });
        launch(3, 1, 64, 0, [&] { center(x, (u64)n * d, d, means, largest); });
        double most = 0, sum = 0;
        for (size_t i = 0; i < (size_t)n * d; i++) most = fmax(most, fabs(x[i])), sum += i % d == 1 ? x[i] : 0;
        check(__longlong_as_double(largest[0]) == most, "largest value", __longlong_as_double(largest[0]), most);
        check(fabs(sum) < 1e-9, "centered column", sum);
        launch(blocks(n * 32, 128), 1, 128, 0, [&] { split_rows(x, n, d, width, 16.0, high, low, norms, norms32); });
        for (u32 r = 0; r < n; r += 7) {
            double norm = 0;
            for (u32 k = 0; k < d; k++) norm += x[r * d + k] * x[r * d + k];
            check(fabs(norms[r] - norm) < 1e-12 * norm, "norm", norms[r], norm);
            check(fabs(norms32[r] - norm) < 3e-7 * norm, "norm of halves", norms32[r], norm);
        }
    }
};

static void tensor(u32 n, u32 d, u32 width, u32 m, u32 splits, bool wide, bool group, Formula f, double tolerance) {
    Table table(n, d, width);
    u32 tile_columns = wide ? 128 : 64, tiles = blocks(m, tile_columns), padded = tiles * tile_columns;
    Aligned<u32> ids(m);
    Aligned<double> weights(m);
    for (u32 k = 0; k < m; k++) ids[k] = (k * 7 + 3) % n, weights[k] = normal();
    Aligned<Half> high((size_t)padded * width, 0xffff), low((size_t)padded * width, 0xffff);
    Aligned<float> norms(padded, NAN), weights32(padded, NAN);
    launch(blocks((u64)padded * width / 8, 128), 1, 128, 0,
           [&] { gather_halves(ids, m, padded, width, table.high, table.low, table.norms32, weights, high, low, norms, weights32); });
    Aligned<double> sums((size_t)splits * n, NAN);
    Formula scaled = f;
    scaled.factor /= 16.0 * 16.0;
    if (group) {
        launch(blocks(n, GROUP_TILE), splits, GROUP_THREADS, GROUP_STAGES * sizeof(GroupStage) + 1024, [&] {
            (f.kind == EXPONENTIAL ? weigh_group_exponential : weigh_group)(table.high, table.low, table.norms32, n, high, low, norms,
                                                                            weights32, tiles, width, scaled, sums);
        });
    } else if (wide) {
        launch(blocks(n, WIDE), splits, WIDE_THREADS, 3 * sizeof(WideStage), [&] {
            (f.kind == EXPONENTIAL ? weigh_wide_exponential : weigh_wide)(table.high, table.low, table.norms32, n, high, low, norms,
                                                                          weights32, tiles, width, scaled, sums);
        });
    } else {
        auto run = [&](auto kernel, size_t stage) {
            launch(blocks(n, NARROW_ROWS), splits, NARROW_THREADS, 2 * stage,
                   [&] { kernel(table.high, table.low, table.norms32, n, high, low, norms, weights32, tiles, scaled, sums); });
        };
        if (width == 16) run(weigh_narrow_1, sizeof(NarrowStage<1>));
        if (width == 32) run(weigh_narrow_2, sizeof(NarrowStage<2>));
        if (width == 48) run(weigh_narrow_3, sizeof(NarrowStage<3>));
        if (width == 64) run(weigh_narrow_4, sizeof(NarrowStage<4>));
        if (width == 96) run(weigh_narrow_6, sizeof(NarrowStage<6>));
        if (width == 128) run(weigh_narrow_8, sizeof(NarrowStage<8>));
    }
    for (u32 r = 0; r < n; r += r % 16 == 15 ? 9 : 1) {
        double wanted = 0, size = 0, found = 0;
        for (u32 k = 0; k < m; k++) {
            double v = weights[k] * value(f, PRODUCT, &table.x[r * d], &table.x[ids[k] * d], d);
            wanted += v, size += fabs(v);
        }
        for (u32 s = 0; s < splits; s++) found += sums[s * n + r];
        check(fabs(found - wanted) < tolerance * (size + 1e-3), group ? "sums by groups" : wide ? "wide sums" : "narrow sums", found, wanted);
    }
}

template <typename T, typename K>
static void plain(u32 n, u32 d, u32 m, u32 splits, int argument, Formula f, K kernel, bool store, double tolerance) {
    Table table(n, d, (d + 15) / 16 * 16);
    Aligned<T> rows((size_t)n * d), columns((size_t)m * d), column_norms(m);
    Aligned<u32> ids(m), row_ids(n / 2);
    Aligned<double> weights(m), sums((size_t)splits * n, NAN);
    Aligned<float> out((size_t)n * (m + 5), NAN);
    for (size_t i = 0; i < (size_t)n * d; i++) rows[i] = (T)table.x[i];
    for (u32 k = 0; k < m; k++) ids[k] = (k * 5 + 1) % n, weights[k] = normal();
    for (u32 k = 0; k < n / 2; k++) row_ids[k] = n - 1 - 2 * k;
    launch(blocks((u64)m * d, 128), 1, 128, 0, [&] {
        if constexpr (sizeof(T) == 8) gather_exact(ids, m, m, d, d, table.x, table.norms, nullptr, columns, column_norms, nullptr);
        else gather_single(ids, m, d, table.x, table.norms, columns, column_norms);
    });
    u32 count = n / 2;
    launch(blocks(count, TILE), splits, 256, 0, [&] {
        kernel(rows, row_ids, table.norms, count, columns, column_norms, weights, m, d, f, sums, out, m + 5);
    });
    for (u32 r = 0; r < count; r += 5) {
        double wanted = 0, size = 0, found = 0;
        for (u32 k = 0; k < m; k++) {
            double v = value(f, argument, &table.x[row_ids[r] * d], &table.x[ids[k] * d], d);
            if (store) check(fabs(out[r * (m + 5) + k] - v) < tolerance * (1 + fabs(v)), "stored value", out[r * (m + 5) + k], v);
            wanted += weights[k] * v, size += fabs(weights[k] * v);
        }
        for (u32 s = 0; s < splits && !store; s++) found += sums[s * count + r];
        if (!store) check(fabs(found - wanted) < tolerance * (size + 1e-3), "tile sums", found, wanted);
    }
}

// Stored values, of a rectangle and of a symmetric matrix, and sums of them for several outputs.
static void stored(u32 n, u32 d, u32 m, u32 outputs, bool group, Formula f) {
    u32 width = (d + 31) / 32 * 32, stride = m + 3;
    Table table(n, d, width);
    Formula scaled = f;
    scaled.factor /= 16.0 * 16.0;
    Aligned<float> out((size_t)n * stride, NAN), whole((size_t)n * n, NAN);
    auto kernel = group ? (f.kind == EXPONENTIAL ? store_group_exponential : store_group)
                        : (f.kind == EXPONENTIAL ? store_wide_exponential : store_wide);
    size_t bytes = group ? GROUP_STAGES * sizeof(GroupStage) + 1024 : 3 * sizeof(WideStage);
    launch(blocks(n, WIDE), 1, WIDE_THREADS, bytes, [&] {
        kernel(table.high, table.low, table.norms32, n, table.high, table.low, table.norms32, m, width, scaled, out, stride, 0);
    });
    launch(blocks(n, WIDE), 2, WIDE_THREADS, bytes, [&] {
        kernel(table.high, table.low, table.norms32, n, table.high, table.low, table.norms32, n, width, scaled, whole, n, 1);
    });
    for (u32 r = 0; r < n; r++)
        for (u32 c = 0; c < n; c += 1 + c % 4) {
            double wanted = value(f, PRODUCT, &table.x[r * d], &table.x[c * d], d);
            check(fabs(whole[r * n + c] - wanted) < 1e-4 * (1 + fabs(wanted)), "symmetric value", whole[r * n + c], wanted);
            if (c < m) check(out[r * stride + c] == whole[r * n + c] || c > r || fabs(out[r * stride + c] - wanted) < 1e-4 * (1 + fabs(wanted)), "stored value", out[r * stride + c], wanted);
        }
    for (u32 r = 0; r < n; r++) check(std::isnan(out[r * stride + m]), "past the columns", out[r * stride + m]);
    Aligned<double> weights((size_t)outputs * m), sums((size_t)outputs * n, NAN);
    for (u32 k = 0; k < outputs * m; k++) weights[k] = normal();
    launch(blocks(n, 32), blocks(outputs, 4), 256, 0, [&] { weigh_stored(out, stride, n, m, weights, outputs, sums); });
    for (u32 o = 0; o < outputs; o++)
        for (u32 r = 0; r < n; r++) {
            double wanted = 0;
            for (u32 c = 0; c < m; c++) wanted += weights[o * m + c] * (double)out[r * stride + c];
            check(fabs(sums[o * n + r] - wanted) < 1e-10 * (1 + m), "sums of stored values", sums[o * n + r], wanted);
        }
    if (!group) return;
    // The same without storing them, from packed columns, in parts.
    u32 tiles = blocks(m, GROUP_TILE), padded = tiles * GROUP_TILE, splits = std::min(2u, tiles);
    Aligned<Half> high((size_t)padded * width, 0), low((size_t)padded * width, 0);
    Aligned<float> norms(padded, 0), single((size_t)outputs * padded, 0);
    memcpy(high.at, table.high, (size_t)m * width * 2), memcpy(low.at, table.low, (size_t)m * width * 2);
    memcpy(norms.at, table.norms32, (size_t)m * 4);
    for (u32 o = 0; o < outputs; o++)
        for (u32 c = 0; c < m; c++) single[(size_t)o * padded + c] = (float)weights[o * m + c];
    Aligned<double> several((size_t)splits * outputs * n, NAN);
    auto sum = f.kind == EXPONENTIAL ? weigh_several_exponential : weigh_several;
    launch(blocks(n, GROUP_TILE), splits, GROUP_THREADS, bytes + outputs * GROUP_TILE * 8, [&] {
        sum(table.high, table.low, table.norms32, n, high, low, norms, single, tiles, width, scaled, several, outputs);
    });
    launch(blocks(outputs * n, 64), 1, 64, 0, [&] { add_parts(several, splits, (u64)outputs * n); });
    for (u32 o = 0; o < outputs; o++)
        for (u32 r = 0; r < n; r++) {
            double found = several[(size_t)o * n + r], size = 1e-3;
            for (u32 c = 0; c < m; c++) size += fabs(weights[o * m + c] * (double)out[r * stride + c]);
            check(fabs(found - sums[o * n + r]) < 1e-6 * size, "several sums at once", found, sums[o * n + r]);
        }
}

// Double precision on tensor cores: sums, and a matrix.
static void exact(u32 n, u32 d, u32 m, u32 splits, Formula f) {
    Table table(n, d, (d + 15) / 16 * 16);
    u32 width = (d + 7) / 8 * 8, tiles = blocks(m, 64), count = n / 2, padded = blocks(count, 64) * 64;
    Aligned<u32> ids(m), row_ids(count);
    Aligned<double> weights(m), columns((size_t)tiles * 64 * width, NAN), norms(tiles * 64, NAN), to_weights(tiles * 64, NAN);
    Aligned<double> rows((size_t)padded * width, NAN), row_norms(padded, NAN), sums((size_t)splits * count, NAN);
    for (u32 k = 0; k < m; k++) ids[k] = (k * 5 + 1) % n, weights[k] = normal();
    for (u32 k = 0; k < count; k++) row_ids[k] = n - 1 - 2 * k;
    launch(blocks((u64)tiles * 64 * width, 128), 1, 128, 0,
           [&] { gather_exact(ids, m, tiles * 64, d, width, table.x, table.norms, weights, columns, norms, to_weights); });
    launch(blocks((u64)padded * width, 128), 1, 128, 0,
           [&] { gather_exact(row_ids, count, padded, d, width, table.x, table.norms, nullptr, rows, row_norms, nullptr); });
    bool exponent = f.kind == EXPONENTIAL;
    launch(blocks(count, 64), splits, 128, 3 * sizeof(ValueTile::Stage), [&] {
        (exponent ? weigh_exact_exponential : weigh_exact_other)(rows, row_norms, count, columns, norms, to_weights, tiles, width, f, sums);
    });
    for (u32 r = 0; r < count; r += 3) {
        double wanted = 0, size = 0, found = 0;
        for (u32 k = 0; k < m; k++) {
            double v = weights[k] * value(f, PRODUCT, &table.x[row_ids[r] * d], &table.x[ids[k] * d], d);
            wanted += v, size += fabs(v);
        }
        for (u32 s = 0; s < splits; s++) found += sums[s * count + r];
        check(fabs(found - wanted) < 2e-14 * (size + 1e-3), "exact sums", found, wanted);
    }
    Aligned<double> matrix((size_t)padded * padded, NAN);
    launch(padded / 64, padded / 64, 128, 3 * sizeof(ValueTile::Stage), [&] {
        (exponent ? store_exact_exponential : store_exact_other)(rows, row_norms, count, width, f, 0.25, 7.0, matrix, padded);
    });
    for (u32 r = 0; r < padded; r++)
        for (u32 c = 0; c <= r; c += 1 + c % 3) {
            double wanted = r == c ? 7.0 : 0.0;
            if (r < count) wanted = value(f, PRODUCT, &table.x[row_ids[r] * d], &table.x[row_ids[c] * d], d) + (r == c ? 0.25 : 0.0);
            check(fabs(matrix[(size_t)r * padded + c] - wanted) < 1e-13 * (1 + fabs(wanted)), "exact matrix", matrix[r * padded + c], wanted);
        }
    // Rows beside the columns, the last of which are padding.
    Aligned<double> beside((size_t)count * tiles * 64, NAN);
    launch(tiles, padded / 64, 128, 3 * sizeof(ValueTile::Stage), [&] {
        (exponent ? store_beside_exponential : store_beside_other)(rows, row_norms, count, columns, norms, m, width, f, beside, tiles * 64);
    });
    for (u32 r = 0; r < count; r += 2)
        for (u32 c = 0; c < tiles * 64; c++) {
            double wanted = c < m ? value(f, PRODUCT, &table.x[row_ids[r] * d], &table.x[ids[c] * d], d) : 0.0, found = beside[(size_t)r * tiles * 64 + c];
            check(fabs(found - wanted) < 1e-13 * (1 + fabs(wanted)), "rows beside", found, wanted);
        }
}

typedef ExactTile<8, 4, 2, 4, 1> LargeTile;

// The factor of a matrix, rows below it included, as the library makes it: of all rows, or only of those from `first` on, where nothing happens
// to the first ones before the places `begins`.
static void factor_rows(double *matrix, u32 stride, u32 first, u32 last, u32 panel, double *inverses, u32 *failed, u32 from = 0, u32 to = 0,
                        std::vector<u32> begins = {}) {
    auto top_of = [&](u32 end) { return first ? first + (u32)std::count_if(begins.begin(), begins.end(), [&](u32 place) { return place >= end; }) : end; };
    auto subtract_right = [&](u32 start, u32 end, u32 right) {
        u32 top = top_of(end);
        if (end < right && last > top)
            launch(8 * ((right - end) / 128), blocks(blocks(last - top, 128), 8), 256, 3 * sizeof(LargeTile::Stage),
                   [&] { subtract_128(matrix, stride, last, top, end, start, end - start); });
    };
    for (u32 outer = from; outer < (to ? to : stride); outer += 2 * panel) {
        u32 outer_end = std::min(outer + 2 * panel, to ? to : stride);
        for (u32 start = outer; start < outer_end; start += panel) {
            u32 end = std::min(start + panel, outer_end);
            for (u32 at = start; at < end; at += 64) {
                u32 top = first ? top_of(end) : at;
                if (at > start && last > top)
                    launch(8, blocks(blocks(last - top, 64), 8), 128, 3 * sizeof(ValueTile::Stage),
                           [&] { subtract_64(matrix, stride, last, top, at, start, at - start); });
                if (!first) launch(1, 1, FACTOR_THREADS, 2 * FACTOR * FACTOR_STRIDE * 8, [&] { factor_block(matrix, stride, at, 1e-13, inverses, failed); });
                top = first ? top_of(end) : at + 64;
                if (last > top) launch(blocks(last - top, 64), 1, 128, 3 * sizeof(ValueTile::Stage), [&] { solve_block(matrix, stride, at, top, inverses); });
            }
            subtract_right(start, end, outer_end);
        }
        subtract_right(outer, outer_end, stride);
    }
}
static void back_rows(double *matrix, u32 stride, double *inverses, u32 sides, double *y, double *x) {
    for (u32 at = stride; at > 0; at -= 64)
        launch(std::max(1u, blocks(at - 64, FACTOR_THREADS)), 1, FACTOR_THREADS, 0,
               [&] { back_block(matrix, stride, at - 64, inverses, sides, y, x); });
}

// A positive definite system with `sides` right sides; then once more with every `held`-th variable held.
static void factor(u32 size, u32 sides, u32 panel, double ridge, bool bad, u32 held) {
    u32 stride = blocks(size + sides, 128) * 128, spare = 384;
    Aligned<double> matrix((size_t)(stride + spare) * stride), inverses((size_t)stride * 64, NAN), y((size_t)sides * stride, NAN), x((size_t)sides * stride, NAN);
    Aligned<u32> failed(1, 0);
    std::vector<double> points(size * 2), whole((size_t)size * size), right((size_t)sides * size);
    for (double &v : points) v = normal();
    for (double &v : right) v = normal();
    for (u32 i = 0; i < stride; i++)
        for (u32 j = 0; j < stride; j++) {
            double v = i == j ? 1e30 : 0.0;
            if (i < size && j < size) {
                double a = points[2 * i] - points[2 * j], b = points[2 * i + 1] - points[2 * j + 1];
                v = exp(-4 * (a * a + b * b)) + (i == j ? ridge : 0.0) - (bad && i == j && i > size / 2 ? 3.0 : 0.0);
                whole[(size_t)i * size + j] = v;
            }
            if (i >= size && i < size + sides && j < size) v = right[(size_t)(i - size) * size + j];
            matrix[(size_t)i * stride + j] = j <= i ? v : NAN;
        }
    factor_rows(matrix, stride, 0, stride, panel, inverses, failed);
    check(failed[0] == bad, "pivots", failed[0], bad);
    if (bad) return;
    launch(blocks(stride, 256), 1, 256, 0, [&] { take_sides(matrix, stride, size, sides, y); });
    back_rows(matrix, stride, inverses, sides, y, x);
    auto residuals = [&](auto skip, const char *what) {
        for (u32 side = 0; side < sides; side++)
            for (u32 i = 0; i < size; i++) {
                double sum = 0, most = 1;
                for (u32 j = 0; j < size; j++) sum += whole[(size_t)i * size + j] * x[(size_t)side * stride + j], most = fmax(most, fabs(x[(size_t)side * stride + j]));
                if (skip(i)) check(fabs(x[(size_t)side * stride + i]) < 1e-10 * most, "a variable that is held", x[(size_t)side * stride + i], 0);
                else check(fabs(sum - right[(size_t)side * size + i]) < 1e-11 * most, what, sum, right[(size_t)side * size + i]);
            }
    };
    residuals([](u32) { return false; }, "solution of a system");
    if (!held) return;
    // In two goes, as more and more are held.
    std::vector<u32> all;
    for (u32 i = 1; i < size; i += held) all.push_back(i);
    Aligned<u32> numbers(all.size());
    // The last of a go come first: their rows begin last.
    std::reverse(all.begin() + all.size() / 2, all.end());
    std::reverse(all.begin(), all.begin() + all.size() / 2);
    for (size_t k = 0; k < all.size(); k++) numbers[k] = all[k];
    u32 before = 0;
    for (u32 count : {(u32)all.size() / 2, (u32)all.size()}) {
        launch(blocks((u64)(count - before) * stride, 256), 1, 256, 0, [&] { unit_rows(matrix, stride, stride + before, numbers + before, count - before); });
        for (u32 side = 0; side < sides; side++)
            for (u32 c = 0; c < stride; c++) matrix[(size_t)(stride + count + side) * stride + c] = c < size ? right[(size_t)side * size + c] : 0.0;
        factor_rows(matrix, stride, stride + before, stride + count + sides, panel, inverses, failed, 0, 0,
                    std::vector<u32>(all.begin() + before, all.begin() + count));
        u32 small = blocks(count + sides, 128) * 128;
        Aligned<double> gram((size_t)small * small, NAN), small_inverses((size_t)small * 64, NAN), rhs((size_t)sides * small), multipliers((size_t)sides * small);
        launch(small / 128, small / 128, 256, 3 * sizeof(LargeTile::Stage), [&] { gram_rows(matrix, stride, stride, count, sides, 0, 1e30, gram, small); });
        factor_rows(gram, small, 0, small, panel, small_inverses, failed);
        launch(blocks(small, 256), 1, 256, 0, [&] { take_sides(gram, small, count, sides, rhs); });
        back_rows(gram, small, small_inverses, sides, rhs, multipliers);
        launch(blocks(stride, 256), 1, 256, 0, [&] { combine_rows(matrix, stride, size, stride, count, sides, multipliers, small, y); });
        back_rows(matrix, stride, inverses, sides, y, x);
        residuals([&](u32 i) { return i % held == 1 % held && i / held < count; }, "solution with some held");
        before = count;
    }
}

// A system that differs from the factored one: some variables are held, others joined.
static void bordered(u32 size, u32 joined, u32 held, u32 sides, u32 panel) {
    u32 all = size + joined, stride = blocks(size + sides, 128) * 128, spare = 512, added = joined + held;
    Aligned<double> matrix((size_t)(stride + spare) * stride, NAN), inverses((size_t)stride * 64, NAN), y((size_t)sides * stride, NAN), x((size_t)sides * stride, NAN);
    Aligned<u32> failed(1, 0), numbers(std::max(held, 1u));
    std::vector<double> points(all * 2), right((size_t)sides * all);
    for (double &v : points) v = normal();
    for (double &v : right) v = normal();
    auto value = [&](u32 i, u32 j) {
        double a = points[2 * i] - points[2 * j], b = points[2 * i + 1] - points[2 * j + 1];
        return exp(-4 * (a * a + b * b)) + (i == j ? 0.01 : 0.0);
    };
    for (u32 i = 0; i < stride; i++)
        for (u32 j = 0; j <= i; j++) matrix[(size_t)i * stride + j] = i < size ? value(i, j) : (i == j ? 1e30 : 0.0);
    factor_rows(matrix, stride, 0, stride, panel, inverses, failed);
    for (u32 k = 0; k < held; k++) numbers[k] = 1 + k * (size / (held + 1));
    auto is_held = [&](u32 i) { return std::find(numbers.at, numbers.at + held, i) != numbers.at + held; };
    // Rows that joined first, then those held.
    for (u32 k = 0; k < joined; k++)
        for (u32 c = 0; c < stride; c++) matrix[(size_t)(stride + k) * stride + c] = c < size ? value(size + k, c) : 0.0;
    if (held) launch(blocks((u64)held * stride, 256), 1, 256, 0, [&] { unit_rows(matrix, stride, stride + joined, numbers, held); });
    for (u32 side = 0; side < sides; side++)
        for (u32 c = 0; c < stride; c++)
            matrix[(size_t)(stride + added + side) * stride + c] = c < size && !is_held(c) ? right[(size_t)side * all + c] : 0.0;
    factor_rows(matrix, stride, stride, stride + added + sides, panel, inverses, failed);
    u32 gram_stride = blocks(added + sides, 128) * 128, first_held = blocks(joined, 128) * 128, end = first_held + held;
    u32 small = blocks(end + sides, 128) * 128, kernel_stride = std::max(1u, joined);
    Aligned<double> gram((size_t)gram_stride * gram_stride, NAN), system((size_t)small * small, NAN), small_inverses((size_t)small * 64, NAN);
    Aligned<double> kernel((size_t)kernel_stride * kernel_stride), side_values((size_t)sides * kernel_stride), rhs((size_t)sides * small), solved((size_t)sides * small);
    Aligned<double> multipliers((size_t)sides * added, 0.0);
    Aligned<u32> order(end);
    // In two goes, as more and more are added.
    u32 tiles = gram_stride / 128;
    for (u32 tile : {0u, tiles - 1})
        launch(tiles, tile ? 1 : std::max(1u, tiles - 1), 256, 3 * sizeof(LargeTile::Stage),
               [&] { gram_rows(matrix, stride, stride, added, sides, tile, 1e30, gram, gram_stride); });
    // In another order than they were added in.
    for (u32 k = 0; k < joined; k++) order[k] = joined - 1 - k;
    for (u32 k = 0; k < held; k++) order[first_held + k] = joined + k;
    for (u32 i = 0; i < joined; i++) {
        for (u32 j = 0; j <= i; j++) kernel[(size_t)i * kernel_stride + j] = value(size + order[i], size + order[j]);
        for (u32 side = 0; side < sides; side++) side_values[(size_t)side * joined + i] = right[(size_t)side * all + size + order[i]];
    }
    launch(blocks(small, 256), small, 256, 0,
           [&] { border(gram, gram_stride, added, order, joined, first_held, held, sides, kernel, kernel_stride, side_values, 1e30, system, small); });
    if (first_held) factor_rows(system, small, 0, small, panel, small_inverses, failed, 0, first_held);
    if (held) launch(blocks(held, 256), held, 256, 0, [&] { negate(system, small, first_held, first_held, held); });
    factor_rows(system, small, 0, small, panel, small_inverses, failed, first_held, small);
    check(failed[0] == 0, "pivots of a small system", failed[0], 0);
    if (held) launch(blocks(held, 256), sides, 256, 0, [&] { negate(system, small, end, first_held, held); });
    launch(blocks(small, 256), 1, 256, 0, [&] { take_sides(system, small, end, sides, rhs); });
    back_rows(system, small, small_inverses, sides, rhs, solved);
    for (u32 side = 0; side < sides; side++)
        for (u32 k = 0; k < end; k++)
            if (k < joined || k >= first_held) multipliers[(size_t)side * added + order[k]] = solved[(size_t)side * small + k];
    launch(blocks(stride, 256), 1, 256, 0, [&] { combine_rows(matrix, stride, size, stride, added, sides, multipliers, added, y); });
    back_rows(matrix, stride, inverses, sides, y, x);
    for (u32 side = 0; side < sides; side++) {
        auto at = [&](u32 i) { return i < size ? x[(size_t)side * stride + i] : multipliers[(size_t)side * added + i - size]; };
        for (u32 i = 0; i < all; i++) {
            double sum = 0, most = 1;
            for (u32 j = 0; j < all; j++) sum += value(i, j) * at(j), most = fmax(most, fabs(at(j)));
            if (i < size && is_held(i)) check(fabs(at(i)) < 1e-10 * most, "held beside", at(i), 0);
            else check(fabs(sum - right[(size_t)side * all + i]) < 1e-10 * most, "solution beside a factor", sum, right[(size_t)side * all + i]);
        }
    }
}

// A random problem of a set; the violation that is left is computed from scratch.
// `tangent`: of a kernel that is not positive semi-definite, with diagonals of both signs.
static void local_problem(u32 q, bool two, bool fours, double kink, double c, bool tangent = false) {
    const u32 threads = 256, stride = q <= 1024 ? 1024 : 2048, d = 5;
    Aligned<float> matrix((size_t)q * stride, NAN);
    std::vector<double> x(q * d);
    for (double &v : x) v = normal();
    for (u32 i = 0; i < q; i++)
        for (u32 j = 0; j < q; j++) {
            double dist = 0, product = 0;
            for (u32 k = 0; k < d; k++) {
                dist += (x[i * d + k] - x[j * d + k]) * (x[i * d + k] - x[j * d + k]);
                product += x[i * d + k] * x[j * d + k];
            }
            matrix[(size_t)i * stride + j] = (float)(tangent ? tanh(0.4 * product - 1.0) : exp(-0.3 * dist));
        }
    Aligned<double> g(q), start(q), lower(q), upper(q), out(q, NAN);
    Aligned<u8> second(q);
    Aligned<u64> counters(2, 0);
    std::vector<double> linear(q);
    for (u32 i = 0; i < q; i++) {
        linear[i] = kink > 0 ? sin(x[i * d]) + 0.3 * normal() : (uniform() < 0.5 ? 1 : -1);
        lower[i] = kink > 0 || linear[i] > 0 ? -c : 0;
        upper[i] = kink > 0 || linear[i] < 0 ? c : 0;
        second[i] = two && uniform() < 0.4;
        start[i] = uniform() < 0.3 ? lower[i] * 0.5 : 0.0;
    }
    auto gradient_of = [&](double *b, u32 i) {
        double v = linear[i];
        for (u32 j = 0; j < q; j++) v += matrix[(size_t)i * stride + j] * b[j];
        return v;
    };
    auto violation = [&](double *b) {
        double gap = -INFINITY;
        for (int group = 0; group < (two ? 2 : 1); group++) {
            double least = INFINITY, most = -INFINITY;
            for (u32 i = 0; i < q; i++)
                if (!two || second[i] == group) {
                    double v = gradient_of(b, i);
                    if (b[i] < upper[i]) least = fmin(least, b[i] >= 0 ? v + kink : v - kink);
                    if (b[i] > lower[i]) most = fmax(most, b[i] > 0 ? v + kink : v - kink);
                }
            gap = fmax(gap, most - least);
        }
        return gap;
    };
    auto objective = [&](double *b) {
        double sum = 0;
        for (u32 i = 0; i < q; i++) sum += 0.5 * b[i] * (gradient_of(b, i) + linear[i]) + kink * fabs(b[i]);
        return sum;
    };
    for (u32 i = 0; i < q; i++) g[i] = gradient_of(start, i);
    double before = violation(start), stop = 0.1;
    auto run = [&](auto kernel, u64 most) {
        launch(1, 1, threads, stride * 24, [&] {
            kernel(matrix, q, stride, g, start, lower, upper, second, kink, stop, most, out, counters);
        });
    };
    auto solve = [&](u64 most) {
        if (two) stride == 1024 ? run(local_two_1024_by_2, most) : run(local_two_2048_by_2, most);
        else if (fours) stride == 1024 ? run(local_one_1024_by_4, most) : run(local_one_2048_by_4, most);
        else stride == 1024 ? run(local_one_1024_by_2, most) : run(local_one_2048_by_2, most);
    };
    solve(100000);
    double sums[2] = {0, 0};
    for (u32 i = 0; i < q; i++) {
        sums[two && second[i]] += out[i] - start[i];
        check(out[i] >= lower[i] && out[i] <= upper[i], "bounds of a set", out[i], upper[i]);
    }
    check(fabs(sums[0]) < 1e-9 && fabs(sums[1]) < 1e-9, "sums of a set", sums[0], 0);
    check(before > 2 * stop && violation(out) <= stop * 1.01, "violation of a set", violation(out), stop);
    check(fabs(__longlong_as_double(counters[1]) - violation(out)) < 1e-3, "violation told", __longlong_as_double(counters[1]), violation(out));
    check(objective(out) < objective(start), "objective of a set", objective(out), objective(start));
    check(counters[0] > 10, "steps", (double)counters[0]);
    solve(5);
    check(counters[0] == 5, "limit of steps", (double)counters[0], 5);
}

// Two pairs of three classes on one stored matrix.
static void pair_problems(u32 each, double c) {
    const u32 d = 4, n = 3 * each, stride = n + 5;
    Aligned<float> matrix((size_t)n * stride, NAN);
    std::vector<double> x(n * d);
    for (u32 i = 0; i < n * d; i++) x[i] = normal() + 0.4 * (i / d / each);
    for (u32 i = 0; i < n; i++)
        for (u32 j = 0; j < n; j++) {
            double dist = 0;
            for (u32 k = 0; k < d; k++) dist += (x[i * d + k] - x[j * d + k]) * (x[i * d + k] - x[j * d + k]);
            matrix[(size_t)i * stride + j] = (float)exp(-0.3 * dist);
        }
    Aligned<PairProblem> problems(2);
    problems[0] = {{0, each}, {each, each}, 0};
    problems[1] = {{0, 2 * each}, {each, each}, 2 * each};
    Aligned<double> lower(4 * each), upper(4 * each), point(4 * each), gradient(4 * each);
    Aligned<u64> counters(4);
    for (u32 k = 0; k < 4 * each; k++) {
        bool plus = k % (2 * each) < each;
        gradient[k] = plus ? -1 : 1, lower[k] = plus ? 0 : -c, upper[k] = plus ? c : 0, point[k] = 0;
    }
    auto kernel = 2 * each <= 4096 ? solve_pairs_4 : 2 * each <= 8192 ? solve_pairs_8 : solve_pairs_12;
    auto run = [&](u32 most) {
        launch(2, 1, PAIR_THREADS, 2 * each * 8, [&] { kernel(matrix, stride, 1.0, problems, lower, upper, 0.05, most, point, gradient, counters); });
    };
    run(7);
    check(counters[0] == 7 && counters[2] == 7, "limit of steps of a pair", counters[0], 7);
    run(100000);
    for (int p = 0; p < 2; p++) {
        double *b = point + 2 * each * p, *g = gradient + 2 * each * p, sum = 0, least = INFINITY, most = -INFINITY;
        auto row = [&](u32 k) { return k < each ? k : k - each + problems[p].first[1]; };
        for (u32 k = 0; k < 2 * each; k++) {
            double v = k < each ? -1 : 1;
            for (u32 m = 0; m < 2 * each; m++) v += b[m] * matrix[(size_t)row(k) * stride + row(m)];
            sum += b[k];
            check(fabs(v - g[k]) < 1e-3, "gradient of a pair", g[k], v);
            u32 at = 2 * each * p + k;
            check(b[k] >= lower[at] && b[k] <= upper[at], "bounds of a pair", b[k], upper[at]);
            if (b[k] < upper[at]) least = fmin(least, v);
            if (b[k] > lower[at]) most = fmax(most, v);
        }
        check(fabs(sum) < 1e-9 && most - least < 0.052, "violation of a pair", most - least, 0.05);
        check(fabs(__longlong_as_double(counters[2 * p + 1]) - (most - least)) < 2e-3, "violation told of a pair", __longlong_as_double(counters[2 * p + 1]), most - least);
    }
}

static void selection(u32 n, u32 wanted, bool groups, double kink, bool tied) {
    Aligned<double> g(n), sums(3 * n), kept_gradient(8);
    Aligned<u8> status(n), all(n), exact(n, 1), values(2);
    Aligned<u32> place(n), ids(n), kept(8), moved(2), bins(LISTS * BINS), thresholds(LISTS), totals(2 * LISTS);
    Aligned<u64> extremes(4);
    extremes[0] = extremes[1] = ~0ull;
    std::vector<double> after(n);
    for (u32 r = 0; r < n; r++) {
        ids[r] = 2 * r + 1;
        g[r] = tied ? (r % 2 ? 1.0 : -1.0) : normal();
        after[r] = g[r];
        for (int s = 0; s < 3; s++) sums[s * n + r] = tied ? 0.0 : normal(), after[r] += sums[s * n + r];
        u8 move = (u8)(1 + engine() % 3);
        status[r] = (u8)((groups && engine() % 2 ? move << 4 : move) | (engine() % 4) << 2);
    }
    Aligned<u32> place_of(2 * n + 2, 0xffffffffu);
    for (u32 r = 0; r < n; r++) place_of[ids[r]] = r;
    Aligned<u8> all_status(2 * n + 2);
    moved[0] = ids[3], moved[1] = ids[n - 1], values[0] = 3, values[1] = 1;
    launch(1, 1, 32, 0, [&] { set_status(moved, values, 2, place_of, status, all_status); });
    check(status[3] == 3 && status[n - 1] == 1 && all_status[ids[3]] == 3, "status", status[3], 3);
    launch(2, 1, SELECT_THREADS, 0, [&] { apply_sums(g, sums, 3, n, status, exact, kink, extremes); });
    for (u32 k = 0; k < 8; k++) kept[k] = ids[(k * 31 + 5) % n];
    launch(1, 1, 32, 0, [&] { mark_kept(kept, 8, place_of, status, g, kept_gradient); });
    check(kept_gradient[2] == g[67 % n], "gradient of a kept one", kept_gradient[2], g[67 % n]);
    double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
    for (u32 r = 0; r < n; r++) {
        check(fabs(g[r] - after[r]) < 1e-14 && !exact[r], "applied sums", g[r], after[r]);
        Slopes s = slopes_of(status[r], g[r], kink);
        if (s.grow) least[s.group] = fmin(least[s.group], s.up);
        if (s.fall) most[s.group] = fmax(most[s.group], s.low);
    }
    for (int group = 0; group < (groups ? 2 : 1); group++) {
        check(unordered(extremes[group]) == least[group], "least slope", unordered(extremes[group]), least[group]);
        check(unordered(extremes[2 + group]) == most[group], "largest slope", unordered(extremes[2 + group]), most[group]);
    }
    u32 room = 2 * wanted, parts = blocks(n, SELECT_ROWS);
    Aligned<u32> counts(2 * LISTS * parts);
    Aligned<Entry> entries(LISTS * room);
    launch(2, 1, SELECT_THREADS, 0, [&] { count_bins(g, status, n, kink, extremes, bins); });
    launch(1, 1, 128, 0, [&] { find_bins(bins, wanted, thresholds); });
    launch(parts, 1, SELECT_THREADS, 0, [&] { count_chosen(g, status, n, kink, extremes, thresholds, counts); });
    launch(1, 1, 256, 0, [&] { scan_counts(counts, parts, totals); });
    launch(parts, 1, SELECT_THREADS, 0,
           [&] { write_chosen(g, status, ids, n, kink, extremes, thresholds, counts, totals, room, entries); });
    for (int list = 0; list < LISTS; list++) {
        std::vector<std::pair<double, u32>> brute, told;
        for (u32 r = 0; r < n; r++) {
            Slopes s = slopes_of(status[r], g[r], kink);
            if ((status[r] & TAKEN) || s.group != (list & 1)) continue;
            if (list < 2 && s.grow && s.up < most[s.group]) brute.push_back({s.up, ids[r]});
            if (list >= 2 && s.fall && s.low > least[s.group]) brute.push_back({-s.low, ids[r]});
        }
        u32 found = std::min(totals[2 * list] + totals[2 * list + 1], room);
        for (u32 k = 0; k < found; k++) told.push_back({entries[list * room + k].slope * (list < 2 ? 1 : -1), entries[list * room + k].id});
        check(totals[2 * list] <= wanted, "better bins fit", totals[2 * list], wanted);
        std::sort(brute.begin(), brute.end()), std::sort(told.begin(), told.end());
        u32 much = std::min<u32>(wanted, (u32)brute.size());
        check(told.size() >= much, "candidates", (double)told.size(), much);
        // A crowded last bin may hide some of its members, and only those.
        bool crowded = totals[2 * list] + totals[2 * list + 1] > room;
        for (u32 k = 0; k < much && k < told.size(); k++)
            if (!crowded || k < totals[2 * list] || tied) check(told[k] == brute[k], "candidate", told[k].first, brute[k].first);
    }
    launch(1, 1, 32, 0, [&] { unmark_kept(kept, 8, place_of, status); });
    for (u32 r = 0; r < n; r++) check(!(status[r] & TAKEN), "marks", status[r]);
}

static void activity(u32 n) {
    Aligned<double> g(n), parked(n), linear(n), sums(2 * n), to_g(n);
    Aligned<u8> status(n), exact(n), flags(n), to_status(n), to_exact(n), exact_all(n, 7);
    Aligned<u32> ids(n), place(n, 0xffffffffu), places(n), out(n), support(3), totals(1);
    launch(blocks(n, 128), 1, 128, 0, [&] { count_up(ids, n); });
    launch(blocks(n, 128), 1, 128, 0, [&] { set_places(ids, n, place); });
    for (u32 r = 0; r < n; r++) g[r] = normal(), status[r] = (u8)(1 + r % 3), exact[r] = r % 5 == 0, linear[r] = normal(), parked[r] = 0.5;
    launch(blocks(n, 128), 1, 128, 0, [&] { flag_unsettled(g, status, n, 0.0, -0.5, 0.5, 0, 0, 0.1, flags); });
    for (u32 r = 0; r < n; r++) {
        bool stays = ((status[r] & 1) && g[r] <= 0.6) || ((status[r] & 2) && g[r] >= -0.6);
        check(flags[r] == stays, "unsettled", flags[r], stays);
    }
    launch(blocks(n, 128), 1, 128, 0, [&] { flag_near(g, status, n, 0.0, -0.5, 0.5, 0, 0, 0.1, 128, flags); });
    support[0] = 9, support[1] = 11, support[2] = n - 1;
    launch(1, 1, 32, 0, [&] { flag_ids(support, 3, place, flags); });
    check(flags[9] && flags[11] && flags[n - 1], "support is near", flags[9], 1);
    launch(blocks(n, 128), 1, 128, 0, [&] { unflag_exact(exact, n, flags); });
    std::vector<u32> wanted;
    for (u32 r = 0; r < n; r++) {
        bool near = ((status[r] & 1) && g[r] <= -0.4) || ((status[r] & 2) && g[r] >= 0.4) || r % 128 == 0 || r == 9 || r == 11 || r == n - 1;
        if (near && !exact[r]) wanted.push_back(r);
    }
    u32 parts = blocks(n, SELECT_ROWS);
    Aligned<u32> counts(parts);
    launch(parts, 1, SELECT_THREADS, 0, [&] { count_flags(flags, n, counts); });
    launch(1, 1, 32, 0, [&] { scan_counts(counts, parts, totals); });
    launch(parts, 1, SELECT_THREADS, 0, [&] { write_flags(flags, n, counts, places); });
    check(totals[0] == wanted.size(), "flagged", totals[0], (double)wanted.size());
    for (size_t k = 0; k < wanted.size(); k++) check(places[k] == wanted[k], "place", places[k], wanted[k]);
    u32 m = totals[0];
    launch(blocks(m, 128), 1, 128, 0, [&] { look_up(places, m, ids, out); });
    launch(blocks(m, 128), 1, 128, 0, [&] { compact_state(places, m, g, status, exact, to_g, to_status, to_exact); });
    check(out[m - 1] == places[m - 1] && to_g[m - 1] == g[places[m - 1]] && to_status[1] == status[places[1]], "compact", to_g[0], g[places[0]]);
    // Corrections.
    for (u32 k = 0; k < 2 * n; k++) sums[k] = normal();
    std::vector<double> old(g.at, g.at + n);
    Aligned<u64> largest(1);
    launch(blocks(m, 128), 1, 128, 0, [&] { correct(places, m, out, sums, 2, linear, g, exact, largest); });
    double most = 0;
    for (u32 k = 0; k < m; k++) {
        double right = sums[k] + sums[m + k] + linear[places[k]];
        check(fabs(g[places[k]] - right) < 1e-15 && exact[places[k]] == 1, "corrected", g[places[k]], right);
        most = fmax(most, fabs(right - old[places[k]]));
    }
    check(fabs(__longlong_as_double(largest[0]) - most) < 1e-14, "largest correction", __longlong_as_double(largest[0]), most);
    // Every second row was parked.
    for (u32 r = 0; r < n; r++) place[r] = r % 2 ? 0xffffffffu : r / 2;
    launch(blocks(n, 128), 1, 128, 0, [&] { bring_back(parked, exact_all, sums, 2, n, place, to_g, to_exact); });
    for (u32 r = 0; r < n; r += 3) {
        double right = r % 2 ? 0.5 + sums[r] + sums[n + r] : to_g[r / 2];
        check(fabs(parked[r] - right) < 1e-15 && exact_all[r] == (r % 2 ? 0 : to_exact[r / 2]), "brought back", parked[r], right);
    }
}

int main() {
    Formula rbf = {EXPONENTIAL, 0, 0.04, -0.02, 0.0};
    for (u32 width : {16u, 32u, 48u, 64u, 96u, 128u}) tensor(width == 64 ? 140 : 70, width - (width > 32 ? 10 : 3), width, 70, width == 64 ? 2 : 1, false, false, rbf, 3e-5);
    for (bool group : {false, true}) {
        tensor(150, 150, 160, 140, 2, true, group, rbf, 3e-5);
        tensor(150, 140, 144, 140, 1, true, group, rbf, 3e-5);
        tensor(60, 12, 16, 50, 1, true, group, rbf, 3e-5);
        tensor(60, 40, 48, 50, 1, true, group, {POWER, 3, 0.01, 0.0, 1.0}, 1e-4);
        tensor(60, 40, 64, 50, 1, true, group, {IDENTITY, 1, 1.0, 0.0, 0.0}, 1e-5);
        tensor(60, 20, 32, 50, 1, true, group, {INVERSE_ROOT, 1, -0.2, 0.1, 1.0}, 1e-4);
        stored(140, 40, 133, 6, group, rbf);
        stored(60, 20, 30, 1, group, {POWER, 2, 0.01, 0.0, 1.0});
    }
    plain<double>(150, 21, 90, 2, PRODUCT, rbf, weigh_double_product, false, 1e-13);
    plain<double>(150, 21, 90, 1, ABSOLUTE, {EXPONENTIAL, 0, -0.1, 0.0, 0.0}, weigh_double_absolute, false, 1e-13);
    plain<float>(150, 21, 90, 2, PRODUCT, {TANGENT, 0, 0.01, 0.0, 0.1}, weigh_single_product, false, 1e-5);
    plain<float>(150, 21, 90, 2, SQUARED, {EXPONENTIAL, 0, -0.02, 0.0, 0.0}, weigh_single_squared, false, 1e-5);
    plain<float>(150, 21, 90, 2, SQUARED, {TRUNCATED, 2, -0.01, 0.0, 1.0}, weigh_single_squared, false, 1e-5);
    plain<float>(150, 21, 90, 1, ABSOLUTE, {EXPONENTIAL, 0, -0.1, 0.0, 0.0}, weigh_single_absolute, false, 1e-5);
    plain<float>(150, 21, 90, 1, PRODUCT, {POWER, 2, 0.01, 0.0, 1.0}, store_single_product, true, 1e-5);
    plain<float>(150, 21, 90, 1, SQUARED, {EXPONENTIAL, 0, -0.02, 0.0, 0.0}, store_single_squared, true, 1e-5);
    plain<float>(150, 21, 90, 1, ABSOLUTE, {EXPONENTIAL, 0, -0.1, 0.0, 0.0}, store_single_absolute, true, 1e-5);
    for (double t : {0.0, 1.0, -1e-9, -0.4999, -0.5, -0.5001, -3.7, -100.3, -1019.5}) {
        double found = finish_exponential(t), wanted = exp2(fmin(t, 0.0));
        check(fabs(found - wanted) <= 4e-16 * wanted, "power of two", found, wanted);
    }
    check(finish_exponential(-1e9) < 1e-300, "small power of two", finish_exponential(-1e9), 0);
    exact(150, 21, 90, 2, rbf);
    exact(150, 54, 70, 1, {INVERSE_ROOT, 1, -0.2, 0.1, 1.0});
    exact(140, 3, 70, 1, {POWER, 2, 0.01, 0.0, 1.0});
    exact(140, 3, 70, 1, {TANGENT, 1, 0.05, 0.0, -0.3});
    exact(140, 3, 70, 1, {TRUNCATED, 2, 0.02, -0.01, 1.0});
    factor(300, 2, 128, 0.01, false, 7);
    factor(127, 1, 512, 0.01, false, 0);
    factor(60, 3, 512, 1e-8, false, 3);
    factor(200, 2, 256, 0.01, true, 0);
    bordered(300, 40, 30, 2, 128);
    bordered(150, 140, 0, 1, 512);
    bordered(150, 0, 20, 2, 512);
    for (bool fours : {false, true}) {
        local_problem(200, false, fours, 0.0, 1.0);
        local_problem(200, false, fours, 0.1, 5.0);
        local_problem(1100, false, fours, 0.0, 1.0);
    }
    local_problem(300, false, false, 0.0, 1.0, true);
    local_problem(300, false, false, 0.1, 2.0, true);
    local_problem(1100, false, false, 0.0, 1.0, true);
    local_problem(300, true, false, 0.0, 1.0, true);
    local_problem(200, true, false, 0.0, 1.0);
    local_problem(1400, true, false, 0.1, 1.0);
    pair_problems(520, 0.02);
    selection(3000, 40, false, 0.0, false);
    selection(3000, 40, true, 0.1, false);
    selection(2500, 64, false, 0.0, true);
    selection(300, 400, true, 0.0, false);
    activity(2300);
    printf("%d checks, %d wrong\n", checks, failures);
    return failures != 0;
}
