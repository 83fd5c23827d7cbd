/* The inner loops of tacit in C: the same decisions and the same integers as its numpy code, bit for bit.

Every function checks its arguments before it writes to any of them: item sizes, lengths, indices. What it is handed are
contiguous arrays of the caller's own; losses of a user's are copied first, and the copy is checked and used. Integers
are added exactly. Decisions that depend on exp are made only outside of the margins that the exact code proves
(`tacit.noise.exact_draws`): inside of them the function says so, and the exact code decides. Floating-point sums and
products are those of numpy, in its order, and none is contracted (-ffp-contract=off).

The loops are compiled for several instruction sets of x86-64 and chosen when the module is loaded. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define UNITS 16777216.0 /* 2^24: tacit.noise.lattice.LOSS_UNITS */
#define WHOLE 0x1p-53
#define LARGEST_DRAW 4224             /* tacit.noise.discrete_gaussian.LARGEST */
#define UNDECIDED (-32768)
#define FEW 512                       /* numbers that fit into memory on the stack */
#define PART 64                       /* weights that are added up before the search */

enum { KEPT, LOST, OPEN, BAD };       /* tacit.algorithms.experts.lazy_experts */

/* ---- loops, compiled once for each instruction set ------------------------------------------------------------- */

#if defined(__GNUC__) && defined(__x86_64__)
#define LEVELS 3
#define INLINE static inline __attribute__((always_inline))
#define FOR_LEVELS(type, name, parameters, arguments)                                                                  \
    static type name##_0 parameters { return name##_body arguments; }                                                  \
    __attribute__((target("avx2"))) static type name##_1 parameters { return name##_body arguments; }                  \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512"))) static type name##_2         \
        parameters { return name##_body arguments; }                                                                   \
    static type(*const name##_levels[LEVELS]) parameters = {name##_0, name##_1, name##_2};
#else
#define LEVELS 1
#define INLINE static inline
#define FOR_LEVELS(type, name, parameters, arguments)                                                                  \
    static type name##_0 parameters { return name##_body arguments; }                                                  \
    static type(*const name##_levels[LEVELS]) parameters = {name##_0};
#endif
#define RUN(name) name##_levels[level]

static int level = 0;

static int best_level(void) {
#if LEVELS == 3
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return 2;
    return __builtin_cpu_supports("avx2") ? 1 : 0;
#else
    return 0;
#endif
}

/* Whether all losses lie in [low, high]; NaN does not. */
INLINE int inside_body(const double *losses, Py_ssize_t n, double low, double high) {
    int64_t good = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        good &= (int64_t)((losses[i] >= low) & (losses[i] <= high));
    return (int)good;
}
FOR_LEVELS(int, inside, (const double *losses, Py_ssize_t n, double low, double high), (losses, n, low, high))

INLINE double lowest_body(const double *losses, Py_ssize_t n) {
    double least = losses[0];
    for (Py_ssize_t i = 1; i < n; i++)
        least = losses[i] < least ? losses[i] : least;
    return least;
}
FOR_LEVELS(double, lowest, (const double *losses, Py_ssize_t n), (losses, n))

/* Move losses to [0, 1], as numpy does: a difference and a quotient. */
INLINE int rescale_body(double *losses, Py_ssize_t n, double low, double scale) {
    for (Py_ssize_t i = 0; i < n; i++)
        losses[i] = (losses[i] - low) / scale;
    return 0;
}
FOR_LEVELS(int, rescale, (double *losses, Py_ssize_t n, double low, double scale), (losses, n, low, scale))

/* Add floor(2^24 loss) of losses in [0, 1] to the totals; returns the least of these integers. */
INLINE int32_t add_whole_body(const double *restrict losses, Py_ssize_t n, int64_t *restrict total) {
    int32_t least = (int32_t)UNITS;
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t whole = (int32_t)(losses[i] * UNITS);
        least = whole < least ? whole : least;
        total[i] = (int64_t)((uint64_t)total[i] + (uint64_t)whole); /* wraps as numpy does, never in a learner */
    }
    return least;
}
FOR_LEVELS(int32_t, add_whole, (const double *restrict losses, Py_ssize_t n, int64_t *restrict total),
           (losses, n, total))

/* A lazy chain in its loop: what its coins depend on, and where it stands. */
typedef struct {
    double low, high, stay, rate, margin;
    Py_ssize_t batch, held, row;
    int relative, end;
    int64_t score;
} Chain;

/* Play rows until a coin is lost or undecided, a loss is bad, or the rows end. Each row is copied before it is read. */
INLINE int play_rows_body(const double *block, Py_ssize_t rows, Py_ssize_t n, double *restrict copy,
                          int64_t *restrict total, const uint64_t *words, Chain *chain) {
    int unit = chain->low == 0.0 && chain->high == 1.0;
    for (; chain->row < rows;) {
        memcpy(copy, block + chain->row * n, (size_t)n * sizeof(double));
        if (!inside_body(copy, n, chain->low, chain->high))
            return BAD;
        if (!unit)
            rescale_body(copy, n, chain->low, chain->high - chain->low);
        int32_t least = add_whole_body(copy, n, total);
        chain->score += (int64_t)(copy[chain->held] * UNITS) - (chain->relative ? least : 0);
        if (++chain->row % chain->batch != 0)
            continue;
        double share = (double)(words[chain->row / chain->batch - 1] >> 11) * WHOLE;
        double gap = share - chain->stay * exp(-((double)chain->score * chain->rate));
        if (!(fabs(gap) > chain->margin))
            return OPEN;
        if (gap > 0.0)
            return LOST;
        chain->score = 0;
    }
    return KEPT;
}
FOR_LEVELS(int, play_rows,
           (const double *block, Py_ssize_t rows, Py_ssize_t n, double *restrict copy, int64_t *restrict total,
            const uint64_t *words, Chain *chain),
           (block, rows, n, copy, total, words, chain))

/* e^{-x} for x >= 0 within 2^-49; below e^{-708} it is e^{-708}. */
INLINE double exp_minus(double x) {
    const double magic = 0x1.8p52;
    x = x < 708.0 ? -x : -708.0;
    double shifted = x * 0x1.71547652b82fep0 + magic;
    double whole = shifted - magic;
    double r = (x - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b39p-40;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t bits, power;
    memcpy(&power, &shifted, 8);
    memcpy(&bits, &p, 8);
    bits += (int64_t)((uint64_t)power << 52);
    memcpy(&p, &bits, 8);
    return p;
}

/* The nearest double to an integer, in operations that every instruction set has for vectors. */
INLINE double as_double(uint64_t number) {
    uint64_t low = (number & 0xFFFFFFFF) | 0x4330000000000000, high = number >> 32 | 0x4530000000000000;
    double lower, upper;
    memcpy(&lower, &low, 8);
    memcpy(&upper, &high, 8);
    return (upper - 0x1.00000001p84) + lower;
}

/* The weights e^{-rate (score - least)}. */
INLINE int weigh_body(const int64_t *restrict scores, Py_ssize_t n, double rate, double *restrict weights) {
    int64_t least = scores[0];
    for (Py_ssize_t i = 1; i < n; i++)
        least = scores[i] < least ? scores[i] : least;
    for (Py_ssize_t i = 0; i < n; i++)
        weights[i] = exp_minus(as_double((uint64_t)scores[i] - (uint64_t)least) * rate);
    return 0;
}
FOR_LEVELS(int, weigh, (const int64_t *restrict scores, Py_ssize_t n, double rate, double *restrict weights),
           (scores, n, rate, weights))

/* The sum of up to PART weights in eight lanes: within the margin any order serves. */
INLINE double part_sum_body(const double *weights, Py_ssize_t n) {
    double lanes[8] = {0};
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; lane++)
            lanes[lane] += weights[i + lane];
    for (; i < n; i++)
        lanes[0] += weights[i];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}
FOR_LEVELS(double, part_sum, (const double *weights, Py_ssize_t n), (weights, n))

/* One step of a buffered running sum on a lattice, in numpy's order: products from the first buffer to the last, one
   rounding, one addition and one product a buffer. PART coordinates at a time stay in registers or in cache. */
INLINE int buffered_step_body(const double *restrict record, const double *restrict fresh, Py_ssize_t n,
                              const double *restrict omega, const double *restrict theta, Py_ssize_t buffers,
                              double *restrict kept, const double *before, double *sum) {
    double added[PART];
    for (Py_ssize_t first = 0; first < n; first += PART) {
        Py_ssize_t size = n - first < PART ? n - first : PART;
        for (Py_ssize_t i = 0; i < size; i++)
            added[i] = omega[0] * kept[first + i];
        for (Py_ssize_t k = 1; k < buffers; k++)
            for (Py_ssize_t i = 0; i < size; i++)
                added[i] += omega[k] * kept[k * n + first + i];
        for (Py_ssize_t i = 0; i < size; i++)
            added[i] = fresh[first + i] - rint(added[i]);
        for (Py_ssize_t k = 0; k < buffers; k++)
            for (Py_ssize_t i = 0; i < size; i++)
                kept[k * n + first + i] = (kept[k * n + first + i] + added[i]) * theta[k];
        for (Py_ssize_t i = 0; i < size; i++)
            sum[first + i] = before[first + i] + (added[i] + record[first + i]);
    }
    return 0;
}
FOR_LEVELS(int, buffered_step,
           (const double *restrict record, const double *restrict fresh, Py_ssize_t n, const double *restrict omega,
            const double *restrict theta, Py_ssize_t buffers, double *restrict kept, const double *before, double *sum),
           (record, fresh, n, omega, theta, buffers, kept, before, sum))

/* floor(loss units) from the middle, for losses in [0, 1] and even units up to 2^30. */
INLINE int centred_body(const double *restrict losses, Py_ssize_t n, double units, double *restrict whole) {
    for (Py_ssize_t i = 0; i < n; i++)
        whole[i] = (double)(int32_t)(losses[i] * units) - units / 2;
    return 0;
}
FOR_LEVELS(int, centred, (const double *restrict losses, Py_ssize_t n, double units, double *restrict whole),
           (losses, n, units, whole))

/* The sum of products in the order of numpy's add.reduce: eight sums side by side, halves above 128 numbers. */
static double dot(const double *x, const double *y, Py_ssize_t n) {
    if (n < 8) {
        double sum = -0.0;
        for (Py_ssize_t i = 0; i < n; i++)
            sum += x[i] * y[i];
        return sum;
    }
    if (n > 128) {
        Py_ssize_t half = n / 2 - n / 2 % 8;
        return dot(x, y, half) + dot(x + half, y + half, n - half);
    }
    double r[8], sum;
    Py_ssize_t i;
    for (int lane = 0; lane < 8; lane++)
        r[lane] = x[lane] * y[lane];
    for (i = 8; i < n - n % 8; i += 8)
        for (int lane = 0; lane < 8; lane++)
            r[lane] += x[i + lane] * y[i + lane];
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* What `round_vectors` makes of a vector, or 0 if it is left to it. */
static int rounded_vector(const double *x, Py_ssize_t n, double norm, double units, double *whole) {
    double inner = units - sqrt((double)n) / 2, largest = 0.0, squares = 0.0;
    if (!(inner > 0.0))
        return 0;
    double factor = inner / norm;
    for (Py_ssize_t i = 0; i < n; i++)
        whole[i] = x[i] * factor;
    double length = sqrt(dot(whole, whole, n));
    if (!(length <= inner * (1.0 - 0x1p-40))) {
        for (Py_ssize_t i = 0; i < n; i++)
            largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
        if (!(length < 1.5 * inner) || !(largest <= norm))
            return 0;
        factor = inner / (length > inner ? length : inner);
        for (Py_ssize_t i = 0; i < n; i++)
            whole[i] *= factor;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        whole[i] = rint(whole[i]) + 0.0; /* no negative zero: integers have none */
        squares += whole[i] * whole[i];  /* exact below 2^53; above, `units` decides by a wide margin or not at all */
    }
    return squares < 0x1p53 ? squares <= units * units : 0;
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */

typedef struct {
    Py_buffer view;
    int held;
} Array;

/* Take a contiguous array of this kind ('d' float64, 'q' int64, 'Q' uint64, 'h' int16) and at least `least` items. */
static int taken(Array *array, PyObject *object, char kind, int writable, Py_ssize_t least) {
    Py_ssize_t size = kind == 'h' ? 2 : 8;
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    array->held = 0;
    if (PyObject_GetBuffer(object, &array->view, flags) < 0)
        return 0;
    array->held = 1;
    const char *format = array->view.format == NULL ? "" : array->view.format;
    const char *fitting = kind == 'q' ? "ql" : kind == 'Q' ? "QL" : kind == 'h' ? "h" : "d";
    if (format[0] == '\0' || format[1] != '\0' || strchr(fitting, format[0]) == NULL || array->view.itemsize != size ||
        ((uintptr_t)array->view.buf & (uintptr_t)(size - 1)) != 0) {
        PyErr_SetString(PyExc_TypeError, "an array of another kind was expected");
        return 0;
    }
    if (array->view.len / size < least) {
        PyErr_SetString(PyExc_ValueError, "a longer array was expected");
        return 0;
    }
    return 1;
}

static void freed(Array *arrays, int count) {
    for (int i = 0; i < count; i++)
        if (arrays[i].held)
            PyBuffer_Release(&arrays[i].view);
}

#define ITEMS(array, size) ((array).view.len / (Py_ssize_t)(size))
#define DOUBLES(array) ((double *)(array).view.buf)
#define INTEGERS(array) ((int64_t *)(array).view.buf)
#define WORDS(array) ((uint64_t *)(array).view.buf)
#define SHORTS(array) ((int16_t *)(array).view.buf)

static int ranged(double low, double high) { return low < high && isfinite(high - low); }

static int counted(Py_ssize_t given, Py_ssize_t wanted) {
    if (given == wanted)
        return 1;
    PyErr_SetString(PyExc_TypeError, "another number of arguments was expected");
    return 0;
}

static PyObject *refused(Array *arrays, int count, const char *why) {
    freed(arrays, count);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

/* ---- losses of experts ----------------------------------------------------------------------------------------- */

/* check_losses(losses, copy, low, high) -> the least loss of the copy, which lies in [0, 1] now, or None: a loss lies
   outside of [low, high], or the losses are no array of as many float64 numbers. */
static PyObject *check_losses(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 4))
        return NULL;
    if (!taken(&a[1], args[1], 'd', 1, 1))
        return refused(a, 2, "");
    Py_ssize_t n = ITEMS(a[1], 8);
    double low = PyFloat_AsDouble(args[2]), high = PyFloat_AsDouble(args[3]), *copy = DOUBLES(a[1]);
    if (PyErr_Occurred() || !ranged(low, high))
        return refused(a, 2, "a finite range was expected");
    if (!taken(&a[0], args[0], 'd', 0, 1) || a[0].view.ndim != 1 || ITEMS(a[0], 8) != n) {
        PyErr_Clear();
        freed(a, 2);
        return Py_NewRef(Py_None);
    }
    memmove(copy, a[0].view.buf, (size_t)n * sizeof(double));
    if (!RUN(inside)(copy, n, low, high)) {
        freed(a, 2);
        return Py_NewRef(Py_None);
    }
    double least = RUN(lowest)(copy, n);
    if (low != 0.0 || high != 1.0) {
        RUN(rescale)(copy, n, low, high - low);
        least = (least - low) / (high - low);
    }
    freed(a, 2);
    return PyFloat_FromDouble(least);
}

/* add_losses(losses, total, held, relative) -> the score of the held expert; the losses lie in [0, 1]. */
static PyObject *add_losses(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 4))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 0, 1) || !taken(&a[1], args[1], 'q', 1, 1))
        return refused(a, 2, "");
    Py_ssize_t n = ITEMS(a[1], 8), held = PyLong_AsSsize_t(args[2]);
    int relative = PyObject_IsTrue(args[3]);
    if (PyErr_Occurred() || ITEMS(a[0], 8) != n || held < 0 || held >= n ||
        !RUN(inside)(DOUBLES(a[0]), n, 0.0, 1.0))
        return refused(a, 2, "losses, totals and expert do not fit");
    int32_t least = RUN(add_whole)(DOUBLES(a[0]), n, INTEGERS(a[1]));
    int64_t score = (int64_t)(DOUBLES(a[0])[held] * UNITS) - (relative ? least : 0);
    freed(a, 2);
    return PyLong_FromLongLong(score);
}

