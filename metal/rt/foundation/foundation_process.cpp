// NS::ProcessInfo.
#include <pwd.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "metal/rt/foundation/property.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

class ProcessInfoObject : public Object {
 public:
  using Api = NS::ProcessInfo;
  Label name;
};

namespace {

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (size_t at = 0; at < bytes.size(); at = bytes.find('\0', at) + 1) {
    words.emplace_back(bytes.c_str() + at);
    if (bytes.find('\0', at) == std::string::npos) break;
  }
  return words;
}

std::string program_name() {
  auto words = command_line();
  if (words.empty()) return "unknown";
  const size_t slash = words[0].rfind('/');
  return slash == std::string::npos ? words[0] : words[0].substr(slash + 1);
}

NS::String* text(std::string value) {
  return autoreleased(make_string(std::move(value)));
}

const passwd* account() {
  return getpwuid(getuid());
}

}  // namespace
}  // namespace mlxn::rt

namespace NS {

using namespace mlxn::rt;

ProcessInfo* ProcessInfo::processInfo() {
  static auto* instance = [] {
    auto* object = new ProcessInfoObject;
    object->name.set(make_string(program_name()));
    return object;
  }();
  return api(instance);
}

Array* ProcessInfo::arguments() const {
  std::vector<Ref<StringObject>> words;
  for (auto& word : command_line()) words.push_back(make_string(std::move(word)));
  return autoreleased(make_array(words));
}

// The user asked for the environment itself; settings of the library do not come this way.
Dictionary* ProcessInfo::environment() const {
  auto map = make<DictionaryObject>();
  for (char** entry = ::environ; entry && *entry; ++entry) {
    const std::string_view pair = *entry;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    map->set(make_string(std::string(pair.substr(0, equals))),
             make_string(std::string(pair.substr(equals + 1))));
  }
  return autoreleased(std::move(map));
}

String* ProcessInfo::hostName() const {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return text(name);
}

String* ProcessInfo::processName() const {
  return borrowed(impl(this)->name.get());
}

void ProcessInfo::setProcessName(const String* pString) {
  impl(this)->name.set(Ref(impl(pString)));
}

int ProcessInfo::processIdentifier() const {
  return getpid();
}

String* ProcessInfo::globallyUniqueString() const {
  static std::atomic<uint64_t> counter = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return text(mlxn::str(text_of(hostName()), "-", getpid(), "-", now, "-", counter.fetch_add(1)));
}

String* ProcessInfo::userName() const {
  const passwd* user = account();
  return text(user ? user->pw_name : "");
}

String* ProcessInfo::fullUserName() const {
  const passwd* user = account();
  return text(user && user->pw_gecos ? user->pw_gecos : "");
}

OperatingSystemVersion ProcessInfo::operatingSystemVersion() const {
  utsname name = {};
  uname(&name);
  long major = 0, minor = 0, patch = 0;
  std::sscanf(name.release, "%ld.%ld.%ld", &major, &minor, &patch);
  return {major, minor, patch};
}

String* ProcessInfo::operatingSystemVersionString() const {
  utsname name = {};
  uname(&name);
  return text(mlxn::str(name.sysname, " ", name.release));
}

bool ProcessInfo::isOperatingSystemAtLeastVersion(OperatingSystemVersion version) const {
  const OperatingSystemVersion mine = operatingSystemVersion();
  const Integer have[] = {mine.majorVersion, mine.minorVersion, mine.patchVersion};
  const Integer want[] = {version.majorVersion, version.minorVersion, version.patchVersion};
  return !std::lexicographical_compare(have, have + 3, want, want + 3);
}

UInteger ProcessInfo::processorCount() const {
  return static_cast<UInteger>(sysconf(_SC_NPROCESSORS_CONF));
}

UInteger ProcessInfo::activeProcessorCount() const {
  return std::thread::hardware_concurrency();
}

unsigned long long ProcessInfo::physicalMemory() const {
  return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}

TimeInterval ProcessInfo::systemUptime() const {
  struct sysinfo info = {};
  return ::sysinfo(&info) == 0 ? static_cast<TimeInterval>(info.uptime) : 0;
}

bool ProcessInfo::isLowPowerModeEnabled() const {
  return false;
}
bool ProcessInfo::isiOSAppOnMac() const {
  return false;
}
bool ProcessInfo::isMacCatalystApp() const {
  return false;
}

}  // namespace NS
