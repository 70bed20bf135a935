#include "app/daemon/start_refusal.h"

#include <iostream>

#include "base/plain_text.h"

namespace freshet {

namespace {

// Committer::reserve_bytes(), in words.
std::string five_segments(const DaemonOptions& options) {
  return "five segments of " + std::to_string(options.segment_bytes) + " bytes";
}

constexpr std::string_view kAdvice =
    ", more with many tasks in the store: free space there, or take smaller segments (--segment-bytes)";

constexpr std::string_view kDescriptors =
    ": the daemon may have no more files open; raise the limit (ulimit -n, or LimitNOFILE of a systemd unit)";

bool is_forbidden(const Error& error) {
  return error.message.ends_with(": Permission denied");
}

}  // namespace

void print_refusal(const Error& error, const std::string& file) {
  const std::string& text = error.message;
  std::cerr << "freshet: " << (file.empty() ? plain_text(text) : plain_lines(text, plain_text(file) + ":")) << '\n';
}

Error start_refusal(const Error& error, const EmbeddedStats& stats, const DaemonOptions& options) {
  // In memory it is --max-memory-bytes, which the error names.
  if (error.message.find("lacks a file descriptor") != std::string::npos) {
    return {error.code, "the template's tables cannot be made" + std::string(kDescriptors), {}};
  }
  if (error.code != ErrorCode::kThroughputExceeded || options.data == kMemoryDirectory) return error;
  const bool is_engines = options.store != "embedded" && error.message.find("--max-data-bytes") == std::string::npos;
  if (is_engines) return error;  // It throttles.
  return {error.code,
          "no room for the template's tables in " + options.data + ": the disk (or --max-data-bytes) leaves " +
              std::to_string(stats.log_bytes_left) + " bytes, and tables are made while " + five_segments(options) +
              " are left" + std::string(kAdvice),
          {}};
}

Error bind_refusal(const Error& error) {
  const std::string ports = is_forbidden(error) ? "ports below 1024 are for root, and for a program with "
                                                  "CAP_NET_BIND_SERVICE; "
                                                : "";
  return {error.code,
          error.message + " (" + ports + "--listen 127.0.0.1:PORT chooses another port, and port 0 a free one)",
          {}};
}

Error open_refusal(const Error& error, const DaemonOptions& options) {
  if (is_forbidden(error)) {
    return {error.code,
            error.message +
                " (the daemon's user may not write there: give it that folder, as chown does, or name one "
                "of its own with --data)",
            {}};
  }
  if (error.code == ErrorCode::kUnavailable) return {error.code, error.message + std::string(kDescriptors), {}};
  if (error.message.starts_with("cannot create directory ")) {
    return {error.code,
            error.message + " (--data " + options.data +
                ": it takes a folder, or the name of one that the daemon may make in a folder that is there)",
            {}};
  }
  if (error.code == ErrorCode::kConflict) {
    return {error.code, error.message + " (stop the daemon that has it open, or name another folder with --data)", {}};
  }
  if (error.code != ErrorCode::kDiskFull) return error;
  return {error.code, error.message + ": a start needs room for " + five_segments(options) + std::string(kAdvice), {}};
}

}  // namespace freshet
