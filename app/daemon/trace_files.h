// Spans in files: a line of OTLP/JSON for each batch, or a Chrome trace. A file that reaches its bound is renamed to
// FILE.1 (replacing the previous one) and a new one begins. Spans that cannot be written, for example because the disk
// is full, are dropped; later spans are tried again. Loop thread; written without a sync.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "runtime/trace/span.h"

namespace freshet {

enum class TraceFormat { kOtlp, kChrome };

// kIo if the file cannot be written to, is a link, or belongs to another user. A new file has the mode 0640. A Chrome
// trace is overwritten; the other format is appended to. The log outlives it.
Result<std::unique_ptr<SpanSink>> make_trace_file(std::string path, TraceFormat format, uint64_t most_bytes,
                                                  EventLog log);

}  // namespace freshet
