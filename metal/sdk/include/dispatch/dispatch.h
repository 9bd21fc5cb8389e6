// Of libdispatch, what it takes to make a Metal library from bytes in memory.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dispatch_data_s* dispatch_data_t;
typedef struct dispatch_queue_s* dispatch_queue_t;
typedef void (*dispatch_data_destructor_t)(void);

#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_data_destructor_t)0)

// A copy of the bytes, whatever the destructor; null when there is no memory for it.
dispatch_data_t mlxn_dispatch_data_create(const void* bytes, size_t size);
void mlxn_dispatch_data_release(dispatch_data_t data);

static inline dispatch_data_t dispatch_data_create(const void* bytes, size_t size,
                                                   dispatch_queue_t queue,
                                                   dispatch_data_destructor_t destructor) {
  (void)queue;
  dispatch_data_t data = mlxn_dispatch_data_create(bytes, size);
  if (destructor) destructor();
  return data;
}

static inline void dispatch_release(dispatch_data_t data) {
  mlxn_dispatch_data_release(data);
}

#ifdef __cplusplus
}
#endif
