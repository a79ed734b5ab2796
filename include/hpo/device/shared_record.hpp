// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hpo/core/error.hpp"

namespace hpo::device {

/// What a record is: `layout` tells kinds and versions apart, `what` is for messages. A literal.
struct RecordKind {
    constexpr RecordKind(std::uint64_t number, std::string_view name = "a record") : layout{number}, what{name} {}
    std::uint64_t layout;
    std::string_view what;
    std::chrono::milliseconds patience{30'000};  ///< with whoever is in the record; nobody stays for a thousandth of that
};

/// A record that all processes over one file share, one at a time. It stays when they end.
///
/// Its folder says whose processes these may be: all who may write to it, where it is a group's or everybody's; only the user's own where
/// each keeps what is his (a sticky folder, as /dev/shm). They trust each other: whoever may write to a record can spoil it.
///
/// Thread safety: all members of one object, and of objects in several processes over one file.
///
/// Design note: the mutex is robust. A process may be killed between any two instructions; whoever comes next finds the record as it
/// was left, so `Content` must be readable after every single store, as by writing last what makes an entry count; or it has a member
/// mend(), which is called then and makes it so.
template <class Content>
class SharedRecord {
public:
    /// Opens the file's record, and makes it first where there is none. Throws Error{no_device} when the file is something else, or another
    /// user's in a folder that is not shared.
    SharedRecord(const std::filesystem::path& file, RecordKind kind) : file_{file}, kind_{kind} {
        constexpr int attempts = 8;  // between its making and its opening somebody may remove it
        for (int attempt = 0; attempt < attempts && !shared_; ++attempt) {
            if (!open_existing()) static_cast<void>(make({}));
        }
        if (!shared_) throw cannot("be opened");
    }
    /// Opens a record that is there. Throws Error{no_device}, also when it is not.
    [[nodiscard]] static SharedRecord open(const std::filesystem::path& file, RecordKind kind) {
        SharedRecord record{kind, file};
        if (!record.open_existing()) throw record.cannot("be opened");
        return record;
    }
    /// Makes a record where there is no file. Throws Error{no_device}, also when there is one.
    [[nodiscard]] static SharedRecord make_new(const std::filesystem::path& file, RecordKind kind, const Content& content) {
        SharedRecord record{kind, file};
        if (!record.make(content)) throw record.cannot("be made");
        return record;
    }
    SharedRecord(SharedRecord&& other) noexcept
        : file_{std::move(other.file_)}, kind_{other.kind_}, shared_{std::exchange(other.shared_, nullptr)} {}
    SharedRecord& operator=(SharedRecord&&) = delete;
    ~SharedRecord() {
        if (shared_) ::munmap(shared_, sizeof(Shared));
    }

    /// What `use(content)` returns; meanwhile no other thread or process is in the record. Throws Error{no_device} when somebody else does
    /// not leave it: that process is stopped, or the file is damaged.
    template <class Use>
    auto with(const Use& use) const {
        const Lock lock{*this};
        return use(shared_->content);
    }
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

private:
    struct Shared {
        std::uint64_t layout;
        pthread_mutex_t mutex;
        Content content;
    };
    struct Lock {
        explicit Lock(const SharedRecord& record) : mutex{record.shared_->mutex} {
            const int status = record.wait_for(mutex);
            if (status == 0) return;
            if (status != EOWNERDEAD) {
                throw Error{Errc::no_device, record.file_.string() + ": locked for " +
                                                 std::to_string(record.kind_.patience.count() / 1000) +
                                                 " s: its holder is stopped, or the file is damaged; remove it when no study runs"};
            }
            Content& content = record.shared_->content;
            if constexpr (requires { content.mend(); }) content.mend();
            pthread_mutex_consistent(&mutex);
        }
        ~Lock() { pthread_mutex_unlock(&mutex); }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        pthread_mutex_t& mutex;
    };

    SharedRecord(RecordKind kind, const std::filesystem::path& file) : file_{file}, kind_{kind} {
        static_assert(std::is_trivially_copyable_v<Content>);
    }