/* sum_losses(rows, total): add the integers of rows of losses that were checked to lie in [0, 1]. */
static PyObject *sum_losses(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 2))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 0, 0) || !taken(&a[1], args[1], 'q', 1, 1))
        return refused(a, 2, "");
    Py_ssize_t n = ITEMS(a[1], 8), rows = ITEMS(a[0], 8) / n;
    if (a[0].view.ndim != 2 || rows * n != ITEMS(a[0], 8) || a[0].view.shape[1] != n)
        return refused(a, 2, "rows and totals do not fit");
    for (Py_ssize_t row = 0; row < rows; row++)
        if (!RUN(inside)(DOUBLES(a[0]) + row * n, n, 0.0, 1.0))
            return refused(a, 2, "a loss lies outside of [0, 1]");
    for (Py_ssize_t row = 0; row < rows; row++)
        RUN(add_whole)(DOUBLES(a[0]) + row * n, n, INTEGERS(a[1]));
    freed(a, 2);
    return Py_NewRef(Py_None);
}

/* play_until_lost(block, copy, first, held, total, words, low, high, batch, stay, rate, relative, margin)
   -> (how it ended, the row after the last one that was played, the score of the last coin); a bad row is in `copy`. */
static PyObject *play_until_lost(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[4] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 13))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 0, 1) || !taken(&a[1], args[4], 'q', 1, 1) || !taken(&a[2], args[5], 'Q', 0, 0) ||
        !taken(&a[3], args[1], 'd', 1, ITEMS(a[1], 8)))
        return refused(a, 4, "");
    Chain chain = {.low = PyFloat_AsDouble(args[6]),
                   .high = PyFloat_AsDouble(args[7]),
                   .stay = PyFloat_AsDouble(args[9]),
                   .rate = PyFloat_AsDouble(args[10]),
                   .margin = PyFloat_AsDouble(args[12]),
                   .batch = PyLong_AsSsize_t(args[8]),
                   .held = PyLong_AsSsize_t(args[3]),
                   .row = PyLong_AsSsize_t(args[2]),
                   .relative = PyObject_IsTrue(args[11])};
    Py_ssize_t n = ITEMS(a[1], 8), rows = ITEMS(a[0], 8) / n;
    if (PyErr_Occurred() || a[0].view.ndim != 2 || a[0].view.shape[1] != n || chain.row < 0 || chain.row > rows ||
        chain.held < 0 || chain.held >= n || chain.batch < 1 || chain.row % chain.batch != 0 ||
        ITEMS(a[2], 8) < rows / chain.batch || !ranged(chain.low, chain.high))
        return refused(a, 4, "block, totals, words and range do not fit");
    Py_BEGIN_ALLOW_THREADS
    chain.end = RUN(play_rows)(DOUBLES(a[0]), rows, n, DOUBLES(a[3]), INTEGERS(a[1]), WORDS(a[2]), &chain);
    Py_END_ALLOW_THREADS
    freed(a, 4);
    return Py_BuildValue("inL", chain.end, chain.row, (long long)(chain.end == KEPT ? 0 : chain.score));
}

