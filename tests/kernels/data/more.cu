// A second source file: a library has one fatbin container for each.
extern "C" __global__ void second(long long* x) {
  *x = 1;
}
