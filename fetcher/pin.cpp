#include "fetcher/pin.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "fetcher/listing.hpp"
#include "fetcher/toml.hpp"
#include "proto/launch_abi.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::array<std::string_view, 12> known_keys{
    "slot",          "repo",   "repo_types", "revision", "license", "abi",
    "deterministic", "public", "variants",   "digests",  "archs",   "parity"};
constexpr std::array<std::string_view, 6> parity_keys{"image", "arch", "driver",
                                                      "gpu",   "set",  "greatest_error"};

// The text of a key that must be there.
Result<std::string> required(const TomlTable& table,
                             std::string_view key,
                             std::string_view where = {}) {
  LYK_TRY_ASSIGN(std::optional<std::string> text, table.text(key));
  if (!text)
    return table.error(str(where, "the key '", key, "' is missing"));
  return std::move(*text);
}

// Puts the line of `key` before what a parser of its value said, which begins with the value.
template <typename T>
Result<T> located(const TomlTable& table, std::string_view key, Result<T> parsed) {
  if (!parsed)
    return table.error_on_line_of(key, parsed.error().message);
  return parsed;
}

Result<std::vector<RepoType>> parse_types(const TomlTable& table) {
  LYK_TRY_ASSIGN(const auto texts, table.texts("repo_types"));
  if (!texts)
    return std::vector{RepoType::kernel, RepoType::model};
  std::vector<RepoType> types;
  for (const std::string& text : *texts) {
    LYK_TRY_ASSIGN(const RepoType type, located(table, "repo_types", parse_repo_type(text)));
    if (std::find(types.begin(), types.end(), type) != types.end())
      return table.error_at("repo_types", str("'", text, "' stands there twice"));
    types.push_back(type);
  }
  if (types.empty())
    return table.error_at("repo_types", R"(it is empty; leave it out for ["kernel", "model"])");
  return types;
}

Result<GitId> parse_revision(const TomlTable& table) {
  LYK_TRY_ASSIGN(const std::string text, required(table, "revision"));
  auto id = GitId::parse(text);
  if (id)
    return id;
  const bool hex = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
  constexpr std::size_t digits = 40;
  if (hex && text.size() == digits)
    return table.error_at("revision", str(quoted(text), ": write it in lower case"));
  if (hex && text.size() > digits)
    return table.error_at("revision", str(quoted(text), " has ", text.size(),
                                          " digits, and a commit id has ", digits));
  return table.error_at(
      "revision",
      str(quoted(text), hex ? " is a short commit id" : " is the name of a branch or tag",
          ", which can move; write all ", digits,
          " lower-case hex digits, or let `libreyolo-kernels pin` find them"));
}

Result<std::vector<Pass>> parse_deterministic(const TomlTable& table) {
  LYK_TRY_ASSIGN(const auto texts, table.texts("deterministic"));
  std::vector<Pass> passes;
  for (const std::string& text : texts.value_or(std::vector<std::string>{})) {
    if (text != "forward" && text != "backward")
      return table.error_at("deterministic", str(quoted(text), " is not 'forward' or 'backward'"));
    const Pass pass = text == "forward" ? Pass::forward : Pass::backward;
    if (std::find(passes.begin(), passes.end(), pass) != passes.end())
      return table.error_at("deterministic", str("'", text, "' stands there twice"));
    passes.push_back(pass);
  }
  return passes;
}

Result<std::vector<std::string>> parse_variants(const TomlTable& table) {
  LYK_TRY_ASSIGN(auto texts, table.texts("variants"));
  if (!texts)
    return std::vector<std::string>{};
  if (texts->size() > limits::pin_variants_max)
    return table.error_at("variants", str("more than ", limits::pin_variants_max, " patterns"));
  for (const std::string& text : *texts) {
    const bool good = !text.empty() && text.size() <= limits::variant_bytes_max &&
                      std::all_of(text.begin(), text.end(),
                                  [](char c) { return c > 0x20 && c < 0x7f && c != '/'; });
    if (!good)
      return table.error_at("variants",
                            str(quoted(text), " is not a pattern for one folder below build/"));
  }
  return std::move(*texts);
}

Result<std::optional<std::string>> parse_abi(const TomlTable& table) {
  LYK_TRY_ASSIGN(std::optional<std::string> abi, table.text("abi"));
  if (!abi || find_launch_abi(*abi) != nullptr)
    return abi;
  return table.error_at("abi", no_launcher_text(*abi));
}

