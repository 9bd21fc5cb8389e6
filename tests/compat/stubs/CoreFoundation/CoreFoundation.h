#pragma once
typedef double CFTimeInterval;
typedef const struct __CFString* CFStringRef;
extern "C" const void* __CFStringMakeConstantString(const char*);