/* softmax(scores, rate, fraction, margin) -> the first j with fraction * sum < weight_0 + .. + weight_j, or -1 if the
   float sums, which are wrong by less than the margin times the sum, do not decide. */
static PyObject *softmax(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[1] = {{.held = 0}};
    double few[FEW], *weights = few;
    (void)self;
    if (!counted(nargs, 4))
        return NULL;
    if (!taken(&a[0], args[0], 'q', 0, 1))
        return refused(a, 1, "");
    double rate = PyFloat_AsDouble(args[1]), fraction = PyFloat_AsDouble(args[2]), margin = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred() || !(rate >= 0.0 && isfinite(rate)) || !(fraction >= 0.0 && fraction < 1.0))
        return refused(a, 1, "a rate of at least 0 and a fraction in [0, 1) were expected");
    Py_ssize_t n = ITEMS(a[0], 8), parts = (n + PART - 1) / PART;
    if (n + parts > FEW && (weights = PyMem_Malloc((size_t)(n + parts) * sizeof(double))) == NULL) {
        PyErr_NoMemory();
        return refused(a, 1, "");
    }
    double *sums = weights + n, total = 0.0;
    RUN(weigh)(INTEGERS(a[0]), n, rate, weights);
    for (Py_ssize_t part = 0; part < parts; part++) {
        sums[part] = RUN(part_sum)(weights + part * PART, n - part * PART < PART ? n - part * PART : PART);
        total += sums[part];
    }
    double point = fraction * total;
    margin *= total;
    double below = 0.0, sum = 0.0;
    Py_ssize_t part = 0, found = -1;
    while (part < parts - 1 && sum + sums[part] <= point)
        sum += sums[part++];
    for (Py_ssize_t i = part * PART; i < n; i++) {
        below = sum;
        sum += weights[i];
        if (point < sum) {
            found = i;
            break;
        }
    }
    if (found >= 0 && !(sum - point > margin && (found == 0 || point - below > margin)))
        found = -1;
    if (weights != few)
        PyMem_Free(weights);
    freed(a, 1);
    return PyLong_FromSsize_t(found);
}

