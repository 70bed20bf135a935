// The lab's reports: sentences that agree with the figures, a table that fits a terminal, and a page on which no text
// covers another.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "app/lab/chart.h"
#include "app/lab/findings.h"
#include "app/lab/report.h"

namespace freshet::lab {
namespace {

Cell cell(const std::string& policy, double load, std::map<std::string, double> figures) {
  Cell out;
  out.policy = *policy_of(policy);
  out.scenario.load = load;
  for (const auto& [name, value] : figures) out.figures[name] = {value, 0.01};
  return out;
}

TEST(LabFindings, SayWhoDoesMoreAndTheContraryWhereItIsSo) {
  const auto goodput = [](double ours, double fifo) {
    return goodput_finding({cell("freshet", 0.5, {{"ofClairvoyant", 1}}), cell("fifo", 0.5, {{"ofClairvoyant", 1}}),
                            cell("freshet", 10, {{"ofClairvoyant", ours}}),
                            cell("fifo", 10, {{"ofClairvoyant", fifo}})});
  };
  EXPECT_EQ(
      goodput(0.976, 0.02),
      "Freshet does at least 97 % of what the clairvoyant does in time, from 0.5 to 10 x capacity; FIFO falls to 2 %.");
  EXPECT_EQ(goodput(0.4, 0.92),
            "FIFO does at least 92 % of what the clairvoyant does in time, from 0.5 to 10 x capacity; Freshet falls to "
            "40 %.");
  EXPECT_EQ(goodput(0.976, 0.977),
            "Freshet and FIFO both do at least 97 % of what the clairvoyant does in time, from 0.5 to 10 x capacity.");

  const auto median = [](double ours, double fifo) {
    return median_wait_finding({cell("fifo", 2, {{"ageP50Ms", fifo}}), cell("freshet", 2, {{"ageP50Ms", ours}})});
  };
  EXPECT_EQ(
      median(2.7, 15'000),
      "At 2 x capacity half of the started tasks waited less with Freshet (up to 2.7 ms) than with FIFO (up to 15 "
      "s).");
  EXPECT_EQ(median(350, 1.2),
            "At 2 x capacity half of the started tasks waited longer with Freshet (up to 350 ms) than with FIFO (up to "
            "1.2 ms).");
  EXPECT_EQ(
      waste_finding({cell("freshet", 2, {{"wastedShare", 0.101}}), cell("fifo", 2, {{"wastedShare", 0.1}})}),
      "At 2 x capacity the workers spend as much of their time on late tasks with Freshet (10 %) as with FIFO (10 "
      "%).");
}

TEST(LabFindings, OfRecoveriesAreWithinTheRun) {
  auto ours = cell("freshet", 3, {{"recoveryMs", 0}});
  auto fifo = cell("fifo", 3, {{"recoveryMs", 20'000}});
  for (Cell* one : {&ours, &fifo}) {
    one->scenario.shape = Shape::kStep;
    one->scenario.duration = seconds(50);
  }
  EXPECT_EQ(
      recovery_finding({fifo, ours}),
      "After 10 s at 3 x capacity nine of ten tasks are in time again sooner with Freshet (at once) than with FIFO "
      "(not within 20 s).");
  fifo.figures["recoveryMs"].mean = 0;
  ours.figures["recoveryMs"].mean = 5260;
  EXPECT_EQ(recovery_finding({fifo, ours}),
            "After 10 s at 3 x capacity nine of ten tasks are in time again later with Freshet (after 5.3 s) than with "
            "FIFO (at once).");
}

TEST(LabFindings, OfOnePolicyAloneAndOfNothing) {
  EXPECT_EQ(goodput_finding({}), "");
  EXPECT_EQ(conclusion({}), "");
  EXPECT_EQ(median_wait_finding({cell("fifo", 2, {})}), "") << "nothing was started";
  EXPECT_EQ(goodput_finding({cell("fifo", 2, {{"goodput", 0.031}})}), "At 2 x capacity, goodput with FIFO: 3 %.");
  EXPECT_EQ(conclusion({cell("freshet", 2, {{"goodput", 0.999}})}),
            "In this scenario Freshet does 99.9 % of capacity in time.");
}

TEST(LabFindings, TheConclusionCountsWhereTheOtherIsAhead) {
  std::vector<Cell> cells = {cell("freshet", 1, {{"ofClairvoyant", 0.9}, {"goodput", 0.9}}),
                             cell("fifo", 1, {{"ofClairvoyant", 0.95}, {"goodput", 0.95}}),
                             cell("freshet", 2, {{"ofClairvoyant", 1}, {"goodput", 1}}),
                             cell("fifo", 2, {{"ofClairvoyant", 0.004}, {"goodput", 0.004}})};
  EXPECT_EQ(conclusion(cells),
            "Freshet does at least 90 % of what the clairvoyant does in time, in each of 2 scenarios; FIFO falls to "
            "0.4 %, but does "
            "more than Freshet in 1 of them.");
}

TEST(LabFindings, APolicyThatFallsToAlmostNothingIsSaidToFall) {
  const std::vector<Cell> cells = {cell("freshet", 1, {{"goodput", 0.9}}), cell("fifo", 1, {{"goodput", 0.8}}),
                                   cell("freshet", 2, {{"goodput", 0.87}}), cell("fifo", 2, {{"goodput", 0.003}})};
  EXPECT_EQ(conclusion(cells),
            "In each of 2 scenarios Freshet does at least 87 % of capacity in time, FIFO falls to 0.3 %.");
  const std::vector<Cell> worse = {cell("freshet", 1, {{"goodput", 0.9}}), cell("fifo", 1, {{"goodput", 0.8}}),
                                   cell("freshet", 2, {{"goodput", 0.3}}), cell("fifo", 2, {{"goodput", 0.7}})};
  EXPECT_EQ(conclusion(worse), "In each of 2 scenarios Freshet falls to 30 % of capacity in time, FIFO at least 70 %.");
  const std::vector<Cell> same = {cell("freshet", 1, {{"goodput", 0.9}}), cell("fifo", 1, {{"goodput", 0.9}}),
                                  cell("freshet", 2, {{"goodput", 0.8}}), cell("fifo", 2, {{"goodput", 0.8}})};
  EXPECT_EQ(conclusion(same),
            "In each of 2 scenarios Freshet does at least 80 % of capacity in time, FIFO at least 80 %.");
}

TEST(LabFindings, TheConclusionNamesTheRowThatItMeans) {
  std::vector<Cell> cells = {cell("freshet", 2, {{"goodput", 0.9}}), cell("freshet-margin", 2, {{"goodput", 0.8}}),
                             cell("fifo", 2, {{"goodput", 0.1}})};
  const std::string sentence = "In this scenario Freshet does 90.0 % of capacity in time, FIFO 10.0 %.";
  for (size_t i = 0; i < 2; ++i) cells[i].policy.product = true;
  cells[0].policy.title = "Freshet as it comes";
  EXPECT_EQ(conclusion(cells),
            sentence + " \"Freshet\" is the row \"Freshet as it comes\", one of Freshet's 2 policies.");
  cells.erase(cells.begin() + 1);
  EXPECT_EQ(conclusion(cells), sentence) << "there is no other row of its own";
}

TEST(LabReport, AGoodputAboveCapacityIsExplained) {
  const std::string sentence = "A goodput above 100 % is chance";
  EXPECT_NE(table_report({cell("freshet", 1, {{"goodput", 1.004}})}).find(sentence), std::string::npos);
  EXPECT_EQ(table_report({cell("freshet", 1, {{"goodput", 1.0004}})}).find(sentence), std::string::npos)
      << "the table shows 100.0";
  const Cell above = cell("freshet", 1, {{"goodput", 1.004}});
  Experiment experiment;
  experiment.policies = {above.policy};
  EXPECT_NE(html_report(experiment, {above}).find("A goodput above 100\u00a0% is chance"), std::string::npos);
}

TEST(LabChart, TicksAreRound) {
  EXPECT_EQ(round_ticks(100, 4.5), (std::vector<double>{0, 25, 50, 75, 100}));
  EXPECT_EQ(round_ticks(104, 4.5), (std::vector<double>{0, 25, 50, 75, 100}));
  EXPECT_EQ(round_ticks(70, 7.5), (std::vector<double>{0, 10, 20, 30, 40, 50, 60, 70}));
  EXPECT_EQ(round_ticks(0, 4), (std::vector<double>{0}));
}

TEST(LabChart, LabelsMoveNoMoreThanTheyMust) {
  EXPECT_EQ(spread({10, 50, 90}, 15, 0, 100), (std::vector<double>{10, 50, 90}));
  EXPECT_EQ(spread({50, 50, 50}, 10, 0, 100), (std::vector<double>{40, 50, 60}));
  EXPECT_EQ(spread({0, 1, 99, 100}, 10, 0, 100), (std::vector<double>{0, 10, 90, 100}));
  EXPECT_EQ(spread({}, 10, 0, 100), std::vector<double>{});
}

// Every policy of the lab, in the plots that the story has, with figures that lie close together.
std::vector<Cell> story() {
  std::vector<Cell> out;
  double step = 0;
  const auto add = [&](const Policy& policy, Scenario scenario, double recovery) {
    Cell one;
    one.policy = policy;
    one.scenario = scenario;
    for (const char* name : {"goodput", "ofClairvoyant", "wastedShare", "quietInTimeShare", "jain", "lateShare"}) {
      one.figures[name] = {0.97 + step, 0.01};
    }
    one.figures["ageP50Ms"] = one.figures["ageP99Ms"] = {54'321.5 + step, 1};
    if (recovery >= 0) one.figures["recoveryMs"] = {recovery, 0};
    for (int p = 0; p <= 100; ++p) one.first.ages.push_back(p + step);
    one.first.bins.assign(200, Bin{10, 9});
    out.push_back(one);
    step += 0.0001;
  };
  for (const double load : {0.5, 0.8, 0.95, 1.0, 1.05, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0}) {
    for (const auto& policy : policies()) {
      Scenario scenario;
      scenario.load = load;
      add(policy, scenario, -1);
    }
  }
  for (const Shape shape : {Shape::kStep, Shape::kStall}) {
    for (const auto& policy : policies()) {
      Scenario scenario;
      scenario.shape = shape;
      scenario.load = 3;
      scenario.duration = seconds(50);
      add(policy, scenario, 100);
    }
  }
  for (const auto& policy : policies()) {
    Scenario scenario;
    scenario.load = 3;
    scenario.quiet_share = 0.001;
    add(policy, scenario, -1);
  }
  return out;
}

std::string page() {
  Experiment experiment;
  experiment.policies = policies();
  return html_report(experiment, story());
}

std::vector<std::string> parts_of(const std::string& text, const std::string& begin, const std::string& end) {
  std::vector<std::string> out;
  for (size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++at) {
    out.push_back(text.substr(at, text.find(end, at) - at));
  }
  return out;
}

size_t count(const std::string& text, const std::string& what) {
  size_t out = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++out;
  return out;
}

TEST(LabPage, EachPlotShowsSixCurvesAndHidesTheOthers) {
  const auto html = page();
  EXPECT_EQ(count(html, "<script"), 0u);
  EXPECT_EQ(count(html, "<input type=\"checkbox\""), policies().size() - 6 + 1);
  const auto plots = parts_of(html, "<svg", "</svg>");
  ASSERT_EQ(plots.size(), 2 * 5u) << "five plots, wide and narrow";
  for (const auto& plot : plots) {
    EXPECT_EQ(count(plot, "class=\"line "), policies().size());
    EXPECT_EQ(count(plot, "class=\"line hidden "), policies().size() - 6);
    EXPECT_EQ(count(plot, "class=\"name "), policies().size()) << "each is named at its end";
    for (const char* name : {">Freshet<", ">FIFO<", ">FIFO + TTL<", ">FIFO + CoDel<", ">LIFO + TTL<"}) {
      EXPECT_EQ(count(plot, name), 1u) << name;
    }
  }
  for (const auto& figure : parts_of(html, "<figure", "</figcaption>")) {
    EXPECT_EQ(count(figure, "<strong>"), 1u) << figure << "\nbegins with no sentence";
  }
}

struct PlacedText {
  double x, y, from, to;
};

// Where the texts of a plot are, by a font whose letters are 0.62 of their height wide.
std::vector<PlacedText> texts_of(const std::string& plot) {
  const double font = std::stod(plot.substr(plot.find("font-size=\"") + 11));
  static const std::regex kText("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"([a-z]+)\"[^>]*>([^<]*)<");
  std::vector<PlacedText> out;
  for (std::sregex_iterator it(plot.begin(), plot.end(), kText), end; it != end; ++it) {
    const double x = std::stod((*it)[1]), width = 0.62 * font * static_cast<double>((*it)[4].length());
    const double from = (*it)[3] == "end" ? x - width : (*it)[3] == "middle" ? x - width / 2 : x;
    out.push_back({x, std::stod((*it)[2]), from, from + width});
  }
  return out;
}

TEST(LabPage, NoTextCoversAnother) {
  for (const auto& plot : parts_of(page(), "<svg", "</svg>")) {
    const double font = std::stod(plot.substr(plot.find("font-size=\"") + 11));
    const auto texts = texts_of(plot);
    ASSERT_GT(texts.size(), policies().size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_GE(texts[i].from, -1.0) << "cut off at the left";
      for (size_t j = 0; j < i; ++j) {
        const bool beside = texts[i].to <= texts[j].from || texts[j].to <= texts[i].from;
        EXPECT_TRUE(beside || std::abs(texts[i].y - texts[j].y) >= font) << plot;
      }
    }
  }
}

std::vector<std::pair<double, double>> points_of(const std::string& polyline) {
  static const std::regex kPoint("([-0-9.]+),([-0-9.]+)");
  const auto points = polyline.substr(polyline.find("points="));
  std::vector<std::pair<double, double>> out;
  for (std::sregex_iterator it(points.begin(), points.end(), kPoint), end; it != end; ++it) {
    out.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  }
  return out;
}

// True if the line from `a` to `b` runs through the letters of that text.
bool crosses(std::pair<double, double> a, std::pair<double, double> b, const PlacedText& text, double font) {
  for (int i = 0; i <= 100; ++i) {
    const double x = a.first + (b.first - a.first) * i / 100, y = a.second + (b.second - a.second) * i / 100;
    if (x > text.from && x < text.to && y > text.y - 0.78 * font && y < text.y + 0.22 * font) return true;
  }
  return false;
}

TEST(LabPage, NoLineRunsThroughAName) {
  for (const auto& plot : parts_of(page(), "<svg", "</svg>")) {
    const double font = std::stod(plot.substr(plot.find("font-size=\"") + 11));
    const auto texts = texts_of(plot);
    for (const auto& leader : parts_of(plot, "<polyline class=\"leader", "/>")) {
      const auto points = points_of(leader);
      ASSERT_GE(points.size(), 3u);
      for (size_t i = 1; i < points.size(); ++i) {
        for (const auto& text : texts) EXPECT_FALSE(crosses(points[i - 1], points[i], text, font)) << leader << plot;
      }
    }
  }
}

TEST(LabChart, LinesPassBetweenLabels) {
  EXPECT_EQ(lanes({}, {10}, 5, 1), std::vector<double>{});
  EXPECT_EQ(lanes({3, 12, 50}, {}, 5, 1), (std::vector<double>{3, 12, 50})) << "nothing is in the way";
  EXPECT_EQ(lanes({3, 24, 27}, {10, 30}, 6, 1), (std::vector<double>{3, 23, 24})) << "in the space of 16 to 24";
  EXPECT_EQ(lanes({10, 10, 10}, {5, 10, 15}, 4, 1), (std::vector<double>{-1, 0, 1})) << "there is no space between";
}

TEST(LabPage, ANumberAndItsUnitStayOnOneLine) {
  EXPECT_EQ(html_text("FIFO falls to 2 %, within 20 s."), "FIFO falls to 2\u00a0%, within 20\u00a0s.");
  EXPECT_EQ(html_text("start within 1.9 s"), "start within 1.9\u00a0s");
  EXPECT_EQ(html_text("2 xylophones, 3 sheds"), "2 xylophones, 3 sheds");
  static const std::regex kApart(">[^<]*[0-9] %[^<]*<");
  const auto html = page();
  std::smatch found;
  EXPECT_FALSE(std::regex_search(html, found, kApart)) << found.str();
}

TEST(LabPage, EachTableScrollsByItself) {
  const auto html = page();
  const auto tables = parts_of(html, "<div class=\"scroll\" role=\"region\"", "</div>");
  EXPECT_EQ(tables.size(), count(html, "<table>"));
  EXPECT_EQ(tables.size(), 14u) << "eleven loads, a step, a stall, and two groups";
  for (const auto& table : tables) EXPECT_EQ(count(table, "<table>"), 1u);
}

TEST(LabPage, EachScenarioHasAPlotOfItsOwn) {
  Experiment experiment;
  std::vector<Cell> cells;
  for (const char* name : {"fifo", "freshet"}) experiment.policies.push_back(*policy_of(name));
  for (const double load : {2.0, 10.0}) {
    for (const Shape shape : {Shape::kStep, Shape::kStall}) {
      for (const auto& policy : experiment.policies) {
        cells.push_back(cell(policy.name, load, {{"goodput", 0.5}, {"quietInTimeShare", 0.5}, {"recoveryMs", 1}}));
        cells.back().scenario.shape = shape;
        cells.back().scenario.duration = seconds(50);
        cells.back().scenario.quiet_share = 0.001;
        cells.back().first.bins.assign(200, Bin{10, 9});
      }
    }
  }
  const auto html = html_report(experiment, cells);
  const auto figures = parts_of(html, "<figure", "</figure>");
  EXPECT_EQ(figures.size(), 2u * 2 * 2) << "over time, and the quiet group, at each load and shape";
  for (const auto& figure : figures) {
    EXPECT_LE(count(figure, "class=\"bar "), 2u) << figure;
    EXPECT_LE(count(figure, "class=\"line "), 2u * 2) << "wide and narrow";
  }
  EXPECT_EQ(count(html, "within the deadline, stall 10\u00a0x, %"), 1u);
}

TEST(LabPage, PlacesThatAreFreeGoToOthersAndTheirNamesAreText) {
  Policy rival;
  rival.name = rival.title = "<b>a & \"b\"</b>";
  rival.command = "true";
  Experiment experiment;
  experiment.policies = {*policy_of("fifo"), rival, *policy_of("freshet-bounded")};
  std::vector<Cell> cells;
  for (const auto& policy : experiment.policies) {
    for (const double load : {1.0, 2.0}) {
      cells.push_back(cell("fifo", load, {{"goodput", 0.5}}));
      cells.back().policy = policy;
    }
  }
  const auto html = html_report(experiment, cells);
  EXPECT_EQ(count(html, "<b>"), 0u);
  EXPECT_EQ(count(html, "class=\"line hidden"), 0u);
  EXPECT_EQ(count(html, "<input"), 0u);
  std::set<std::string> styles;
  for (const auto& line : parts_of(html, "<polyline class=\"line ", "\" points")) styles.insert(line);
  EXPECT_EQ(styles.size(), 3u) << "each has a colour of its own";
}

TEST(LabTable, FitsAHundredColumnsAndEndsWithAConclusion) {
  auto cells = story();
  cells.front().policy.title = std::string(60, 'x');
  for (const char* name : {"createP50Ms", "createP99Ms", "rejectP50Ms", "rejectP99Ms", "rssFirstHalfMiB"}) {
    cells.back().figures[name] = {123'456.7, 1};
  }
  const auto table = table_report(cells);
  size_t start = 0;
  for (size_t end = 0; (end = table.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 100u) << table.substr(start, end - start);
  }
  auto last = table.substr(table.rfind("\n\n") + 2);
  std::replace(last.begin(), last.end(), '\n', ' ');
  EXPECT_TRUE(last.starts_with(conclusion(cells) + " ")) << last;
  EXPECT_EQ(count(table, "create p50"), 1u) << "only where it was measured";
}

}  // namespace
}  // namespace freshet::lab
