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

enum { EXPONENTIAL = 0, IDENTITY = 1, POWER = 2, TANGENT = 3, INVERSE_ROOT = 4 };
enum { PRODUCT = 0, SQUARED = 1, ABSOLUTE = 2 };

template <typename T>
__device__ __forceinline__ T whole_power(T t, int degree) {
    T result = (T)1;
    for (T base = t; degree > 0; degree >>= 1, base *= base)
        if (degree & 1) result *= base;
    return result;
}

__device__ __forceinline__ float finish_exponential(float t) { return power_of_two(fminf(t, 0.0f)); }
__device__ __forceinline__ double finish_exponential(double t) { return exp2(fmin(t, 0.0)); }

// Not inlined: sixteen copies of a hyperbolic tangent in double precision would be most of the text.
template <typename T>
__device__ __noinline__ T finish_other(int kind, int degree, T t) {
    switch (kind) {
    case POWER: return whole_power<T>(t, degree);
    case TANGENT: return (T)tanh(t);
    case INVERSE_ROOT: return (T)1 / (T)sqrt(t > (T)1e-30 ? t : (T)1e-30);
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