/* ---- noise and running sums ------------------------------------------------------------------------------------ */

/* decode(words, guide, sums, places) -> how many digits 16 bits leave undecided; see `discrete_gaussian._decode`. */
static PyObject *decode(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[4] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 4))
        return NULL;
    if (!taken(&a[0], args[0], 'Q', 0, 0) || !taken(&a[1], args[1], 'h', 0, 65536) ||
        !taken(&a[2], args[2], 'q', 1, ITEMS(a[0], 8)) || !taken(&a[3], args[3], 'q', 1, 4 * ITEMS(a[0], 8)))
        return refused(a, 4, "");
    const uint64_t *words = WORDS(a[0]);
    const int16_t *guide = SHORTS(a[1]);
    int64_t *sums = INTEGERS(a[2]), *places = INTEGERS(a[3]);
    Py_ssize_t n = ITEMS(a[0], 8), count = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        uint64_t word = words[i];
        int64_t draws[4] = {guide[word & 0xFFFF], guide[word >> 16 & 0xFFFF], guide[word >> 32 & 0xFFFF],
                            guide[word >> 48]};
        for (int j = 0; j < 4; j++) {
            int open = draws[j] == UNDECIDED;
            places[count] = 4 * i + j;
            count += open;
            draws[j] = open ? 0 : draws[j];
        }
        sums[i] = draws[0] + 128 * draws[1] + 16384 * draws[2] + 2097152 * draws[3];
    }
    Py_END_ALLOW_THREADS
    freed(a, 4);
    return PyLong_FromSsize_t(count);
}

