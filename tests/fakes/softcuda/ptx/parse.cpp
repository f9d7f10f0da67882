// A module: directives, variables, kernels and functions.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"
#include "tests/fakes/softcuda/ptx/parse_function.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda::ptx {

namespace {

Builtin builtin_named(std::string_view name) {
  if (name == "vprintf")
    return Builtin::vprintf;
  return name == "__assertfail" ? Builtin::assert_failed : Builtin::none;
}

class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : cursor_(std::move(tokens)) {}

  lyk::Result<Module> parse() {
    while (!cursor_.at_end())
      LYK_TRY(item());
    if (out_.version.empty() || out_.target.empty())
      return error_at(1, "no .version or no .target: not a PTX module");
    LYK_TRY(resolve_calls());
    out_.program = std::make_shared<const Program>(std::move(program_));
    return std::move(out_);
  }

private:
  lyk::Result<void> item() {
    bool is_external = false;
    while (cursor_.peek().is(".visible") || cursor_.peek().is(".weak") ||
           cursor_.peek().is(".common") || cursor_.peek().is(".extern"))
      is_external = cursor_.next().text == ".extern" || is_external;
    if (cursor_.take(".entry"))
      return kernel();
    if (cursor_.take(".func"))
      return function();
    if (cursor_.take(".global") || cursor_.take(".const"))
      return variable(is_external);
    if (cursor_.take(".shared"))
      return shared(is_external);
    return directive();
  }

  lyk::Result<void> directive() {
    const std::uint32_t line = cursor_.line();
    if (cursor_.take(".version"))
      return version();
    if (cursor_.take(".target"))
      return target();
    if (cursor_.take(".address_size")) {
      LYK_TRY_ASSIGN(const std::uint64_t bits, cursor_.expect_integer());
      if (bits != 64)
        return error_at(line, lyk::str(".address_size ", bits, ": only 64 is known"));
      out_.address_size = 64;
    } else if (cursor_.peek().is(".file")) {
      cursor_.skip_line();
    } else if (cursor_.peek().is(".pragma")) {
      cursor_.skip_statement();
    } else if (cursor_.take(".section")) {
      return section();
    } else if (!cursor_.take(';')) {
      return error_at(line, lyk::str("unknown directive ", lyk::quoted(cursor_.peek().text)));
    }
    return {};
  }

  lyk::Result<void> version() {
    const Token& token = cursor_.next();
    const std::optional<PtxVersion> version = version_named(token.text);
    if (!version)
      return error_at(token.line, lyk::str(lyk::quoted(token.text), " as a version of PTX"));
    out_.version = token.text;
    platform_.version = *version;
    return {};
  }

  lyk::Result<void> target() {
    const std::uint32_t line = cursor_.line();
    LYK_TRY_ASSIGN(platform_.target, cursor_.expect_name());
    const std::optional<PtxVersion> first = version_of_target(platform_.target);
    if (!first)
      return error_at(line, lyk::str("unknown target ", lyk::quoted(platform_.target)));
    if (const auto missing = missing_on(platform_, {{}, *first}))
      return error_at(line, lyk::str(".target ", platform_.target, " needs ", *missing));
    out_.target = platform_.target;
    while (cursor_.take(','))
      LYK_TRY(cursor_.expect_name());  // of a mode: debug, map_f64_to_f32
    return {};
  }

  // Debug information.
  lyk::Result<void> section() {
    LYK_TRY_ASSIGN(const std::string_view name, section_name());
    (void)name;
    LYK_TRY(cursor_.expect('{'));
    while (!cursor_.take('}')) {
      if (cursor_.at_end())
        return cursor_.unexpected("'}'");
      (void)cursor_.next();
    }
    return {};
  }

  lyk::Result<std::string_view> section_name() {
    if (cursor_.peek().kind != TokenKind::word)
      return cursor_.unexpected("a name");
    return cursor_.next().text;
  }

  // ---- variables ----

  lyk::Result<void> declare(std::string_view name, const Symbol& symbol, std::uint32_t line) {
    if (!symbols_.emplace(name, symbol).second)
      return error_at(line, lyk::str(lyk::quoted(name), " is declared twice"));
    return {};
  }

