#pragma once

#include "../Foundation/NSDefines.hpp"
