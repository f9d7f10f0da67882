// List, Info, Verify, Remove, Prune and RebuildIndex: what the store holds, and its care.
#include "proto/codec_methods.hpp"
#include "proto/codec_types.hpp"

namespace lyk::wire {

template <>
inline constexpr auto fields_of<VerifyProgress> =
    std::make_tuple(field("files_done", &VerifyProgress::files_done),
                    field("files_total", &VerifyProgress::files_total),
                    field("bytes_done", &VerifyProgress::bytes_done),
                    field("bytes_total", &VerifyProgress::bytes_total));

template <>
inline constexpr auto fields_of<DamagedFile> =
    std::make_tuple(field("repo", &DamagedFile::repo),
                    field("commit", &DamagedFile::commit),
                    field("path", &DamagedFile::path),
                    field("expected", &DamagedFile::expected),
                    field("actual", &DamagedFile::actual));

template <>
inline constexpr auto fields_of<MissingFile> = std::make_tuple(field("repo", &MissingFile::repo),
                                                               field("commit",
                                                                     &MissingFile::commit),
                                                               field("path", &MissingFile::path));

template <>
inline constexpr auto fields_of<ListCall> = std::make_tuple(field("slot", &ListCall::slot));
template <>
inline constexpr auto fields_of<ListReply> = std::make_tuple(field("revisions",
                                                                   &ListReply::revisions));
LYK_WIRE_METHOD(List);

template <>
inline constexpr auto fields_of<InfoCall> = std::make_tuple(field("slot", &InfoCall::slot));
template <>
inline constexpr auto fields_of<InfoReply> = std::make_tuple(field("pin", &InfoReply::pin),
                                                             field("revision",
                                                                   &InfoReply::revision),
                                                             field("files", &InfoReply::files));
LYK_WIRE_METHOD(Info);

template <>
inline constexpr auto fields_of<VerifyCall> = std::make_tuple(field("slot", &VerifyCall::slot));
template <>
inline constexpr auto fields_of<VerifyReply> =
    std::make_tuple(field("progress", &VerifyReply::progress),
                    field("files", &VerifyReply::files, Presence::with_result),
                    field("bytes", &VerifyReply::bytes, Presence::with_result),
                    field("damaged", &VerifyReply::damaged, Presence::with_result),
                    field("missing", &VerifyReply::missing, Presence::with_result));
LYK_WIRE_METHOD(Verify);

template <>
inline constexpr auto fields_of<RemoveCall> = std::make_tuple(field("slot", &RemoveCall::slot));
template <>
inline constexpr auto fields_of<RemoveReply> = std::make_tuple(field("files", &RemoveReply::files),
                                                               field("bytes", &RemoveReply::bytes));
LYK_WIRE_METHOD(Remove);

template <>
inline constexpr auto fields_of<PruneCall> = std::make_tuple(field("max_bytes",
                                                                   &PruneCall::max_bytes));
template <>
inline constexpr auto fields_of<PruneReply> =
    std::make_tuple(field("files", &PruneReply::files),
                    field("bytes", &PruneReply::bytes),
                    field("bytes_left", &PruneReply::bytes_left),
                    field("refused", &PruneReply::refused, Presence::unless_empty));
LYK_WIRE_METHOD(Prune);

template <>
inline constexpr auto fields_of<RebuildIndexCall> = std::make_tuple();
template <>
inline constexpr auto fields_of<RebuildIndexReply> =
    std::make_tuple(field("files", &RebuildIndexReply::files),
                    field("images", &RebuildIndexReply::images),
                    field("revisions", &RebuildIndexReply::revisions));
LYK_WIRE_METHOD(RebuildIndex);

}  // namespace lyk::wire
