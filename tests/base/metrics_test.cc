#include "base/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace freshet {
namespace {

TEST(Metrics, PrintsPrometheusText) {
  Metrics metrics;
  metrics.counter("freshet_tasks_total", "Tasks.", {{"state", "a\"b\\c\nd"}}).add(3);
  metrics.gauge("freshet_depth", "Depth.").set(1.5);
  Histogram& latency = metrics.histogram("freshet_latency_seconds", "Latency.", {0.1, 1});
  latency.observe(0.1);  // Bounds are inclusive.
  latency.observe(0.5);
  latency.observe(7);
  EXPECT_EQ(metrics.text(),
            "# HELP freshet_depth Depth.\n"
            "# TYPE freshet_depth gauge\n"
            "freshet_depth 1.5\n"
            "# HELP freshet_latency_seconds Latency.\n"
            "# TYPE freshet_latency_seconds histogram\n"
            "freshet_latency_seconds_count 3\n"
            "freshet_latency_seconds_sum 7.6\n"
            "freshet_latency_seconds_bucket{le=\"0.1\"} 1\n"
            "freshet_latency_seconds_bucket{le=\"1\"} 2\n"
            "freshet_latency_seconds_bucket{le=\"+Inf\"} 3\n"
            "# HELP freshet_tasks_total Tasks.\n"
            "# TYPE freshet_tasks_total counter\n"
            "freshet_tasks_total{state=\"a\\\"b\\\\c\\nd\"} 3\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
  Metrics metrics;
  Counter& first = metrics.counter("n", "", {{"k", "1"}});
  for (int i = 2; i < 100; ++i) metrics.counter("n", "", {{"k", std::to_string(i)}});
  EXPECT_EQ(&first, &metrics.counter("n", "", {{"k", "1"}}));
  EXPECT_NE(&first, &metrics.counter("n", "", {{"k", "2"}}));
}

TEST(Metrics, UpdatesFromManyThreadsAreNotLost) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics, t] {
      Counter& counter = metrics.counter("c", "");
      Gauge& gauge = metrics.gauge("g", "");
      Histogram& histogram = metrics.histogram("h", "", {1, 2, 3});
      for (int i = 0; i < 1000; ++i) {
        counter.add();
        gauge.add(2);
        histogram.observe(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics.counter("c", "").value(), 4000u);
  EXPECT_EQ(metrics.gauge("g", "").value(), 8000);
  EXPECT_EQ(metrics.histogram("h", "", {}).count(), 4000u);
  EXPECT_EQ(metrics.histogram("h", "", {}).bucket(0), 2000u);
}

TEST(Metrics, QuantilesAreInterpolated) {
  Histogram histogram({1, 2, 4});
  EXPECT_EQ(histogram.quantile(0.5), 0);
  for (int i = 0; i < 100; ++i) histogram.observe(1.5);
  EXPECT_DOUBLE_EQ(histogram.quantile(0.5), 1.5);
  EXPECT_DOUBLE_EQ(histogram.quantile(1), 2);
  for (int i = 0; i < 300; ++i) histogram.observe(100);
  EXPECT_DOUBLE_EQ(histogram.quantile(0.9), 4);
}

TEST(MetricsDeathTest, ANameWithTwoTypesIsABrokenInvariant) {
  Metrics metrics;
  metrics.counter("n", "");
  EXPECT_DEATH(metrics.gauge("n", ""), "one metric name has one type");
  EXPECT_DEATH(metrics.gauge("bad name", ""), "not a Prometheus metric name");
}

TEST(Metrics, WhatIsHiddenComesBackWithItsValue) {
  Metrics metrics;
  Counter& counter = metrics.counter("freshet_x_total", "x", {{"queue", "jobs"}});
  metrics.gauge("freshet_y", "y", {{"queue", "mails"}}).set(1);
  counter.add(2);
  metrics.hide("queue", "jobs");
  EXPECT_EQ(metrics.text().find("jobs"), std::string::npos);
  EXPECT_NE(metrics.text().find("mails"), std::string::npos);
  counter.add(1);
  metrics.show("queue", "jobs");
  EXPECT_NE(metrics.text().find("freshet_x_total{queue=\"jobs\"} 3"), std::string::npos) << metrics.text();
}

}  // namespace
}  // namespace freshet