  lyk::Result<void> variable(bool is_external) {
    if (cursor_.take(".attribute")) {
      LYK_TRY(cursor_.expect('('));
      while (!cursor_.at_end() && !cursor_.next().is(')')) {
      }
    }
    LYK_TRY_ASSIGN(Declaration own, parse_declaration(cursor_));
    if (is_external)
      return error_at(own.line, lyk::str(lyk::quoted(own.name), " lies in another module"));
    Variable variable;
    variable.name = own.name;
    if (cursor_.take('='))
      LYK_TRY(initialiser(own, variable));
    variable.bytes = own.open ? variable.initial.size() : own.bytes;
    variable.alignment = own.alignment;
    if (variable.initial.size() > variable.bytes)
      return error_at(own.line, lyk::str(lyk::quoted(own.name), " has ", variable.bytes,
                                         " bytes, its initialiser more"));
    LYK_TRY(declare(own.name, {SymbolKind::global, own.type, 0, 0, variable.bytes}, own.line));
    out_.variables.push_back(std::move(variable));
    return cursor_.expect(';');
  }

  lyk::Result<void> initialiser(const Declaration& own, Variable& variable) {
    if (!cursor_.take('{'))
      return initial_element(own, variable);
    int depth = 1;
    while (depth > 0) {
      if (cursor_.take('{')) {
        ++depth;
      } else if (cursor_.take('}')) {
        --depth;
      } else if (!cursor_.take(',')) {
        LYK_TRY(initial_element(own, variable));
      }
    }
    return {};
  }

  // A number, a variable's or function's name, generic(name), each with an offset.
  lyk::Result<void> initial_element(const Declaration& own, Variable& variable) {
    std::uint64_t bits = 0;
    if (cursor_.peek().kind == TokenKind::word) {
      LYK_TRY(initial_address(variable));
    } else {
      LYK_TRY_ASSIGN(bits, initial_number(own));
    }
    const std::size_t offset = variable.initial.size();
    variable.initial.resize(offset + bytes_of(own.type));
    std::memcpy(variable.initial.data() + offset, &bits,
                std::min<std::size_t>(bytes_of(own.type), sizeof bits));
    if (!variable.references.empty() && variable.references.back().offset == offset &&
        bytes_of(own.type) != 8)
      return error_at(own.line, lyk::str("an address in a variable of .", name_of(own.type)));
    return {};
  }

  lyk::Result<std::uint64_t> initial_number(const Declaration& own) {
    const bool negative = cursor_.take('-');
    const Token& token = cursor_.next();
    if (token.kind == TokenKind::integer)
      return negative ? ~token.bits + 1 : token.bits;
    const std::uint64_t sign = negative ? 1 : 0;
    if (token.kind == TokenKind::real32 && bytes_of(own.type) == 4)
      return token.bits ^ sign << 31;
    if (token.kind == TokenKind::real64 && bytes_of(own.type) == 8)
      return token.bits ^ sign << 63;
    if (token.kind == TokenKind::real64 && own.type == Type::f32) {
      const auto value = static_cast<float>(std::bit_cast<double>(token.bits));
      return std::uint64_t{std::bit_cast<std::uint32_t>(negative ? -value : value)};
    }
    return error_at(token.line,
                    lyk::str(lyk::quoted(token.text), " as a value of .", name_of(own.type)));
  }

  lyk::Result<void> initial_address(Variable& variable) {
    LYK_TRY_ASSIGN(std::string_view name, cursor_.expect_name());
    if (name == "generic" && cursor_.take('(')) {
      LYK_TRY_ASSIGN(name, cursor_.expect_name());
      LYK_TRY(cursor_.expect(')'));
    }
    std::uint64_t addend = 0;
    if (cursor_.take('+')) {
      LYK_TRY_ASSIGN(addend, cursor_.expect_integer());
    }
    variable.references.push_back({variable.initial.size(), std::string{name}, addend});
    return {};
  }

