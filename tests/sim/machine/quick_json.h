// Reads and writes the JSON of a simulation's requests and answers, with the results of nlohmann-json, but faster. That
// library handles each byte on its own; the large values of some clients took a third of the simulation's time. Pure;
// one thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace freshet::sim {

// As json.dump().
std::string text_of_json(const nlohmann::json& json);
// As nlohmann::json::parse(text, nullptr, false): a text that is not JSON gives a discarded value.
nlohmann::json parse_json(std::string_view text);

}  // namespace freshet::sim