/* resolve(words, places, more, high, first, sums, undecided) -> how many digits 64 bits leave undecided. */
static PyObject *resolve(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[7] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    static const int64_t weights[4] = {1, 128, 16384, 2097152};
    (void)self;
    if (!counted(nargs, 7))
        return NULL;
    if (!taken(&a[0], args[0], 'Q', 0, 0) || !taken(&a[1], args[1], 'q', 0, 0) ||
        !taken(&a[2], args[2], 'Q', 0, ITEMS(a[1], 8)) || !taken(&a[3], args[3], 'Q', 0, 1) ||
        !taken(&a[4], args[4], 'h', 0, 65537) || !taken(&a[5], args[5], 'q', 1, ITEMS(a[0], 8)) ||
        !taken(&a[6], args[6], 'q', 1, ITEMS(a[1], 8)))
        return refused(a, 7, "");
    const uint64_t *words = WORDS(a[0]), *more = WORDS(a[2]), *high = WORDS(a[3]);
    const int64_t *places = INTEGERS(a[1]);
    const int16_t *first = SHORTS(a[4]);
    int64_t *sums = INTEGERS(a[5]), *undecided = INTEGERS(a[6]);
    Py_ssize_t n = ITEMS(a[1], 8), size = ITEMS(a[3], 8), count = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (places[i] < 0 || places[i] / 4 >= ITEMS(a[0], 8))
            return refused(a, 7, "a place lies outside of the words");
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t word = places[i] / 4, j = places[i] % 4;
        uint64_t digit = words[word] >> (16 * j) & 0xFFFF;
        uint64_t uniform = digit << 48 | more[i] >> 16;
        /* The first threshold whose 64 bits are not below `uniform`; that of the digit's own edge may equal it. */
        Py_ssize_t below = first[digit] > 0 ? first[digit] - 1 : 0;
        Py_ssize_t above = first[digit + 1] < size ? first[digit + 1] : size;
        while (below < above) {
            Py_ssize_t middle = (below + above) / 2;
            if (high[middle] < uniform)
                below = middle + 1;
            else
                above = middle;
        }
        if (below < size && high[below] == uniform)
            undecided[count++] = i;
        else
            sums[word] = (int64_t)((uint64_t)sums[word] + (uint64_t)((below - LARGEST_DRAW) * weights[j]));
    }
    freed(a, 7);
    return PyLong_FromSsize_t(count);
}

/* buffered(records, fresh, omega, theta, buffers, sums): the sums after each row, below the sum so far. */
static PyObject *buffered(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[6] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 6))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 0, 0) || !taken(&a[1], args[1], 'd', 0, ITEMS(a[0], 8)) ||
        !taken(&a[2], args[2], 'd', 0, 1) || !taken(&a[3], args[3], 'd', 0, ITEMS(a[2], 8)) ||
        !taken(&a[4], args[4], 'd', 1, ITEMS(a[2], 8)) || !taken(&a[5], args[5], 'd', 1, 1))
        return refused(a, 6, "");
    Py_ssize_t count = ITEMS(a[2], 8), n = ITEMS(a[4], 8) / count, rows = n ? ITEMS(a[0], 8) / n : 0;
    if (n < 1 || n * count != ITEMS(a[4], 8) || n * rows != ITEMS(a[0], 8) || ITEMS(a[5], 8) < (rows + 1) * n)
        return refused(a, 6, "records, buffers and sums do not fit");
    double *sums = DOUBLES(a[5]);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t row = 0; row < rows; row++)
        RUN(buffered_step)(DOUBLES(a[0]) + row * n, DOUBLES(a[1]) + row * n, n, DOUBLES(a[2]), DOUBLES(a[3]), count,
                           DOUBLES(a[4]), sums + row * n, sums + (row + 1) * n);
    Py_END_ALLOW_THREADS
    freed(a, 6);
    return Py_NewRef(Py_None);
}