Result<std::map<RepoPath, Digest>> parse_digests(const TomlTable& table) {
  LYK_TRY_ASSIGN(const auto pairs, table.text_table("digests"));
  std::map<RepoPath, Digest> digests;
  if (!pairs)
    return digests;
  for (const auto& [path, hex] : *pairs) {
    auto parsed_path = RepoPath::parse(path);
    if (!parsed_path)
      return table.error_at("digests", parsed_path.error().message, path);
    auto digest = Digest::parse(hex);
    if (!digest)
      return table.error_at("digests", "it must be a sha256 as 64 lower-case hex digits", path);
    digests.emplace(std::move(*parsed_path), *digest);
  }
  if (digests.empty())
    return table.error_at("digests", "it is empty; leave it out, and git is the proof");
  return digests;
}

// Folders below build/ of which the pin names files.
std::set<std::string> variants_of(const std::map<RepoPath, Digest>& digests) {
  std::set<std::string> variants;
  for (const auto& [path, digest] : digests)
    if (std::string variant = variant_of(path); !variant.empty())
      variants.insert(std::move(variant));
  return variants;
}

Result<std::map<std::string, std::vector<Arch>>> parse_archs(
    const TomlTable& table, const std::map<RepoPath, Digest>& digests) {
  LYK_TRY_ASSIGN(const auto lists, table.texts_table("archs"));
  std::map<std::string, std::vector<Arch>> archs;
  if (!lists)
    return archs;
  if (digests.empty())
    return table.error_at("archs", "it says what [digests] is built for, and there is none");
  const std::set<std::string> known = variants_of(digests);
  for (const auto& [variant, texts] : *lists) {
    const auto path = RepoPath::parse(str("build/", variant, "/file"));
    if (!path || variant_of(*path) != variant)
      return table.error_at("archs", "it is not the name of one folder below build/", variant);
    if (!known.contains(variant)) {
      const std::string_view meant = nearest(variant, known);
      return table.error_at("archs",
                            str("[digests] names no file of it",
                                meant.empty() ? "" : str("; did you mean ", quoted(meant))),
                            variant);
    }
    std::vector<Arch>& of_variant = archs[variant];
    for (const std::string& text : texts) {
      auto arch = Arch::parse(text);
      if (!arch)
        return table.error_at("archs", arch.error().message, variant);
      of_variant.push_back(*arch);
    }
  }
  return archs;
}

Result<ParityRecord> parse_parity_record(const TomlTable& table) {
  LYK_TRY(table.only(parity_keys));
  LYK_TRY_ASSIGN(const std::string image, required(table, "image", "parity: "));
  const auto digest = Digest::parse(image);
  if (!digest)
    return table.error_at("image", "it must be a sha256 as 64 lower-case hex digits");
  LYK_TRY_ASSIGN(const std::string arch_text, required(table, "arch", "parity: "));
  LYK_TRY_ASSIGN(const Arch arch, located(table, "arch", Arch::parse(arch_text)));
  if (arch.variant != ArchVariant::none)
    return table.error_at("arch", str(quoted(arch_text), " is what an image is built for; a GPU ",
                                      "is ", arch.capability()));
  LYK_TRY_ASSIGN(const std::string driver_text, required(table, "driver", "parity: "));
  LYK_TRY_ASSIGN(const CudaVersion driver,
                 located(table, "driver", CudaVersion::parse(driver_text)));
  LYK_TRY_ASSIGN(std::string gpu, required(table, "gpu", "parity: "));
  LYK_TRY_ASSIGN(std::string set, required(table, "set", "parity: "));
  if (set != "whole" && set != "small")
    return table.error_at("set", str(quoted(set), " is not 'whole' or 'small'"));
  LYK_TRY_ASSIGN(const std::optional<double> error, table.number("greatest_error"));
  if (!error)
    return table.error("parity: the key 'greatest_error' is missing");
  if (!std::isfinite(*error) || *error < 0)
    return table.error_at("greatest_error", "it must be a finite number from 0 on");
  return ParityRecord{*digest, arch, driver, std::move(gpu), std::move(set), *error};
}

Result<std::vector<ParityRecord>> parse_parity(const TomlTable& table) {
  LYK_TRY_ASSIGN(const std::vector<TomlTable> records, table.tables("parity"));
  if (records.size() > limits::gpus_max)
    return table.error_at("parity", str("more than ", limits::gpus_max, " records"));
  std::vector<ParityRecord> out;
  for (const TomlTable& record : records) {
    LYK_TRY_ASSIGN(ParityRecord parsed, parse_parity_record(record));
    out.push_back(std::move(parsed));
  }
  return out;
}

}  // namespace

