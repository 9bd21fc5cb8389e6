kernel void first(device float* x) {
  *x = 1;
}
kernel void second(device float* x) {
  *x = undeclared;
}