/* Take a step of a buffered sum with a record that was made whole, noise from a pool, and a scaled copy of the sum. */
static PyObject *step_added(PyObject *const *args, PyObject *given, double norm, double units) {
    Array a[7] = {{.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}, {.held = 0}};
    double few[2 * FEW], *whole = few;
    /* args: pool, start, omega, theta, buffers, sum, worth, out */
    if (!taken(&a[0], args[0], 'q', 0, 0) || !taken(&a[1], args[2], 'd', 0, 1) ||
        !taken(&a[2], args[3], 'd', 0, ITEMS(a[1], 8)) || !taken(&a[3], args[4], 'd', 1, ITEMS(a[1], 8)) ||
        !taken(&a[4], args[5], 'd', 1, 1) || !taken(&a[5], args[7], 'd', 1, ITEMS(a[4], 8)))
        return refused(a, 7, "");
    Py_ssize_t start = PyLong_AsSsize_t(args[1]), n = ITEMS(a[4], 8), count = ITEMS(a[1], 8);
    double worth = PyFloat_AsDouble(args[6]);
    if (PyErr_Occurred() || start < 0 || n > ITEMS(a[0], 8) || start > ITEMS(a[0], 8) - n ||
        ITEMS(a[3], 8) / count != n || ITEMS(a[3], 8) % count != 0 || !(units >= 1.0 && units <= 0x1p30))
        return refused(a, 7, "pool, buffers and sums do not fit");
    if (!taken(&a[6], given, 'd', 0, 1) || a[6].view.ndim != 1 || ITEMS(a[6], 8) != n ||
        (n > FEW && (whole = PyMem_Malloc(2 * (size_t)n * sizeof(double))) == NULL)) {
        PyErr_Clear();
        freed(a, 7);
        return Py_NewRef(Py_False);
    }
    double *copy = whole + n, *sum = DOUBLES(a[4]), *out = DOUBLES(a[5]);
    const int64_t *noise = INTEGERS(a[0]) + start;
    int good;
    memcpy(copy, a[6].view.buf, (size_t)n * sizeof(double));
    if (norm > 0.0) {
        good = rounded_vector(copy, n, norm, units, whole);
    } else if ((good = RUN(inside)(copy, n, 0.0, 1.0))) {
        RUN(centred)(copy, n, units, whole);
    }
    if (good) {
        for (Py_ssize_t i = 0; i < n; i++)
            copy[i] = (double)noise[i];
        RUN(buffered_step)(whole, copy, n, DOUBLES(a[1]), DOUBLES(a[2]), count, DOUBLES(a[3]), sum, sum);
        for (Py_ssize_t i = 0; i < n; i++)
            out[i] = sum[i] * worth;
    }
    if (whole != few)
        PyMem_Free(whole);
    freed(a, 7);
    return Py_NewRef(good ? Py_True : Py_False);
}

/* add_loss_record(losses, units, pool, start, omega, theta, buffers, sum, worth, out) -> whether it was added. */
static PyObject *add_loss_record(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (!counted(nargs, 10))
        return NULL;
    double units = PyFloat_AsDouble(args[1]);
    return PyErr_Occurred() ? NULL : step_added(args + 2, args[0], 0.0, units);
}

/* add_vector_record(vector, norm, units, pool, start, omega, theta, buffers, sum, worth, out) -> whether it was. */
static PyObject *add_vector_record(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    if (!counted(nargs, 11))
        return NULL;
    double norm = PyFloat_AsDouble(args[1]), units = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred())
        return NULL;
    if (!(norm > 0.0 && isfinite(norm)))
        return refused(NULL, 0, "a norm above 0 was expected");
    return step_added(args + 3, args[0], norm, units);
}

/* leader(scores, rate, sums) -> the first largest of scores - rate * sums. */
static PyObject *leader(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 3))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 0, 1) || !taken(&a[1], args[2], 'd', 0, ITEMS(a[0], 8)))
        return refused(a, 2, "");
    double rate = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred())
        return refused(a, 2, "");
    const double *scores = DOUBLES(a[0]), *sums = DOUBLES(a[1]);
    Py_ssize_t best = 0;
    double most = scores[0] - rate * sums[0];
    for (Py_ssize_t i = 1; i < ITEMS(a[0], 8); i++) {
        double value = scores[i] - rate * sums[i];
        best = value > most ? i : best;
        most = value > most ? value : most;
    }
    freed(a, 2);
    return PyLong_FromSsize_t(best);
}

/* ---- vectors --------------------------------------------------------------------------------------------------- */

