#include <array>

#include "mlxn/text/template/internal/template_values.h"

namespace mlxn::text::detail {
namespace {

struct Date {
  int64_t year;
  int64_t month;        // from 1
  int64_t day;          // from 1
  int64_t day_of_year;  // from 1
  int64_t weekday;      // from Sunday, 0
};

bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

// Counts on from 1 March of the year 0, so that a leap day ends its year.
Date date_of(int64_t days_since_1970) {
  const int64_t days = days_since_1970 + 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * day_of_year + 2) / 153;
  Date out;
  out.day = day_of_year - (153 * shifted + 2) / 5 + 1;
  out.month = shifted < 10 ? shifted + 3 : shifted - 9;
  out.year = year_of_era + era * 400 + (out.month <= 2 ? 1 : 0);
  constexpr std::array<int64_t, 12> kBefore = {0,   31,  59,  90,  120, 151,
                                               181, 212, 243, 273, 304, 334};
  out.day_of_year = kBefore[static_cast<size_t>(out.month - 1)] + out.day +
                    (out.month > 2 && is_leap(out.year) ? 1 : 0);
  out.weekday = ((days_since_1970 % 7) + 11) % 7;
  return out;
}

std::string padded(int64_t number, size_t width, char fill = '0') {
  const std::string digits = std::to_string(number);
  return digits.size() < width ? std::string(width - digits.size(), fill) + digits : digits;
}

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

}  // namespace

std::optional<std::string> format_time(std::string_view format, int64_t unix_seconds) {
  int64_t days = unix_seconds / 86400;
  int64_t seconds = unix_seconds % 86400;
  if (seconds < 0) {
    seconds += 86400;
    --days;
  }
  const Date date = date_of(days);
  const std::string_view month = kMonths[static_cast<size_t>(date.month - 1)];
  const std::string_view weekday = kDays[static_cast<size_t>(date.weekday)];
  const int64_t hour = seconds / 3600;
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const bool bare = i + 2 < format.size() && format[i + 1] == '-';  // without leading zeros
    i += bare ? 2 : 1;
    if (i >= format.size()) return std::nullopt;
    const size_t two = bare ? 1 : 2;
    switch (format[i]) {
      case 'Y': out += std::to_string(date.year); break;
      case 'y': out += padded(date.year % 100, two); break;
      case 'm': out += padded(date.month, two); break;
      case 'd': out += padded(date.day, two); break;
      case 'e': out += padded(date.day, 2, ' '); break;
      case 'j': out += padded(date.day_of_year, bare ? 1 : 3); break;
      case 'H': out += padded(hour, two); break;
      case 'I': out += padded((hour + 11) % 12 + 1, two); break;
      case 'M': out += padded(seconds / 60 % 60, two); break;
      case 'S': out += padded(seconds % 60, two); break;
      case 'p': out += hour < 12 ? "AM" : "PM"; break;
      case 'B': out += month; break;
      case 'b': out += month.substr(0, 3); break;
      case 'A': out += weekday; break;
      case 'a': out += weekday.substr(0, 3); break;
      case '%': out += '%'; break;
      default: return std::nullopt;
    }
  }
  return out;
}

}  // namespace mlxn::text::detail
