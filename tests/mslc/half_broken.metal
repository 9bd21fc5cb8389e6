float elsewhere(float x);

kernel void fine(device float* x) {
  *x = 1;
}

kernel void unlinked(device float* x) {
  *x = elsewhere(*x);
}
