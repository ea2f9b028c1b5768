// The one translation unit that holds volk's entry points.
#define VOLK_IMPLEMENTATION
#include "volk.h"
