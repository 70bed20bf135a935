#include "app/daemon/trace_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/trace/span_json.h"
#include "wire/http/io_thread.h"

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
    auto opened = open_file(anew);
    if (!opened) return fail(opened.error());
    struct stat about {};
    ::fstat(opened->get(), &about);
    size_ = static_cast<uint64_t>(about.st_size);
    file_.reset(::fdopen(::fcntl(opened->get(), F_DUPFD_CLOEXEC, 0), "a"));
    if (!file_) return failed(strerror(errno));
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
  tl::unexpected<Error> failed(const std::string& why) const {
    return fail(ErrorCode::kIo, fmt::format("Cannot write the trace file {}: {}", path_, why));
  }
  // Opens a new file, or one that exists and belongs to this user. Traces show the daemon's traffic, and others may be
  // able to write to their folder: links are not followed.
  Result<Fd> open_file(bool anew) const {
    constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    Fd file(::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, 0640));
    if (file) return file;
    if (errno != EEXIST) return failed(strerror(errno));
    file.reset(::open(path_.c_str(), kFlags | O_NONBLOCK));
    if (!file && errno == ELOOP) return failed("it is a symbolic link");
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0) return failed(strerror(errno));
    if (!S_ISREG(about.st_mode) || about.st_nlink != 1) return failed("it is no file, or has other names");
    if (about.st_uid != ::geteuid() && about.st_uid != 0) return failed("it belongs to another user");
    if (anew && ::ftruncate(file.get(), 0) != 0) return failed(strerror(errno));
    return file;
  }
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
