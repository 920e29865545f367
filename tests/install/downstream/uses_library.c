/* A C program that was built against the installed library, and finds it at run time. */
#include <ostinato/ostinato.h>

int main(void) { return ost_version_text()[0] == '\0'; }
