// Statements, operands and declarations: the parts of PTX that functions and modules share.
#include <algorithm>
#include <utility>

#include "tests/fakes/softcuda/ptx/cursor.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::size_t elements_max = 64;
constexpr std::uint64_t variable_bytes_max = 256 << 20;

lyk::Result<Operand> parse_number(Cursor& cursor) {
  const bool negative = cursor.take('-');
  const Token& token = cursor.peek();
  Operand operand;
  operand.bits = token.bits;
  switch (token.kind) {
    case TokenKind::integer:
      operand.kind = OperandKind::integer;
      operand.bits = negative ? ~token.bits + 1 : token.bits;
      break;
    case TokenKind::real32:
      operand.kind = OperandKind::real32;
      operand.bits ^= negative ? std::uint64_t{1} << 31 : 0;
      break;
    case TokenKind::real64:
      operand.kind = OperandKind::real64;
      operand.bits ^= negative ? std::uint64_t{1} << 63 : 0;
      break;
    case TokenKind::word:
    case TokenKind::text:
    case TokenKind::mark:
    case TokenKind::end:
      return cursor.unexpected("an operand");
  }
  (void)cursor.next();
  return operand;
}

// `+4`, `-4` and `+-4` after a name; nothing is 0.
lyk::Result<std::int64_t> parse_offset(Cursor& cursor) {
  bool negative = false;
  if (cursor.take('+'))
    negative = cursor.take('-');
  else if (cursor.take('-'))
    negative = true;
  else
    return std::int64_t{0};
  LYK_TRY_ASSIGN(const std::uint64_t number, cursor.expect_integer());
  return static_cast<std::int64_t>(negative ? ~number + 1 : number);
}

lyk::Result<Operand> parse_simple(Cursor& cursor) {
  Operand operand;
  operand.negated = cursor.take('!');
  if (cursor.peek().kind != TokenKind::word) {
    if (operand.negated)
      return cursor.unexpected("a predicate");
    return parse_number(cursor);
  }
  LYK_TRY_ASSIGN(operand.name, cursor.expect_name());
  LYK_TRY_ASSIGN(operand.offset, parse_offset(cursor));
  return operand;
}

lyk::Result<Operand> parse_address(Cursor& cursor) {
  Operand operand;
  operand.kind = OperandKind::address;
  if (cursor.peek().kind == TokenKind::integer) {
    operand.offset = static_cast<std::int64_t>(cursor.next().bits);
  } else {
    LYK_TRY_ASSIGN(operand.name, cursor.expect_name());
    LYK_TRY_ASSIGN(operand.offset, parse_offset(cursor));
  }
  LYK_TRY(cursor.expect(']'));
  return operand;
}

// Operands up to a closing mark.
lyk::Result<Operand> parse_group(Cursor& cursor, OperandKind kind, char closing) {
  Operand group;
  group.kind = kind;
  while (!cursor.take(closing)) {
    if (!group.elements.empty())
      LYK_TRY(cursor.expect(','));
    if (group.elements.size() == elements_max)
      return error_at(cursor.line(), lyk::str("more than ", elements_max, " operands in a group"));
    LYK_TRY_ASSIGN(Operand element, parse_simple(cursor));
    group.elements.push_back(std::move(element));
  }
  return group;
}

lyk::Result<Operand> parse_operand(Cursor& cursor) {
  if (cursor.take('['))
    return parse_address(cursor);
  if (cursor.take('{'))
    return parse_group(cursor, OperandKind::vector, '}');
  if (cursor.take('('))
    return parse_group(cursor, OperandKind::list, ')');
  LYK_TRY_ASSIGN(Operand first, parse_simple(cursor));
  if (!cursor.take('|'))
    return first;
  LYK_TRY_ASSIGN(Operand second, parse_simple(cursor));
  Operand pair;
  pair.kind = OperandKind::pair;
  pair.elements = {std::move(first), std::move(second)};
  return pair;
}

// "ld.global.f32" as "ld" and its words.
void split_words(std::string_view text, Statement& statement) {
  std::size_t dot = text.find('.');
  statement.opcode = text.substr(0, dot);
  while (dot != std::string_view::npos) {
    const std::size_t end = text.find('.', dot + 1);
    statement.words.push_back(text.substr(
        dot + 1, end == std::string_view::npos ? std::string_view::npos : end - dot - 1));
    dot = end;
  }
}

lyk::Result<void> parse_dimensions(Cursor& cursor, Declaration& out) {
  while (cursor.take('[')) {
    if (cursor.take(']')) {
      out.open = true;
      continue;
    }
    LYK_TRY_ASSIGN(const std::uint64_t count, cursor.expect_integer());
    if (count > variable_bytes_max || (out.bytes *= count) > variable_bytes_max)
      return error_at(out.line, lyk::str(lyk::quoted(out.name), " has more than ",
                                         variable_bytes_max, " bytes"));
    LYK_TRY(cursor.expect(']'));
  }
  return {};
}

lyk::Result<std::uint32_t> parse_alignment(Cursor& cursor) {
  constexpr std::uint64_t alignment_max = 256;
  LYK_TRY_ASSIGN(const std::uint64_t alignment, cursor.expect_integer());
  if (alignment == 0 || alignment > alignment_max || (alignment & (alignment - 1)) != 0)
    return error_at(cursor.line(), lyk::str("alignment ", alignment));
  return static_cast<std::uint32_t>(alignment);
}

}  // namespace

lyk::Result<Statement> parse_statement(Cursor& cursor) {
  Statement statement;
  statement.line = cursor.line();
  LYK_TRY_ASSIGN(const std::string_view text, cursor.expect_name());
  split_words(text, statement);
  while (!cursor.take(';')) {
    if (!statement.operands.empty())
      LYK_TRY(cursor.expect(','));
    if (statement.operands.size() == elements_max)
      return error_at(statement.line, lyk::str("more than ", elements_max, " operands"));
    LYK_TRY_ASSIGN(Operand operand, parse_operand(cursor));
    statement.operands.push_back(std::move(operand));
  }
  return statement;
}

lyk::Result<Declaration> parse_declaration(Cursor& cursor) {
  Declaration out;
  out.line = cursor.line();
  std::uint32_t alignment = 0;
  if (cursor.take(".align")) {
    LYK_TRY_ASSIGN(alignment, parse_alignment(cursor));
  }
  const std::string_view word = cursor.peek().text;
  const std::optional<Type> type =
      word.starts_with('.') ? type_named(word.substr(1)) : std::nullopt;
  if (!type)
    return cursor.unexpected("a type");
  out.type = *type;
  (void)cursor.next();
  if (cursor.take(".ptr")) {  // what a parameter points to: a promise to the compiler
    for (const std::string_view space : {".global", ".const", ".shared", ".local"})
      (void)cursor.take(space);
    if (cursor.take(".align"))
      LYK_TRY(parse_alignment(cursor));
  }
  LYK_TRY_ASSIGN(out.name, cursor.expect_name());
  out.bytes = bytes_of(out.type);
  out.alignment = std::max(alignment, bytes_of(out.type));
  if (alignment != 0)
    out.alignment = alignment;
  LYK_TRY(parse_dimensions(cursor, out));
  return out;
}

}  // namespace softcuda::ptx
