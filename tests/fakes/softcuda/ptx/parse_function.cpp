#include "tests/fakes/softcuda/ptx/parse_function.hpp"

#include <algorithm>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"
#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint32_t parameter_bytes_max = 32764;  // of a kernel, since sm_70 and PTX 8.1

lyk::Result<void> decode_statement(const Statement& statement, FunctionBuilder& builder) {
  const Decode decode = decode_function(statement.opcode);
  Decoding decoding{statement, builder};
  if (decode == nullptr)
    decoding.refuse_instruction();
  else if (decoding.take_form())
    decode(decoding);
  return decoding.finish();
}

lyk::Error too_large(const Declaration& declaration, std::uint64_t bytes_max) {
  return error_at(declaration.line, lyk::str(lyk::quoted(declaration.name),
                                             " does not fit: more than ", bytes_max, " bytes"));
}

// Of the floats below 32 bits only halves have registers of their own type.
bool is_register_type(Type type) {
  const bool half = type == Type::f16 || type == Type::f16x2;
  return half || (lanes_of(type) == 1 && type != Type::bf16 && type != Type::tf32);
}

// A place for a variable behind what is there; fails beyond `bytes_max`.
lyk::Result<std::uint32_t> place(const Declaration& declaration,
                                 std::uint32_t& used,
                                 std::uint32_t bytes_max) {
  const std::uint64_t offset = aligned(used, declaration.alignment);
  if (declaration.open || offset + declaration.bytes > bytes_max)
    return too_large(declaration, bytes_max);
  used = static_cast<std::uint32_t>(offset + declaration.bytes);
  return static_cast<std::uint32_t>(offset);
}

// The statements of a body, one after another, into a FunctionBuilder.
class Body {
public:
  Body(Cursor& cursor, FunctionBuilder& builder) : cursor_(cursor), builder_(builder) {}

  // Up to the brace that closes the function.
  lyk::Result<void> parse() {
    int depth = 1;
    while (depth > 0) {
      if (cursor_.at_end())
        return cursor_.unexpected("'}'");
      if (cursor_.take('{')) {
        ++depth;
        builder_.open_block();
      } else if (cursor_.take('}')) {
        --depth;
        if (depth == 0)
          LYK_TRY(end());
        LYK_TRY(builder_.close_block());
      } else {
        LYK_TRY(item());
      }
    }
    return {};
  }

private:
  lyk::Result<void> item() {
    const Token& token = cursor_.peek();
    if (cursor_.take(';'))
      return {};
    if (token.kind == TokenKind::word && token.text[0] == '.')
      return directive();
    if (token.kind == TokenKind::word && cursor_.peek(1).is(':'))
      return label();
    return guarded_statement();
  }

  // Falling off the end is a return.
  lyk::Result<void> end() {
    builder_.guard = {};
    Statement ret;
    ret.line = cursor_.line();
    ret.opcode = "ret";
    return decode_statement(ret, builder_);
  }

  lyk::Result<void> guarded_statement() {
    builder_.guard = {};
    if (cursor_.take('@')) {
      builder_.guard.inverted = cursor_.take('!') ? 1 : 0;
      const std::uint32_t line = cursor_.line();
      LYK_TRY_ASSIGN(const std::string_view name, cursor_.expect_name());
      const std::optional<Symbol> symbol = builder_.find(name);
      if (!symbol || symbol->kind != SymbolKind::variable_register || symbol->type != Type::pred)
        return error_at(line, lyk::str(lyk::quoted(name), " is no predicate"));
      builder_.guard.slot = symbol->slot;
    }
    LYK_TRY_ASSIGN(const Statement statement, parse_statement(cursor_));
    return decode_statement(statement, builder_);
  }

  lyk::Result<void> label() {
    const std::uint32_t line = cursor_.line();
    const std::string_view name = cursor_.next().text;
    LYK_TRY(cursor_.expect(':'));
    if (cursor_.take(".branchtargets"))
      return branch_table(name, line);
    if (cursor_.peek().is(".callprototype") || cursor_.peek().is(".calltargets")) {
      cursor_.skip_statement();
      return {};
    }
    return builder_.place_label(name, line);
  }

  lyk::Result<void> branch_table(std::string_view name, std::uint32_t line) {
    std::vector<std::string_view> labels;
    do {
      LYK_TRY_ASSIGN(const std::string_view target, cursor_.expect_name());
      labels.push_back(target);
    } while (cursor_.take(','));
    LYK_TRY(cursor_.expect(';'));
    return builder_.declare_branch_table(name, labels, line);
  }

