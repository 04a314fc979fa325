/* Operations of numbers, as stablehlo-aggressive-folder computes them. */
#include "hlo/module.h"

#include <math.h>

static double to_type(enum hlo_type type, double number)
{
    if (type == HLO_TYPE_PRED)
        return number != 0;
    return hlo_type_is_whole(type) ? trunc(number) : type == HLO_TYPE_F32 ? (double)(float)number : number;
}

static double compared(enum hlo_direction direction, double a, double b)
{
    bool wanted[] = {[HLO_EQ] = a == b, [HLO_NE] = a != b, [HLO_GE] = a >= b,
                     [HLO_GT] = a > b,  [HLO_LE] = a <= b, [HLO_LT] = a < b};
    return wanted[direction];
}

static double signum(double a)
{
    return (a > 0) - (a < 0);
}

static double negated(double a)
{
    return -a;
}

static double rsqrt(double a)
{
    return 1 / sqrt(a);
}

static double logistic(double a)
{
    return 1 / (1 + exp(-a));
}

static double same(double a)
{
    return a;
}

typedef double of_one(double number);

static of_one *const unary[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = fabs,         [HLO_SIGN] = signum,
    [HLO_NEGATE] = negated,   [HLO_SQRT] = sqrt,
    [HLO_RSQRT] = rsqrt,      [HLO_EXPONENTIAL] = exp,
    [HLO_LOG] = log,          [HLO_LOGISTIC] = logistic,
    [HLO_SINE] = sin,         [HLO_COSINE] = cos,
    [HLO_TAN] = tan,          [HLO_TANH] = tanh,
    [HLO_ERF] = erf,          [HLO_ROUND_NEAREST_AFZ] = round,
    [HLO_CONVERT] = same,     [HLO_ROUND_NEAREST_EVEN] = nearbyint,
    [HLO_RESHAPE] = same,     [HLO_TRANSPOSE] = same,
    [HLO_REVERSE] = same,     [HLO_SLICE] = same,
    [HLO_BROADCAST] = same,   [HLO_DYNAMIC_SLICE] = same,
    [HLO_CONCATENATE] = same,
};

static double of_bits(enum hlo_opcode opcode, double a, double b)
{
    if (!(fabs(a) < 9e15 && fabs(b) < 9e15))
        return (double)NAN;
    int64_t x = (int64_t)a, y = (int64_t)b;
    return (double)(opcode == HLO_AND ? x & y : opcode == HLO_OR ? x | y : x ^ y);
}

static bool computed(const struct hlo_instruction *in, double a, double b, double c, double *number)
{
    bool truth = in->shape->type == HLO_TYPE_PRED, whole = truth || hlo_type_is_whole(in->shape->type);
    if (unary[in->opcode]) {
        *number = unary[in->opcode](a);
        return true;
    }
    switch (in->opcode) {
    case HLO_ADD:
        *number = a + b;
        return true;
    case HLO_SUBTRACT:
        *number = a - b;
        return true;
    case HLO_MULTIPLY:
        *number = a * b;
        return true;
    case HLO_DIVIDE:
    case HLO_REMAINDER:
        *number = in->opcode == HLO_DIVIDE ? a / b : fmod(a, b);
        return !whole || b != 0;
    case HLO_MAXIMUM:
        *number = fmax(a, b);
        return true;
    case HLO_MINIMUM:
        *number = fmin(a, b);
        return true;
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
        *number = of_bits(in->opcode, a, b);
        return true;
    case HLO_NOT:
        *number = truth ? (double)!(a != 0) : -a - 1;
        return true;
    case HLO_COMPARE:
        *number = isnan(a) || isnan(b) ? (double)NAN : compared(in->attributes->direction, a, b);
        return true;
    case HLO_CLAMP:
        *number = fmin(fmax(a, b), c);
        return true;
    case HLO_SELECT:
        *number = isnan(a) ? (double)NAN : a != 0 ? b : c;
        return true;
    default:
        return false;
    }
}

bool hlo_compute(const struct hlo_instruction *in, const double x[3], double *number)
{
    if (!computed(in, x[0], x[1], x[2], number))
        return false;
    *number = isnan(*number) ? *number : to_type(in->shape->type, *number);
    return true;
}
