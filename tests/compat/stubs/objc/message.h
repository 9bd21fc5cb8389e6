#pragma once
#include <objc/runtime.h>
extern "C" void objc_msgSend(void);
extern "C" void objc_msgSend_fpret(void);
extern "C" void objc_msgSend_stret(void);
