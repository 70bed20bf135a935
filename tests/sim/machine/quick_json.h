// JSON texts of a simulation's requests and answers. nlohmann-json takes each byte by itself, and the values of some
// clients are large: it took a third of the simulation's time. What these give is the same. Pure; one thread.
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
