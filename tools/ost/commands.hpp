// One function a command; each returns an exit code and throws ostinato::Error or Failure.
#pragma once

#include <ostinato/ostinato.hpp>

#include "exit_codes.hpp"
#include "options.hpp"

int run_devices(const Options& options);
int run_plugins(const Options& options);
int run_doctor(const Options& options);
int run_env(const Options& options);
int run_version(const Options& options);
int run_cache(const Options& options);
int run_run(const Options& options);
int run_capture(const Options& options);
int run_replay(const Options& options);
int run_bench(const Options& options);
int run_verify(const Options& options);
int run_inspect(const Options& options);
int run_explain(const Options& options);
int run_diff(const Options& options);
int run_link(const Options& options);
int run_plugin(const Options& options);

ostinato::Context make_context(const Options& options);
