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
    if (format_ != TraceFormat::kChrome) return {};
    chrome_ = {};
    if (size_ > 0 || write("[\n")) return {};
    const int why = errno;
    forget();
    errno = why;
    return failed(strerror(why));
  }

  void take(const std::vector<Span>& spans) override {
    // It failed before: perhaps the disk has room again.
    if (!file_ && !open(false)) return;
    if (!write(format_ == TraceFormat::kChrome ? chrome_.events(spans) : otlp_json(spans) + "\n")) return lost(errno);
    if (std::exchange(failure_logged_, false)) log_.info("TRACE_EXPORT_BACK", {{"file", path_}});
    if (size_ < most_) return;
    file_.reset();
    std::rename(path_.c_str(), (path_ + ".1").c_str());
    if (!open(true)) lost(errno);
  }
  void close() override {
    if (file_) std::fflush(file_.get());
  }

 private:
  tl::unexpected<Error> failed(const std::string& why) const {
    return fail(ErrorCode::kIo, fmt::format("cannot write the trace file {}: {}", path_, why));
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
  // The text as a whole, or nothing of it where forget() comes next. False with errno.
  bool write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) return false;
    if (std::fflush(file_.get()) != 0) return false;
    size_ += text.size();
    return true;
  }
  // The disk is full, say: traces are not worth more than a line in the log. The next spans try again.
  void lost(int error) {
    if (!std::exchange(failure_logged_, true)) {
      log_.warn("TRACE_EXPORT_FAILED", {{"file", path_}, {"error", strerror(error)}});
    }
    forget();
  }
  // Closes the file behind the last text that is whole: closing writes what is left in the buffer.
  void forget() {
    if (!file_) return;
    Fd file(::fcntl(::fileno(file_.get()), F_DUPFD_CLOEXEC, 0));
    file_.reset();
    if (file) (void)!::ftruncate(file.get(), static_cast<off_t>(size_));
  }

  const std::string path_;
  const TraceFormat format_;
  const uint64_t most_;
  const EventLog log_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t size_ = 0;            // Bytes of the file up to its last whole text.
  bool failure_logged_ = false;  // It failed, and the log says so.
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
