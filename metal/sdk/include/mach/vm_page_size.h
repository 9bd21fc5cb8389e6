// The page size as programs for Apple systems ask for it.
#pragma once

#include <stddef.h>
#include <unistd.h>

typedef size_t vm_size_t;
#define vm_page_size ((vm_size_t)sysconf(_SC_PAGESIZE))