  lyk::Result<void> directive() {
    if (cursor_.take(".reg"))
      return registers();
    if (cursor_.take(".local"))
      return local();
    if (cursor_.take(".shared"))
      return shared();
    if (cursor_.take(".param"))
      return parameter();
    if (cursor_.peek().is(".loc") || cursor_.peek().is(".file")) {
      cursor_.skip_line();
      return {};
    }
    if (cursor_.peek().is(".pragma")) {
      cursor_.skip_statement();
      return {};
    }
    return error_at(cursor_.line(),
                    lyk::str("unknown directive ", lyk::quoted(cursor_.peek().text)));
  }

  lyk::Result<void> registers() {
    const std::string_view word = cursor_.peek().text;
    const std::optional<Type> type =
        word.starts_with('.') ? type_named(word.substr(1)) : std::nullopt;
    if (!type || !is_register_type(*type))
      return cursor_.unexpected("a register type");
    if (*type == Type::b128)
      if (const auto missing = missing_on(builder_.platform, {"sm_70", {8, 3}}))
        return error_at(cursor_.line(), lyk::str(".reg .b128 needs ", *missing));
    (void)cursor_.next();
    do {
      const std::uint32_t line = cursor_.line();
      LYK_TRY_ASSIGN(const std::string_view name, cursor_.expect_name());
      std::optional<std::uint64_t> count;
      if (cursor_.take('<')) {
        LYK_TRY_ASSIGN(count, cursor_.expect_integer());
        LYK_TRY(cursor_.expect('>'));
      }
      LYK_TRY(builder_.declare_registers(name, *type, count, line));
    } while (cursor_.take(','));
    return cursor_.expect(';');
  }

  lyk::Result<void> local() {
    LYK_TRY_ASSIGN(const Declaration own, parse_declaration(cursor_));
    LYK_TRY_ASSIGN(const std::uint32_t offset,
                   place(own, builder_.function.local_bytes, local_bytes_max));
    LYK_TRY(
        builder_.declare(own.name, {SymbolKind::local, own.type, 0, offset, own.bytes}, own.line));
    return cursor_.expect(';');
  }

  lyk::Result<void> shared() {
    LYK_TRY_ASSIGN(const Declaration own, parse_declaration(cursor_));
    if (!builder_.is_kernel)
      return error_at(own.line, "a shared variable inside a device function");
    LYK_TRY_ASSIGN(const std::uint32_t offset, place(own, builder_.shared_bytes, shared_bytes_max));
    LYK_TRY(
        builder_.declare(own.name, {SymbolKind::shared, own.type, 0, offset, own.bytes}, own.line));
    return cursor_.expect(';');
  }

  // For the arguments and the result of a call.
  lyk::Result<void> parameter() {
    LYK_TRY_ASSIGN(const Declaration own, parse_declaration(cursor_));
    LYK_TRY_ASSIGN(const std::uint32_t offset,
                   place(own, builder_.function.parameter_bytes, local_bytes_max));
    LYK_TRY(builder_.declare(
        own.name, {SymbolKind::frame_parameter, own.type, 0, offset, own.bytes}, own.line));
    return cursor_.expect(';');
  }

  Cursor& cursor_;
  FunctionBuilder& builder_;
};

// `(.param .b32 a, .param .b64 b)`, after the opening parenthesis.
lyk::Result<std::vector<Declaration>> parse_parameters(Cursor& cursor) {
  std::vector<Declaration> out;
  while (!cursor.take(')')) {
    if (!out.empty())
      LYK_TRY(cursor.expect(','));
    if (!cursor.take(".param"))
      return cursor.unexpected("'.param'");
    LYK_TRY_ASSIGN(const Declaration own, parse_declaration(cursor));
    out.push_back(own);
  }
  return out;
}

lyk::Result<Dimensions> parse_threads(Cursor& cursor) {
  Dimensions out;
  std::uint32_t* const sizes[] = {&out.x, &out.y, &out.z};
  for (std::uint32_t* size : sizes) {
    LYK_TRY_ASSIGN(const std::uint64_t number, cursor.expect_integer());
    if (number == 0 || number > block_threads_max)
      return error_at(cursor.line(), lyk::str(number, " threads of a block"));
    *size = static_cast<std::uint32_t>(number);
    if (!cursor.take(','))
      break;
  }
  return out;
}