/* The length of a vector of finite numbers, and in `unit` the vector over its largest entry, at least 1e-150. */
static double length_of(const double *x, Py_ssize_t n, double *unit, double *size) {
    *size = 1e-150;
    for (Py_ssize_t i = 0; i < n; i++)
        *size = fabs(x[i]) > *size ? fabs(x[i]) : *size;
    for (Py_ssize_t i = 0; i < n; i++)
        unit[i] = x[i] / *size;
    return sqrt(dot(unit, unit, n));
}

/* clip_vector(vector, norm, out) -> how many places of out hold the vector, shortened to the norm as `losses.clip_rows`
   does; none if it is no contiguous vector of finite floats. */
static PyObject *clip_vector(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    double few[FEW], *unit = few, size;
    (void)self;
    if (!counted(nargs, 3))
        return NULL;
    double norm = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred() || !taken(&a[1], args[2], 'd', 1, 1))
        return refused(a, 2, "");
    int good = taken(&a[0], args[0], 'd', 0, 1) && a[0].view.ndim == 1 && ITEMS(a[0], 8) <= ITEMS(a[1], 8);
    Py_ssize_t n = good ? ITEMS(a[0], 8) : 0;
    PyErr_Clear();
    good = good && (n <= FEW || (unit = PyMem_Malloc((size_t)n * sizeof(double))) != NULL);
    if (good) {
        double *out = DOUBLES(a[1]);
        memcpy(out, a[0].view.buf, (size_t)n * sizeof(double));
        for (Py_ssize_t i = 0; i < n; i++)
            good &= isfinite(out[i]) != 0;
        double length = good ? length_of(out, n, unit, &size) * size : 0.0;
        if (length > norm) {
            double factor = norm * (1 - 1e-15) / length;
            for (Py_ssize_t i = 0; i < n; i++)
                out[i] *= factor < 0x1p-1022 ? 0.0 : factor;
        }
    }
    if (unit != few)
        PyMem_Free(unit);
    freed(a, 2);
    return PyLong_FromSsize_t(good ? n : 0);
}

/* nearest_in_ball(vector, radius, out): see `Ball.nearest`. */
static PyObject *nearest_in_ball(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    double size;
    (void)self;
    if (!counted(nargs, 3))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 0, 1) || !taken(&a[1], args[2], 'd', 1, ITEMS(a[0], 8)))
        return refused(a, 2, "");
    double radius = PyFloat_AsDouble(args[1]), *out = DOUBLES(a[1]);
    if (PyErr_Occurred())
        return refused(a, 2, "");
    Py_ssize_t n = ITEMS(a[0], 8);
    double length = length_of(DOUBLES(a[0]), n, out, &size);
    if (radius < size * length) {
        double factor = radius / length;
        for (Py_ssize_t i = 0; i < n; i++)
            out[i] *= factor;
    } else {
        memmove(out, a[0].view.buf, (size_t)n * sizeof(double));
    }
    freed(a, 2);
    return Py_NewRef(Py_None);
}

/* ---- arms ------------------------------------------------------------------------------------------------------ */

/* tsallis(scores, weights, level, arm, mean, scale, exponent, kappa, overshoot, lowered, smallest, tolerance,
   steps) -> the next level; see `batched_tsallis.leader`. */
static PyObject *tsallis(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 13))
        return NULL;
    if (!taken(&a[0], args[0], 'd', 1, 1) || !taken(&a[1], args[1], 'd', 1, 1))
        return refused(a, 2, "");
    double *scores = DOUBLES(a[0]), *weights = DOUBLES(a[1]), given[8];
    Py_ssize_t n = ITEMS(a[0], 8), arm = PyLong_AsSsize_t(args[3]), steps = PyLong_AsSsize_t(args[12]);
    double level_ = PyFloat_AsDouble(args[2]);
    for (int i = 0; i < 8; i++)
        given[i] = PyFloat_AsDouble(args[4 + i]);
    if (PyErr_Occurred() || ITEMS(a[1], 8) != n || arm < 0 || arm >= n || steps < 1 || steps > 1000)
        return refused(a, 2, "scores, weights, arm and steps do not fit");
    double mean = given[0], scale = given[1], exponent = given[2], kappa = given[3];
    double overshoot = given[4], lowered = given[5], smallest = given[6], tolerance = given[7];
    double chance = weights[arm], slope = -chance * scale / (scores[arm] - level_), least = INFINITY, total = 1.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        double gap = scores[i] - level_;
        slope += weights[i] * scale / gap;
        double size = weights[i] * gap;
        size = smallest > size ? smallest : size;
        double baseline = 0.5 - lowered / size, other = kappa * size - overshoot;
        baseline = other < baseline ? other : baseline;
        baseline = -overshoot > baseline ? -overshoot : baseline;
        scores[i] += baseline - 0.5;
        if (i == arm)
            scores[i] += (mean - baseline) / chance;
        if (scores[i] < least)
            least = scores[i];
    }
    double bottom = least - scale * pow((double)n, 1.0 / exponent), top = least - scale;
    double ratio = scale / (scores[arm] - level_), weight = pow(ratio, exponent);
    total = 1.0 - chance + weight;
    slope += weight * ratio;
    if (total > 0.0 && slope > 0.0)
        level_ += (1.0 - pow(total, 1.0 / exponent)) * total * scale / slope;
    for (Py_ssize_t step = 0; step < steps; step++) {
        level_ = top < level_ ? top : level_;
        level_ = bottom > level_ ? bottom : level_;
        total = slope = 0.0;
        for (Py_ssize_t i = 0; i < n; i++) {
            ratio = scale / (scores[i] - level_);
            weight = pow(ratio, exponent);
            weights[i] = weight;
            total += weight;
            slope += weight * ratio;
        }
        if (fabs(total - 1.0) <= tolerance)
            break;
        level_ += (1.0 - pow(total, 1.0 / exponent)) * total * scale / slope;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        weights[i] /= total;
    freed(a, 2);
    return PyFloat_FromDouble(level_);
}

