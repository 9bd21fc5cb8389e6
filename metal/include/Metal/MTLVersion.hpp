#pragma once

// The metal-cpp version whose compute interface these headers follow.
#define METALCPP_VERSION_MAJOR 370
#define METALCPP_VERSION_MINOR 63
#define METALCPP_VERSION_PATCH 1

#define METALCPP_SUPPORTS_VERSION(major, minor, patch) \
  ((major) < METALCPP_VERSION_MAJOR ||                 \
   ((major) == METALCPP_VERSION_MAJOR &&               \
    ((minor) < METALCPP_VERSION_MINOR ||               \
     ((minor) == METALCPP_VERSION_MINOR && (patch) <= METALCPP_VERSION_PATCH))))
