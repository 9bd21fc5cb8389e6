#pragma once
struct objc_object;
struct objc_class;
struct objc_selector;
typedef struct objc_selector* SEL;
typedef struct objc_class* Class;
typedef struct objc_object* id;
struct objc_object {};
extern "C" SEL sel_registerName(const char*);
extern "C" void* objc_lookUpClass(const char*);
extern "C" void* objc_getProtocol(const char*);
