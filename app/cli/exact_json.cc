#include "app/cli/json_argument.h"

#include <algorithm>

namespace freshet::cli {

namespace {

// The digits that count, without point, exponent and zeros at either end.
std::string digits_of(const std::string& number) {
  std::string digits;
  for (const char c : number.substr(0, number.find_first_of("eE"))) {
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

// Finds a number that is another one once it is a double.
class LostDigits final : public nlohmann::json_sax<Json> {
 public:
  const std::string& number() const { return number_; }

  bool number_float(number_float_t value, const string_t& text) override {
    if (digits_of(text) == digits_of(Json(value).dump())) return true;
    number_ = text;
    return false;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::string number_;
};

}  // namespace

Result<Json> read_argument(const std::string& what, const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return fail(ErrorCode::kValidation, what + " is not JSON in UTF-8");
  LostDigits lost;
  if (!Json::sax_parse(text, &lost)) {
    return fail(ErrorCode::kValidation, what + ": the number " + lost.number().substr(0, 100) +
                                            " has more digits than this command can pass on; send it over HTTP");
  }
  return value;
}

}  // namespace freshet::cli
