#include "tests/fetcher/hub.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "fetcher/init.hpp"
#include "proto/text.hpp"

namespace lyk::test {

namespace {

namespace fs = std::filesystem;

class Libraries : public testing::Environment {
  void SetUp() override { ASSERT_TRUE(fetcher::init_libraries()); }
};
const auto* const libraries = testing::AddGlobalTestEnvironment(new Libraries);  // gtest deletes it

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

struct Child {
  pid_t pid = -1;
  UniqueFd input;
  UniqueFd output;
};

Child spawn(std::vector<std::string> arguments) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, output.write.get(), 1);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  Child child;
  EXPECT_EQ(::posix_spawnp(&child.pid, pointers[0], &actions, nullptr, pointers.data(), environ), 0)
      << arguments[0];
  posix_spawn_file_actions_destroy(&actions);
  child.input = std::move(input.write);
  child.output = std::move(output.read);
  return child;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

std::string fakes(const char* name) {
  return str(LYK_SOURCE_DIR "/tests/fakes/", name);
}

}  // namespace

std::string run_program(const std::vector<std::string>& arguments) {
  Child child = spawn(arguments);
  child.input.reset();
  std::string text = read_all(child.output.get());
  int status = 0;
  EXPECT_EQ(::waitpid(child.pid, &status, 0), child.pid);
  EXPECT_EQ(status, 0) << arguments[0] << ' ' << arguments[1];
  return text;
}

std::string json_text(const std::string& json, const std::string& key) {
  const std::string before = str("\"", key, "\": \"");
  const auto begin = json.find(before);
  if (begin == std::string::npos)
    return {};
  const auto end = json.find('"', begin + before.size());
  return json.substr(begin + before.size(), end - begin - before.size());
}

GitId make_repo(const fs::path& root, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"python3", fakes("make_kernel_repo.py"), "--root", root.string()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto commit = GitId::parse(json_text(run_program(all), "commit"));
  EXPECT_TRUE(commit);
  return *commit;
}

FakeHub::FakeHub(const fs::path& root, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"python3", fakes("fake_hub.py"), "--root", root.string(), "--stdin"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  Child child = spawn(all);
  pid_ = child.pid;
  stdin_ = std::move(child.input);
  for (char c = 0; ::read(child.output.get(), &c, 1) == 1 && c != '\n';)
    ready_ += c;
  EXPECT_NE(ready("url"), "") << ready_;
}

FakeHub::~FakeHub() {
  stdin_.reset();  // tells it to leave
  int status = 0;
  (void)::waitpid(pid_, &status, 0);
}

std::string FakeHub::control(const std::string& method,
                             const std::string& path,
                             const std::string& body) const {
  const std::string url = ready("control_url");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request =
      str(method, " ", path,
          " HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: ", body.size(),
          "\r\n\r\n", body);
  EXPECT_EQ(::write(fd.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  const std::string answer = read_all(fd.get());
  EXPECT_NE(answer.find(" 200 "), std::string::npos) << method << ' ' << path << '\n' << answer;
  return answer.substr(std::min(answer.find("\r\n\r\n"), answer.size()));
}

void FakeHub::misbehave(const std::string& name) const {
  (void)control("POST", "/misbehaviours",
                name.front() == '{' ? name : str(R"({"name": ")", name, R"("})"));
}

void FakeHub::behave() const {
  (void)control("DELETE", "/misbehaviours");
}

std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator{folder}) {
    std::string& content = files[entry.path().lexically_relative(folder).string()];
    if (!entry.is_regular_file())
      continue;
    std::ifstream stream{entry.path(), std::ios::binary};
    content.assign(std::istreambuf_iterator<char>{stream}, {});
  }
  return files;
}

cache::Store open_store(const fs::path& root) {
  cache::Options options;
  options.root = root;
  auto store = cache::Store::open(options);
  EXPECT_TRUE(store) << (store ? "" : store.error().message);
  return std::move(*store);
}

fetcher::Context context_for(const std::string& endpoint) {
  fetcher::Context context{fetcher::Settings::defaults(), {}, {}, [](std::chrono::milliseconds) {}};
  auto url = fetcher::Url::parse(endpoint);
  EXPECT_TRUE(url) << endpoint;
  context.settings.endpoint = *url;
  context.settings.stall_timeout = std::chrono::seconds{1};
  context.settings.connect_timeout = std::chrono::seconds{2};
  return context;
}

fetcher::Pin pin_of(const std::string& repo, const GitId& revision) {
  auto slot = SlotName::parse("ms_deform_attn");
  auto id = RepoId::parse(repo);
  EXPECT_TRUE(slot && id);
  return fetcher::Pin{*slot,
                      *id,
                      {RepoType::kernel, RepoType::model},
                      revision,
                      "Apache-2.0",
                      "ms_deform_im2col",
                      {},
                      false,
                      {},
                      {},
                      {}};
}

}  // namespace lyk::test
