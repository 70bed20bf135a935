// Trace files on a disk that is full for a while: the bound of a file's size stands for it.
#include "app/daemon/trace_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace freshet {
namespace {

// No file of this process can grow beyond `bytes` while it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int);
};

struct TraceFilesTest : testing::TestWithParam<TraceFormat> {
  std::string path = testing::TempDir() + "freshet-trace-" + std::to_string(::getpid()) + ".json";
  ~TraceFilesTest() override {
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".1");
  }
  std::unique_ptr<SpanSink> open(uint64_t most = 1 << 30) const {
    auto opened = make_trace_file(path, GetParam(), most, EventLog());
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  static std::vector<Span> span(const std::string& name) {
    Span one;
    one.trace_id = std::string(32, '1');
    one.span_id = std::string(16, '2');
    one.name = name;
    one.start_ns = 1'000'000;
    one.end_ns = 2'000'000;
    return {one};
  }
  std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  uint64_t size() const { return std::filesystem::file_size(path); }
};
INSTANTIATE_TEST_SUITE_P(Formats, TraceFilesTest, testing::Values(TraceFormat::kOtlp, TraceFormat::kChrome),
                         [](const auto& format) { return format.param == TraceFormat::kOtlp ? "otlp" : "chrome"; });

TEST_P(TraceFilesTest, AFullDiskCostsOnlyTheSpansOfThatTime) {
  auto sink = open();
  sink->take(span("first"));
  const uint64_t whole = size();
  {
    FullDisk full(whole + 10);
    sink->take(span("second"));
    sink->take(span("third"));
  }
  EXPECT_EQ(size(), whole) << "no half of a line is left";
  sink->take(span("fourth"));
  sink.reset();
  const std::string all = text();
  EXPECT_NE(all.find("first"), std::string::npos);
  EXPECT_EQ(all.find("second"), std::string::npos);
  EXPECT_EQ(all.find("third"), std::string::npos);
  EXPECT_NE(all.find("fourth"), std::string::npos) << "there is room again";
  EXPECT_EQ(all.find('[' + std::string("\n"), 1), std::string::npos) << "a Chrome trace begins once";
}

}  // namespace
}  // namespace freshet
