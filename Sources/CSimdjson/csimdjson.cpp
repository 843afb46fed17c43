#include "csimdjson.h"
extern "C" int csimdjson_placeholder(void) { return 0; }
