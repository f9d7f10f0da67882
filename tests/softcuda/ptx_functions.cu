// The mathematical functions as nvcc compiles them: range reductions in tables, slow paths in
// device functions, Newton steps on approximate instructions. The test holds them against the
// host's.
extern "C" __global__ void single_precision(float* out, const float* in, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count)
    return;
  const float x = in[i];
  float* const own = out + 16 * i;
  own[0] = expf(x);
  own[1] = logf(fabsf(x));
  own[2] = sinf(x);
  own[3] = cosf(x);
  own[4] = powf(fabsf(x), 1.3F);
  own[5] = tanhf(x);
  own[6] = erff(x);
  own[7] = rsqrtf(fabsf(x));
  own[8] = cbrtf(x);
  own[9] = atan2f(x, 2.0F);
  own[10] = fmodf(x, 0.3F);
  own[11] = expm1f(x);
  own[12] = log1pf(fabsf(x));
  own[13] = hypotf(x, 2.0F);
  own[14] = x / 3.0F;
  own[15] = roundf(x);
}

extern "C" __global__ void double_precision(double* out, const double* in, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count)
    return;
  const double x = in[i];
  double* const own = out + 16 * i;
  own[0] = exp(x);
  own[1] = log(fabs(x));
  own[2] = sin(x);
  own[3] = cos(x);
  own[4] = pow(fabs(x), 1.3);
  own[5] = tanh(x);
  own[6] = erf(x);
  own[7] = rsqrt(fabs(x));
  own[8] = cbrt(x);
  own[9] = atan2(x, 2.0);
  own[10] = fmod(x, 0.3);
  own[11] = expm1(x);
  own[12] = log1p(fabs(x));
  own[13] = hypot(x, 2.0);
  own[14] = x / 3.0;
  own[15] = round(x);
}

// 128-bit division: chains of carries that go from subtraction to addition and back.
extern "C" __global__ void divide_128(unsigned long long* out, const unsigned long long* in) {
  const unsigned __int128 a = static_cast<unsigned __int128>(in[1]) << 64 | in[0];
  const unsigned __int128 b = static_cast<unsigned __int128>(in[3]) << 64 | in[2];
  const unsigned __int128 quotient = a / b;
  const unsigned __int128 remainder = a % b;
  out[0] = static_cast<unsigned long long>(quotient);
  out[1] = static_cast<unsigned long long>(quotient >> 64);
  out[2] = static_cast<unsigned long long>(remainder);
  out[3] = static_cast<unsigned long long>(remainder >> 64);
}