    /// pthread_mutex_lock, but not for ever.
    [[nodiscard]] int wait_for(pthread_mutex_t& mutex) const {
        ::timespec until{};
        ::clock_gettime(CLOCK_REALTIME, &until);
        const auto nanoseconds = until.tv_nsec + std::chrono::nanoseconds{kind_.patience}.count();
        until.tv_sec += nanoseconds / 1'000'000'000;
        until.tv_nsec = nanoseconds % 1'000'000'000;
        return pthread_mutex_timedlock(&mutex, &until);
    }
    [[nodiscard]] Error cannot(const std::string& act) const {
        const std::string why = std::strerror(errno);
        return Error{Errc::no_device, file_.string() + ": cannot " + act + ": " + why};
    }
    /// Of the record's folder.
    struct Sharing {
        ::mode_t mode = 0600;  ///< of its records
        ::gid_t group = 0;
        [[nodiscard]] bool with_others() const { return mode != 0600; }
    };
    [[nodiscard]] Sharing sharing() const {
        const auto folder = file_.has_parent_path() ? file_.parent_path() : std::filesystem::path{"."};
        struct ::stat status {};
        if (::stat(folder.c_str(), &status) != 0 || (status.st_mode & S_ISVTX) != 0) return {};
        const ::mode_t writers = status.st_mode & (S_IWGRP | S_IWOTH);
        return {.mode = 0600 | writers | writers << 1U, .group = status.st_gid};
    }
    /// Makes a new record one of those whom its folder is for; false, with errno, where that may not be.
    [[nodiscard]] bool share(int descriptor) const {
        const Sharing with = sharing();
        if (!with.with_others()) return true;
        const bool for_all = (with.mode & S_IWOTH) != 0;
        return (for_all || ::fchown(descriptor, static_cast<::uid_t>(-1), with.group) == 0) && ::fchmod(descriptor, with.mode) == 0;
    }
    [[nodiscard]] bool map(int descriptor) {
        void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        ::close(descriptor);
        if (memory == MAP_FAILED) return false;
        shared_ = static_cast<Shared*>(memory);
        return true;
    }
    /// False when there is no such file.
    [[nodiscard]] bool open_existing() {
        const int descriptor = ::open(file_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (descriptor < 0) {
            if (errno == ENOENT) return false;
            throw cannot("be opened");
        }
        struct ::stat status {};
        const bool ours = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                          (status.st_uid == ::geteuid() || sharing().with_others()) && status.st_size == static_cast<off_t>(sizeof(Shared));
        if (!ours) ::close(descriptor);
        else if (!map(descriptor)) throw cannot("be read");
        if (ours && shared_->layout == kind_.layout) return true;
        if (shared_) ::munmap(std::exchange(shared_, nullptr), sizeof(Shared));
        throw Error{Errc::no_device,
                    file_.string() + ": not " + std::string{kind_.what} + " of this version and user; remove it when no study runs"};
    }
    /// Makes the whole record under another name first, so that nobody sees a part of it. False, with errno, when there is one already.
    [[nodiscard]] bool make(const Content& content) {
        static std::atomic<int> made{0};
        const std::filesystem::path draft = file_.string() + "." + std::to_string(::getpid()) + "." + std::to_string(made++);
        const int descriptor = ::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (descriptor < 0) throw cannot("be made");
        const bool ready = share(descriptor) && ::ftruncate(descriptor, sizeof(Shared)) == 0;
        if (!ready || !map(descriptor)) {
            Error error = cannot("be made");  // while errno tells why
            if (!ready) ::close(descriptor);
            ::unlink(draft.c_str());
            throw Error{std::move(error)};
        }
        new (&shared_->content) Content{content};
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&shared_->mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
        shared_->layout = kind_.layout;
        const bool first = ::link(draft.c_str(), file_.c_str()) == 0;
        const bool lost_race = !first && errno == EEXIST;
        Error error = cannot("be made");
        ::unlink(draft.c_str());
        if (first) return true;
        ::munmap(std::exchange(shared_, nullptr), sizeof(Shared));
        if (!lost_race) throw Error{std::move(error)};
        errno = EEXIST;
        return false;
    }

    std::filesystem::path file_;
    RecordKind kind_;
    Shared* shared_ = nullptr;
};

}  // namespace hpo::device
