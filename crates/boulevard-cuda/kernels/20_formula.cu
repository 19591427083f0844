// Kernel functions. Every one of them is finish(t) with
//     t = factor * argument(x, z) + norm_factor * (|x|^2 + |z|^2) + shift
// where the argument is an inner product, a squared distance or a sum of absolute differences.

struct Formula {
    int kind;
    int degree;
    double factor;
    double norm_factor;
    double shift;
};

enum { EXPONENTIAL = 0, IDENTITY = 1, POWER = 2, TANGENT = 3, INVERSE_ROOT = 4, TRUNCATED = 5 };
enum { PRODUCT = 0, SQUARED = 1, ABSOLUTE = 2 };

template <typename T>
__device__ __forceinline__ T whole_power(T t, int degree) {
    T result = (T)1;
    for (T base = t; degree > 0; degree >>= 1, base *= base)
        if (degree & 1) result *= base;
    return result;
}

__device__ __forceinline__ float finish_exponential(float t) { return power_of_two(fminf(t, 0.0f)); }

// 2^min(t, 0) in double precision, relative error below 4e-16: the whole part of t goes to the exponent, the rest, at most a half, through
// the series. The general function of the compiler's library takes half as long again, for cases that do not occur here.
__device__ __forceinline__ double finish_exponential(double t) {
    const double shift = 6755399441055744.0;  // 1.5 2^52: adding it rounds to a whole number, which its last bits hold
    t = fmax(fmin(t, 0.0), -1020.0);
    double rounded = t + shift;
    long long whole = __double_as_longlong(rounded) - 0x4338000000000000ll;
    double f = t - (rounded - shift);
    double p = 2.5678435993488206e-11;
    p = p * f + 4.4455382718708116e-10;
    p = p * f + 7.054911620801123e-09;
    p = p * f + 1.01780860092397e-07;
    p = p * f + 1.321548679014431e-06;
    p = p * f + 1.5252733804059841e-05;
    p = p * f + 0.0001540353039338161;
    p = p * f + 0.0013333558146428443;
    p = p * f + 0.009618129107628477;
    p = p * f + 0.05550410866482158;
    p = p * f + 0.24022650695910072;
    p = p * f + 0.6931471805599453;
    p = p * f + 1.0;
    return __longlong_as_double(__double_as_longlong(p) + (whole << 52));
}

// Not inlined: sixteen copies of a hyperbolic tangent in double precision would be most of the text.
template <typename T>
__device__ __noinline__ T finish_other(int kind, int degree, T t) {
    switch (kind) {
    case POWER: return whole_power<T>(t, degree);
    case TANGENT: return (T)tanh(t);
    case INVERSE_ROOT: return (T)1 / (T)sqrt(t > (T)1e-30 ? t : (T)1e-30);
    case TRUNCATED: return t > (T)0 ? whole_power<T>(t, degree) : (T)0;
    default: return t;
    }
}

// t is the exponent of 2 for exponential kernels.
template <typename T>
__device__ __forceinline__ T finish(int kind, int degree, T t) {
    return kind == EXPONENTIAL ? finish_exponential(t) : finish_other<T>(kind, degree, t);
}

template <int ARGUMENT, typename T>
__device__ __forceinline__ T extend(T sum, T x, T z) {
    if (ARGUMENT == PRODUCT) return sum + x * z;
    T difference = x - z;
    if (ARGUMENT == SQUARED) return sum + difference * difference;
    return sum + (difference < (T)0 ? -difference : difference);
}
