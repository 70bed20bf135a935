// The daemon's own process as Prometheus's exporters show it, and the text of metrics.
#include "app/daemon/process_metrics.h"

#include <gtest/gtest.h>

#include "app/daemon/metrics_text.h"

namespace freshet {
namespace {

constexpr SystemUnits kUnits{1'700'000'000, 100, 4096};

TEST(ProcessMetrics, ReadsTheLineOfTheKernel) {
  const auto use = parse_process_stat(
      "4711 (fresh) et (x) S 1 4711 4711 0 -1 4194560 2000 0 7 0 250 50 0 0 20 0 9 0 12345 1073741824 25600 "
      "18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      kUnits);
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->cpu_seconds, 3.0);
  EXPECT_DOUBLE_EQ(use->start_seconds, 1'700'000'123.45);
  EXPECT_EQ(use->virtual_bytes, 1'073'741'824u);
  EXPECT_EQ(use->resident_bytes, 25'600u * 4096);
}

TEST(ProcessMetrics, AnythingElseIsNothing) {
  for (const char* text :
       {"", "4711", "4711 (freshet) S 1 2 3", "4711 (freshet) S 1 2 3 4 5 6 7 8 9 10 x y 0 0", ") "}) {
    EXPECT_FALSE(parse_process_stat(text, kUnits)) << text;
  }
  EXPECT_FALSE(parse_boot_time("cpu 1 2 3\nctxt 5\n"));
  EXPECT_FALSE(parse_boot_time("cpu 1\nbtime soon\n"));
  EXPECT_EQ(parse_boot_time("cpu 1 2\nbtime 1700000000\nprocesses 9\n"), 1'700'000'000.0);
}

TEST(ProcessMetrics, ThisProcessHasThemAll) {
  std::string page;
  append_process(page);
  for (const char* name : {"process_cpu_seconds_total", "process_start_time_seconds", "process_virtual_memory_bytes",
                           "process_resident_memory_bytes", "process_open_fds", "process_max_fds"}) {
    EXPECT_NE(page.find("# HELP " + std::string(name) + " "), std::string::npos) << page;
    EXPECT_NE(page.find("\n" + std::string(name) + " "), std::string::npos) << page;
  }
}

TEST(MetricsText, AHistogramIsCumulativeAndLabelsAreEscaped) {
  std::string out;
  append_family(out, "took_seconds", "How long", "histogram");
  append_histogram(out, "took_seconds", {{"name", "a\"b\\c\nd"}}, {{0.0005, 60}, {2, 0, 1}, 90.5});
  EXPECT_EQ(out,
            "# HELP took_seconds How long\n"
            "# TYPE took_seconds histogram\n"
            "took_seconds_bucket{name=\"a\\\"b\\\\c\\nd\",le=\"0.0005\"} 2\n"
            "took_seconds_bucket{name=\"a\\\"b\\\\c\\nd\",le=\"60\"} 2\n"
            "took_seconds_bucket{name=\"a\\\"b\\\\c\\nd\",le=\"+Inf\"} 3\n"
            "took_seconds_sum{name=\"a\\\"b\\\\c\\nd\"} 90.5\n"
            "took_seconds_count{name=\"a\\\"b\\\\c\\nd\"} 3\n");
}

}  // namespace
}  // namespace freshet
