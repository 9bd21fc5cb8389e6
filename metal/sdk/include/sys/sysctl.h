// sysctlbyname() as programs for Apple systems call it, for the names that have a meaning here.
// Others fail with ENOENT, as they do on an Apple system that lacks them.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static inline int mlxn_sysctl_number(const char* name, uint64_t* value) {
  if (!strcmp(name, "hw.memsize"))
    *value = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  else if (!strcmp(name, "hw.ncpu") || !strcmp(name, "hw.logicalcpu"))
    *value = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
  else if (!strcmp(name, "hw.pagesize"))
    *value = (uint64_t)sysconf(_SC_PAGESIZE);
  else
    return 0;
  return 1;
}

// Numbers take the size the caller has room for: 4 or 8 bytes. Nothing can be set.
static inline int sysctlbyname(const char* name, void* old_value, size_t* old_size, void* new_value,
                               size_t new_size) {
  uint64_t value = 0;
  (void)new_size;
  if (new_value) return errno = EPERM, -1;
  if (!mlxn_sysctl_number(name, &value)) return errno = ENOENT, -1;
  if (!old_size) return 0;
  if (old_value && *old_size < 4) return errno = ENOMEM, -1;
  size_t size = old_value && *old_size < 8 ? 4 : 8;
  if (old_value) memcpy(old_value, &value, size);  // little endian: the low bytes come first
  *old_size = size;
  return 0;
}
