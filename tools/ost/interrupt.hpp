// Ctrl-C: the first one asks to stop at the next safe place, the second ends the process.
#pragma once

void install_interrupt_handler();
// Throws Failure(kInterrupted) if it was pressed. Called between runs and before files are written.
void check_interrupt();