// What stands between the parameters and the body. How many registers and blocks the compiler is to
// use says nothing here.
lyk::Result<void> parse_kernel_directives(Cursor& cursor, Kernel& kernel) {
  while (!cursor.take('{')) {
    if (cursor.take(".maxntid")) {
      LYK_TRY_ASSIGN(const Dimensions threads, parse_threads(cursor));
      kernel.threads_max = static_cast<std::uint32_t>(threads.count());
    } else if (cursor.take(".reqntid")) {
      LYK_TRY_ASSIGN(kernel.threads_required, parse_threads(cursor));
    } else if (cursor.take(".minnctapersm") || cursor.take(".maxnctapersm") ||
               cursor.take(".maxnreg")) {
      LYK_TRY(cursor.expect_integer());
    } else {
      return error_at(cursor.line(),
                      lyk::str("unknown directive ", lyk::quoted(cursor.peek().text)));
    }
  }
  return {};
}

}  // namespace

lyk::Result<void> parse_kernel(Cursor& cursor,
                               const ModuleContext& module,
                               Kernel& kernel,
                               Function& function) {
  function.line = cursor.line();
  function.defined = true;
  LYK_TRY_ASSIGN(const std::string_view name, cursor.expect_name());
  kernel.name = function.name = name;
  FunctionBuilder builder{function, module.symbols};
  builder.is_kernel = true;
  builder.sites = &module.sites;
  builder.platform = module.platform;
  builder.shared_bytes = module.shared_bytes;
  if (cursor.take('(')) {
    LYK_TRY_ASSIGN(const std::vector<Declaration> parameters, parse_parameters(cursor));
    for (const Declaration& own : parameters) {
      LYK_TRY_ASSIGN(const std::uint32_t offset,
                     place(own, kernel.parameter_bytes, parameter_bytes_max));
      kernel.parameters.push_back(
          {std::string{own.name}, offset, static_cast<std::uint32_t>(own.bytes), own.alignment});
      LYK_TRY(builder.declare(
          own.name, {SymbolKind::kernel_parameter, own.type, 0, offset, own.bytes}, own.line));
    }
  }
  LYK_TRY(parse_kernel_directives(cursor, kernel));
  LYK_TRY((Body{cursor, builder}.parse()));
  kernel.static_shared_bytes = builder.shared_bytes;
  kernel.local_bytes = function.local_bytes;
  kernel.registers = static_cast<std::uint32_t>(function.image.size());
  return {};
}

lyk::Result<FunctionHead> parse_function_head(Cursor& cursor) {
  FunctionHead head;
  if (cursor.take('(')) {
    LYK_TRY_ASSIGN(head.results, parse_parameters(cursor));
  }
  head.line = cursor.line();
  LYK_TRY_ASSIGN(head.name, cursor.expect_name());
  if (cursor.take('(')) {
    LYK_TRY_ASSIGN(head.parameters, parse_parameters(cursor));
  }
  while (cursor.take(".noreturn") || cursor.take(".abi_preserve")) {
  }
  return head;
}

lyk::Result<void> parse_function_body(Cursor& cursor,
                                      const ModuleContext& module,
                                      const FunctionHead& head,
                                      Function& function) {
  function.line = head.line;
  function.defined = true;
  FunctionBuilder builder{function, module.symbols};
  builder.sites = &module.sites;
  builder.platform = module.platform;
  builder.shared_bytes = module.shared_bytes;
  const auto declare = [&](const Declaration& own) -> lyk::Result<ParameterBytes> {
    LYK_TRY_ASSIGN(const std::uint32_t offset,
                   place(own, function.parameter_bytes, local_bytes_max));
    LYK_TRY(builder.declare(own.name, {SymbolKind::frame_parameter, own.type, 0, offset, own.bytes},
                            own.line));
    return ParameterBytes{offset, static_cast<std::uint32_t>(own.bytes)};
  };
  for (const Declaration& own : head.results) {
    LYK_TRY_ASSIGN(function.result, declare(own));
  }
  for (const Declaration& own : head.parameters) {
    LYK_TRY_ASSIGN(const ParameterBytes bytes, declare(own));
    function.arguments.push_back(bytes);
  }
  return Body{cursor, builder}.parse();
}

}  // namespace softcuda::ptx
