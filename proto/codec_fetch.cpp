// Fetch and Probe: the calls that go to the network and report progress.
#include "proto/codec_methods.hpp"
#include "proto/codec_types.hpp"

namespace lyk::wire {

template <>
inline constexpr auto fields_of<FetchedSlot> =
    std::make_tuple(field("slot", &FetchedSlot::slot),
                    field("repo", &FetchedSlot::repo),
                    field("repo_type", &FetchedSlot::repo_type),
                    field("commit", &FetchedSlot::commit),
                    field("proof", &FetchedSlot::proof),
                    field("files", &FetchedSlot::files),
                    field("images", &FetchedSlot::images),
                    field("bytes", &FetchedSlot::bytes),
                    field("downloaded_bytes", &FetchedSlot::downloaded_bytes),
                    field("adopted_bytes", &FetchedSlot::adopted_bytes),
                    field("warnings", &FetchedSlot::warnings));

template <>
inline constexpr auto fields_of<FetchCall> =
    std::make_tuple(field("slots", &FetchCall::slots),
                    field("archs", &FetchCall::archs, Presence::unless_empty),
                    field("offline", &FetchCall::offline, Presence::unless_empty),
                    field("pin", &FetchCall::pin),
                    field("pin_name", &FetchCall::pin_name),
                    field("driver", &FetchCall::driver));

template <>
inline constexpr auto fields_of<FetchReply> = std::make_tuple(
    field("progress", &FetchReply::progress), field("fetched", &FetchReply::fetched));

LYK_WIRE_METHOD(Fetch);

template <>
inline constexpr auto fields_of<ProbeCall> =
    std::make_tuple(field("slot", &ProbeCall::slot),
                    field("repo", &ProbeCall::repo),
                    field("revision", &ProbeCall::revision),
                    field("repo_types", &ProbeCall::repo_types, Presence::unless_empty),
                    field("abi", &ProbeCall::abi));

template <>
inline constexpr auto fields_of<ProbeReply> =
    std::make_tuple(field("progress", &ProbeReply::progress),
                    field("pin", &ProbeReply::pin),
                    field("commit", &ProbeReply::commit),
                    field("repo_type", &ProbeReply::repo_type),
                    field("license", &ProbeReply::license),
                    field("files", &ProbeReply::files, Presence::with_result),
                    field("warnings", &ProbeReply::warnings, Presence::with_result),
                    field("kept", &ProbeReply::kept, Presence::unless_empty));

LYK_WIRE_METHOD(Probe);

}  // namespace lyk::wire
