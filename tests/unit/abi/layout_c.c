/* The layout as a C11 compiler sees it. */
#include "layout.h"
