// Resolve.
#include "proto/codec_methods.hpp"
#include "proto/codec_types.hpp"

namespace lyk::wire {

template <>
inline constexpr auto fields_of<ResolveCall> =
    std::make_tuple(field("slot", &ResolveCall::slot),
                    field("device", &ResolveCall::device),
                    field("wait_ms", &ResolveCall::wait_ms),
                    field("offline", &ResolveCall::offline, Presence::unless_empty),
                    field("describe", &ResolveCall::describe, Presence::unless_empty),
                    field("pin", &ResolveCall::pin),
                    field("pin_name", &ResolveCall::pin_name));

template <>
inline constexpr auto fields_of<ResolveReply> =
    std::make_tuple(field("slot", &ResolveReply::slot),
                    field("image", &ResolveReply::image),
                    field("repo", &ResolveReply::repo),
                    field("repo_type", &ResolveReply::repo_type),
                    field("commit", &ResolveReply::commit),
                    field("proof", &ResolveReply::proof),
                    field("file", &ResolveReply::file),
                    field("pin", &ResolveReply::pin),
                    field("refused", &ResolveReply::refused, Presence::unless_empty),
                    field("deterministic", &ResolveReply::deterministic, Presence::unless_empty));

LYK_WIRE_METHOD(Resolve);

}  // namespace lyk::wire
