// The page of metrics as an OTLP request.
#include "app/daemon/otlp_metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/daemon/metrics_text.h"

namespace freshet {
namespace {

using nlohmann::json;

const MetricsOrigin kOrigin{WallTime(milliseconds(1000)), WallTime(milliseconds(2500)), "http://127.0.0.1:7070"};

json metrics_of(const std::string& page) {
  const json document = json::parse(otlp_metrics_json(read_metrics_page(page), kOrigin));
  return document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
}

TEST(OtlpMetrics, CountersAndGaugesKeepTheirNamesLabelsAndValues) {
  Metrics metrics;
  metrics.counter("tasks_total", "Tasks", {{"queue", "a \"b\" \\ c\nd"}, {"state", "DEAD"}}).set(7);
  metrics.gauge("age_seconds", "Age").set(1.5);
  const json all = metrics_of(metrics.text());
  ASSERT_EQ(all.size(), 2u);
  const json& counter = all[0]["name"] == "tasks_total" ? all[0] : all[1];
  const json& gauge = all[0]["name"] == "tasks_total" ? all[1] : all[0];
  EXPECT_EQ(counter["description"], "Tasks");
  EXPECT_EQ(counter["sum"]["isMonotonic"], true);
  EXPECT_EQ(counter["sum"]["aggregationTemporality"], 2);
  const json& point = counter["sum"]["dataPoints"][0];
  EXPECT_EQ(point["asDouble"], 7);
  EXPECT_EQ(point["startTimeUnixNano"], "1000000000");
  EXPECT_EQ(point["timeUnixNano"], "2500000000");
  EXPECT_EQ(point["attributes"][0]["key"], "queue");
  EXPECT_EQ(point["attributes"][0]["value"]["stringValue"], "a \"b\" \\ c\nd");
  EXPECT_EQ(point["attributes"][1]["value"]["stringValue"], "DEAD");
  EXPECT_EQ(gauge["unit"], "s");
  EXPECT_EQ(gauge["gauge"]["dataPoints"][0]["asDouble"], 1.5);
  EXPECT_EQ(gauge["gauge"]["dataPoints"][0]["attributes"], json::array());
}

TEST(OtlpMetrics, AHistogramHasTheCountOfEachBucket) {
  std::string page;
  append_family(page, "wait_seconds", "Waits", "histogram");
  append_histogram(page, "wait_seconds", {{"queue", "a"}}, {{0.1, 1}, {2, 0, 3}, 31.5});
  append_histogram(page, "wait_seconds", {{"queue", "b"}}, {{0.1, 1}, {0, 4, 0}, 2});
  const json metric = metrics_of(page)[0];
  EXPECT_EQ(metric["histogram"]["aggregationTemporality"], 2);
  const json& points = metric["histogram"]["dataPoints"];
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0]["count"], "5");
  EXPECT_EQ(points[0]["sum"], 31.5);
  EXPECT_EQ(points[0]["bucketCounts"], json({"2", "0", "3"}));
  EXPECT_EQ(points[0]["explicitBounds"], json({0.1, 1}));
  EXPECT_EQ(points[1]["bucketCounts"], json({"0", "4", "0"}));
  EXPECT_EQ(points[1]["attributes"].size(), 1u) << "the bound is no attribute";
}

TEST(OtlpMetrics, SaysWhoSendsAndLeavesOutWhatIsNoNumber) {
  Metrics metrics;
  metrics.gauge("ratio", "A ratio").set(std::numeric_limits<double>::quiet_NaN());
  const json document = json::parse(otlp_metrics_json(read_metrics_page(metrics.text()), kOrigin));
  const json& origin = document["resourceMetrics"][0]["resource"]["attributes"];
  EXPECT_EQ(origin[0]["value"]["stringValue"], "freshet");
  EXPECT_EQ(origin[2]["key"], "service.instance.id");
  EXPECT_EQ(origin[2]["value"]["stringValue"], "http://127.0.0.1:7070");
  EXPECT_EQ(document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"], json::array());
}

TEST(OtlpMetrics, LinesThatAreCutOffAreLeftOut) {
  for (const char* line :
       {"a", "a{", "a{b", "a{b=", "a{b=\"", "a{b=\"c", "a{b=\"c\"", "a{b=\"c\"}", "a{b=\"c\"} x", "a 1 2"}) {
    const auto families = read_metrics_page(std::string("# HELP a A\n# TYPE a gauge\n") + line);
    ASSERT_EQ(families.size(), 1u) << line;
    EXPECT_TRUE(families[0].samples.empty()) << line;
  }
}

}  // namespace
}  // namespace freshet
