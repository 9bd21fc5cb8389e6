/* Loads the libraries named on the command line one after the other, each in a scope of its own as
   plug-ins are, and calls check() of all of them, twice. Written in C, so that it brings no C++ run
   time. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** names) {
  int (*checks[8])(void);
  if (count < 2 || count > 8) return 2;
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    checks[i] = library ? (int (*)(void))dlsym(library, "check") : NULL;
    if (!checks[i]) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i < count; ++i) {
      if (checks[i]() == 0) continue;
      fprintf(stderr, "%s: check failed\n", names[i]);
      return 1;
    }
  }
  return 0;
}