std::string_view name(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}

Result<Pin> Pin::parse(std::string_view toml, std::string_view source_name) {
  LYK_TRY_ASSIGN(const TomlTable table, TomlTable::parse(toml, source_name, limits::pin_bytes_max));
  LYK_TRY(table.only(known_keys));
  LYK_TRY_ASSIGN(const std::string slot_text, required(table, "slot"));
  LYK_TRY_ASSIGN(SlotName slot, located(table, "slot", SlotName::parse(slot_text)));
  LYK_TRY_ASSIGN(const std::string repo_text, required(table, "repo"));
  LYK_TRY_ASSIGN(RepoId repo, located(table, "repo", RepoId::parse(repo_text)));
  LYK_TRY_ASSIGN(std::vector<RepoType> types, parse_types(table));
  LYK_TRY_ASSIGN(const GitId revision, parse_revision(table));
  Pin pin{
      std::move(slot), std::move(repo), std::move(types), revision, {}, {}, {}, false, {}, {}, {}};
  LYK_TRY_ASSIGN(std::optional<std::string> license, table.text("license"));
  pin.license = std::move(license).value_or(std::string{});
  LYK_TRY_ASSIGN(pin.abi, parse_abi(table));
  LYK_TRY_ASSIGN(pin.deterministic, parse_deterministic(table));
  LYK_TRY_ASSIGN(const std::optional<bool> is_public, table.flag("public"));
  pin.is_public = is_public.value_or(false);
  LYK_TRY_ASSIGN(pin.variants, parse_variants(table));
  LYK_TRY_ASSIGN(pin.digests, parse_digests(table));
  LYK_TRY_ASSIGN(pin.archs, parse_archs(table, pin.digests));
  LYK_TRY_ASSIGN(pin.parity, parse_parity(table));
  if (!pin.archs.empty() && !pin.abi)
    return table.error_at("archs", "a pin without 'abi' has every file fetched for every GPU");
  if (!pin.abi && pin.variants.empty())
    return table.error(
        "it has neither 'abi' (device code that we launch) nor 'variants' (files for others)");
  return pin;
}

namespace {

template <typename Range, typename Text>
std::string quoted_list(const Range& range, Text text) {
  std::string out = "[";
  for (const auto& element : range)
    out += str(out.size() > 1 ? ", " : "", toml_quoted(text(element)));
  return out + "]";
}

}  // namespace

std::string Pin::format() const {
  std::string out =
      str("slot = ", toml_quoted(slot.text()), "\nrepo = ", toml_quoted(repo.text()),
          "\nrepo_types = ", quoted_list(repo_types, [](RepoType type) { return lyk::name(type); }),
          "\nrevision = ", toml_quoted(revision.hex()), "\n");
  const auto identity = [](const std::string& text) -> std::string_view { return text; };
  if (!license.empty())
    out += str("license = ", toml_quoted(license), "\n");
  if (abi)
    out += str("abi = ", toml_quoted(*abi), "\n");
  if (!deterministic.empty())
    out += str("deterministic = ",
               quoted_list(deterministic, [](Pass pass) { return fetcher::name(pass); }), "\n");
  if (is_public)
    out += "public = true\n";
  if (!variants.empty())
    out += str("variants = ", quoted_list(variants, identity), "\n");
  if (!archs.empty()) {
    out += "\n[archs]\n";
    const auto target = [](const Arch& arch) { return arch.sm(); };
    for (const auto& [variant, targets] : archs)
      out += str(toml_quoted(variant), " = ", quoted_list(targets, target), "\n");
  }
  if (!digests.empty()) {
    out += "\n[digests]\n";
    for (const auto& [path, digest] : digests)
      out += str(toml_quoted(path.text()), " = ", toml_quoted(digest.hex()), "\n");
  }
  for (const ParityRecord& record : parity)
    out += str("\n[[parity]]\nimage = ", toml_quoted(record.image.hex()),
               "\narch = ", toml_quoted(record.arch.capability()),
               "\ndriver = ", toml_quoted(record.driver.text()),
               "\ngpu = ", toml_quoted(record.gpu), "\nset = ", toml_quoted(record.set),
               "\ngreatest_error = ", shortest(record.greatest_error), "\n");
  return out;
}

bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star =
      std::string_view::npos;  // the last '*' and where its run was last tried to end
  std::size_t run_end = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      run_end = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++run_end;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*')
    ++g;
  return g == glob.size();
}

}  // namespace lyk::fetcher
