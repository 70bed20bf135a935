#include "app/daemon/trace_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/trace/span_json.h"

namespace freshet {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class TraceFile final : public SpanSink {
 public:
  TraceFile(std::string path, TraceFormat format, uint64_t most, EventLog log)
      : path_(std::move(path)), format_(format), most_(most), log_(std::move(log)) {}

  Result<void> open(bool anew) {
    file_.reset(std::fopen(path_.c_str(), anew ? "we" : "ae"));
    if (!file_) return fail(ErrorCode::kIo, fmt::format("Cannot write the trace file {}: {}", path_, strerror(errno)));
    const long at = std::ftell(file_.get());
    size_ = at > 0 ? static_cast<uint64_t>(at) : 0;
    if (format_ == TraceFormat::kChrome) {
      chrome_ = {};
      write("[\n");
    }
    return {};
  }

  void take(const std::vector<Span>& spans) override {
    write(format_ == TraceFormat::kChrome ? chrome_.events(spans) : otlp_json(spans) + "\n");
    if (file_ && std::fflush(file_.get()) != 0) lost();
    if (size_ < most_) return;
    file_.reset();
    std::rename(path_.c_str(), (path_ + ".1").c_str());
    if (auto opened = open(true); !opened) lost();
  }
  void close() override {
    if (file_) std::fflush(file_.get());
  }

 private:
  void write(const std::string& text) {
    if (!file_) return;
    size_ += text.size();
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) lost();
  }
  // The disk is full, say: traces are not worth more than a line in the log.
  void lost() {
    log_.warn("TRACE_EXPORT_FAILED", {{"file", path_}, {"error", strerror(errno)}});
    file_.reset();
  }

  const std::string path_;
  const TraceFormat format_;
  const uint64_t most_;
  const EventLog log_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t size_ = 0;
  ChromeTrace chrome_;
};

}  // namespace

Result<std::unique_ptr<SpanSink>> make_trace_file(std::string path, TraceFormat format, uint64_t most_bytes,
                                                  EventLog log) {
  auto file = std::make_unique<TraceFile>(std::move(path), format, most_bytes, std::move(log));
  if (auto opened = file->open(format == TraceFormat::kChrome); !opened) return fail(opened.error());
  return std::unique_ptr<SpanSink>(std::move(file));
}

}  // namespace freshet