/* ---- the module ------------------------------------------------------------------------------------------------ */

/* use(level) -> the level before: 0 plain, 1 AVX2, 2 AVX-512; for tests. */
static PyObject *use(PyObject *self, PyObject *wanted) {
    Py_ssize_t asked = PyLong_AsSsize_t(wanted);
    int before = level;
    (void)self;
    if (PyErr_Occurred())
        return NULL;
    if (asked < 0 || asked > best_level()) {
        PyErr_SetString(PyExc_ValueError, "this processor has no such level");
        return NULL;
    }
    level = (int)asked;
    return PyLong_FromLong(before);
}

/* weights(scores, rate, out): e^{-rate (score - least)}, for the test of its accuracy. */
static PyObject *weights(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Array a[2] = {{.held = 0}, {.held = 0}};
    (void)self;
    if (!counted(nargs, 3))
        return NULL;
    if (!taken(&a[0], args[0], 'q', 0, 1) || !taken(&a[1], args[2], 'd', 1, ITEMS(a[0], 8)))
        return refused(a, 2, "");
    double rate = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred() || !(rate >= 0.0 && isfinite(rate)))
        return refused(a, 2, "a rate of at least 0 was expected");
    RUN(weigh)(INTEGERS(a[0]), ITEMS(a[0], 8), rate, DOUBLES(a[1]));
    freed(a, 2);
    return Py_NewRef(Py_None);
}

/* ---- forks ------------------------------------------------------------------------------------------------------ */

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
static volatile unsigned char *cleared_in_children = NULL;

static void clear(void) { *cleared_in_children = 0; }

/* Clear the first byte of a buffer in every child that the C library forks; the buffer is kept for ever.
   False if that cannot be had, or was asked for already. */
static PyObject *clear_in_children(PyObject *self, PyObject *argument) {
    static Py_buffer kept;
    (void)self;
    if (cleared_in_children != NULL)
        return Py_NewRef(Py_False);
    if (PyObject_GetBuffer(argument, &kept, PyBUF_WRITABLE) != 0)
        return NULL;
    if (kept.len < 1) {
        PyBuffer_Release(&kept);
        PyErr_SetString(PyExc_ValueError, "a buffer of at least one byte was expected");
        return NULL;
    }
    cleared_in_children = kept.buf;
    if (pthread_atfork(NULL, NULL, clear) == 0)
        return Py_NewRef(Py_True);
    cleared_in_children = NULL;
    PyBuffer_Release(&kept);
    return Py_NewRef(Py_False);
}
#else
static PyObject *clear_in_children(PyObject *self, PyObject *argument) {
    (void)self;
    (void)argument;
    return Py_NewRef(Py_False);
}
#endif

static Py_buffer process_mark;
static PyObject *process_number = NULL;
static PyObject *enter_child = NULL;

/* Remember a mark that is not zero in this process, its number, and the function that answers once the mark is zero. */
static PyObject *watch_process(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Py_buffer mark;
    (void)self;
    if (!counted(nargs, 3))
        return NULL;
    if (PyObject_GetBuffer(args[0], &mark, PyBUF_WRITABLE) != 0)
        return NULL;
    if (mark.len < 1) {
        PyBuffer_Release(&mark);
        PyErr_SetString(PyExc_ValueError, "a buffer of at least one byte was expected");
        return NULL;
    }
    Py_buffer old_mark = process_mark;
    PyObject *old_number = process_number;
    PyObject *old_function = enter_child;
    process_mark = mark;
    process_number = Py_NewRef(args[1]);
    enter_child = Py_NewRef(args[2]);
    if (old_number != NULL)
        PyBuffer_Release(&old_mark);
    Py_XDECREF(old_number);
    Py_XDECREF(old_function);
    return Py_NewRef(Py_None);
}

/* Return the number of this process, as tacit.process does without this file. */
static PyObject *current_process(PyObject *self, PyObject *nothing) {
    (void)self;
    (void)nothing;
    if (process_number == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "watch_process was not called");
        return NULL;
    }
    if (*(volatile unsigned char *)process_mark.buf == 0)
        return PyObject_CallNoArgs(enter_child);
    return Py_NewRef(process_number);
}

#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
    FAST(check_losses), FAST(add_losses), FAST(sum_losses), FAST(play_until_lost), FAST(softmax),
    FAST(decode), FAST(resolve),
    FAST(add_loss_record), FAST(add_vector_record), FAST(leader), FAST(clip_vector), FAST(nearest_in_ball),
    FAST(buffered),   FAST(tsallis),    FAST(weights),         {"use", use, METH_O, NULL},
    {"clear_in_children", clear_in_children, METH_O, NULL}, FAST(watch_process),
    {"current_process", current_process, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static int begin(PyObject *module) {
    level = best_level();
    return PyModule_AddIntConstant(module, "LEVEL", level);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)begin}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernels", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModuleDef_Init(&definition); }