  lyk::Result<void> shared(bool is_external) {
    LYK_TRY_ASSIGN(const Declaration own, parse_declaration(cursor_));
    if (is_external || own.open) {
      LYK_TRY(declare(own.name, {SymbolKind::dynamic_shared, own.type, 0, 0, 0}, own.line));
      return cursor_.expect(';');
    }
    // Kernels put their own variables behind the common ones.
    if (!out_.kernels.empty())
      return error_at(own.line, "a shared variable of the module after a kernel");
    const std::uint64_t offset = aligned(shared_bytes_, own.alignment);
    if (offset + own.bytes > shared_bytes_max)
      return error_at(own.line,
                      lyk::str("more than ", shared_bytes_max, " bytes of shared memory"));
    shared_bytes_ = static_cast<std::uint32_t>(offset + own.bytes);
    LYK_TRY(declare(own.name, {SymbolKind::shared, own.type, 0, offset, own.bytes}, own.line));
    return cursor_.expect(';');
  }

  // ---- functions ----

  lyk::Result<void> kernel() {
    Kernel kernel{};
    Function function;
    const ModuleContext context{symbols_, shared_bytes_, program_.sites, platform_};
    LYK_TRY(parse_kernel(cursor_, context, kernel, function));
    if (out_.kernel(kernel.name) != nullptr)
      return error_at(function.line, lyk::str(lyk::quoted(kernel.name), " is declared twice"));
    program_.kernel_bodies.push_back(static_cast<std::uint32_t>(program_.functions.size()));
    program_.functions.push_back(std::move(function));
    out_.kernels.push_back(std::move(kernel));
    return {};
  }

  lyk::Result<void> function() {
    LYK_TRY_ASSIGN(const FunctionHead head, parse_function_head(cursor_));
    const std::uint32_t number = number_of(head.name);
    if (cursor_.take(';'))
      return {};
    LYK_TRY(cursor_.expect('{'));
    if (program_.functions[number].defined)
      return error_at(head.line, lyk::str(lyk::quoted(head.name), " is defined twice"));
    const ModuleContext context{symbols_, shared_bytes_, program_.sites, platform_};
    Function function;
    function.name = head.name;
    LYK_TRY(parse_function_body(cursor_, context, head, function));
    program_.functions[number] = std::move(function);
    return {};
  }

  // The index of a function, which is a new one if no declaration came before.
  std::uint32_t number_of(std::string_view name) {
    const auto found = std::ranges::find(program_.functions, name, &Function::name);
    if (found != program_.functions.end())
      return static_cast<std::uint32_t>(found - program_.functions.begin());
    Function function;
    function.name = name;
    program_.functions.push_back(std::move(function));
    symbols_.emplace(name, Symbol{SymbolKind::function});
    return static_cast<std::uint32_t>(program_.functions.size() - 1);
  }

  lyk::Result<void> resolve_calls() {
    for (Function& function : program_.functions)
      for (Call& call : function.calls)
        if (!call.callee.empty())
          LYK_TRY(resolve(call));
    return {};
  }

  lyk::Result<void> resolve(Call& call) {
    call.builtin = builtin_named(call.callee);
    if (call.builtin != Builtin::none)
      return {};
    const auto found = std::ranges::find(program_.functions, call.callee, &Function::name);
    if (found == program_.functions.end() || !found->defined)
      return error_at(call.line, lyk::str("call of ", lyk::quoted(call.callee),
                                          ", which this module does not define"));
    call.function = static_cast<std::uint32_t>(found - program_.functions.begin());
    return {};
  }

  Cursor cursor_;
  Module out_{};
  Program program_;
  Platform platform_;
  SymbolTable symbols_;
  std::uint32_t shared_bytes_ = 0;
};

}  // namespace

const Kernel* Module::kernel(std::string_view name) const {
  const auto found = std::ranges::find(kernels, name, &Kernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

lyk::Result<Module> parse(std::string_view text) {
  LYK_TRY_ASSIGN(std::vector<Token> tokens, tokens_of(text));
  return Parser{std::move(tokens)}.parse();
}

}  // namespace softcuda::ptx
