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
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::device {

/// The kind of a record. `layout` identifies the kind and, in its lowest 16 bits, the version. `what` is a literal for messages.
struct RecordKind {
    constexpr RecordKind(std::uint64_t number, std::string_view name = "a record") : layout{number}, what{name} {}
    std::uint64_t layout;
    std::string_view what;
    std::chrono::milliseconds patience{
        30'000};  ///< how long to wait for the lock; a process normally holds it for far less than a thousandth of that
};

/// A record in a file that several processes share, one at a time. It stays when they end.
///
/// The folder of the file decides which users may share it. If only one group may write to the folder, that group's users may. Else only
/// the user's own processes may. These processes must trust each other as if they ran each other's programs. The record holds a lock, and a
/// process that damages the lock can crash the others, or do worse.
///
/// Thread safety: several threads may use one object, and several processes one file.
///
/// Design note: the mutex is robust. A process may be killed between any two instructions, and the next process finds the record as it was
/// left. So `Content` must be readable after every single store, for example because it writes last what makes an entry valid. Or it has a
/// member mend(), which is called then and repairs it.
template <class Content>
class SharedRecord {
public:
    /// Opens the file's record, and makes it first if there is none. Throws Error{no_device} if the file is something else, or if it
    /// belongs to another user and its folder to no group.
    SharedRecord(const std::filesystem::path& file, RecordKind kind) : file_{file}, kind_{kind} {
        constexpr int attempts = 8;  // another process may remove the file after it was made and before it is opened
        for (int attempt = 0; attempt < attempts && !shared_; ++attempt) {
            if (!open_existing()) static_cast<void>(make({}));
        }
        if (!shared_) throw cannot("be opened");
    }
    /// Opens an existing record. Throws Error{no_device}, also if there is none.
    [[nodiscard]] static SharedRecord open(const std::filesystem::path& file, RecordKind kind) {
        SharedRecord record{kind, file};
        if (!record.open_existing()) throw record.cannot("be opened");
        return record;
    }
    /// Makes a new record. Throws Error{no_device}, also if the file exists.
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

    /// Returns what `use(content)` returns. Meanwhile no other thread or process is in the record. Throws Error{no_device} if another
    /// process does not leave the record, because it is stopped or the file is damaged.
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

    /// As pthread_mutex_lock, but gives up after the patience of the kind.
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
    /// The group that the record's folder belongs to. Returns nullopt if the group may not write there, or if everybody may.
    /// Returns nullopt too if the folder is sticky, where users may only change their own files.
    [[nodiscard]] std::optional<::gid_t> group_of_folder() const {
        const auto folder = file_.has_parent_path() ? file_.parent_path() : std::filesystem::path{"."};
        struct ::stat status {};
        if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
        const bool is_groups = (status.st_mode & S_IWGRP) != 0 && (status.st_mode & (S_IWOTH | S_ISVTX)) == 0;
        return is_groups ? std::optional{status.st_gid} : std::nullopt;
    }
    /// Gives a new record to its folder's group. If the user is not in that group, it stays the user's own.
    void share(int descriptor) const {
        const auto group = group_of_folder();
        if (group && ::fchown(descriptor, static_cast<::uid_t>(-1), *group) == 0) static_cast<void>(::fchmod(descriptor, 0660));
    }
    /// True if another user's file may be trusted.
    [[nodiscard]] bool is_groups(const struct ::stat& status) const {
        return group_of_folder() == status.st_gid && (status.st_mode & S_IWOTH) == 0;
    }
    [[nodiscard]] bool map(int descriptor) {
        void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        ::close(descriptor);
        if (memory == MAP_FAILED) return false;
        shared_ = static_cast<Shared*>(memory);
        return true;
    }
    /// Returns false if there is no such file.
    [[nodiscard]] bool open_existing() {
        const int descriptor = ::open(file_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (descriptor < 0) {
            if (errno == ENOENT) return false;
            throw cannot("be opened");
        }
        struct ::stat status {};
        std::uint64_t layout = 0;
        const bool is_file = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                             ::pread(descriptor, &layout, sizeof layout, 0) == static_cast<ssize_t>(sizeof layout);
        const bool may = status.st_uid == ::geteuid() || is_groups(status);
        if (is_file && may && layout == kind_.layout && status.st_size == static_cast<off_t>(sizeof(Shared))) {
            if (!map(descriptor)) throw cannot("be read");
            return true;
        }
        ::close(descriptor);
        const std::string what{kind_.what};
        constexpr int version_bits = 16;
        throw Error{Errc::no_device,
                    file_.string() + ": " +
                        (!is_file || layout >> version_bits != kind_.layout >> version_bits ? "not " + what + "; name another file"
                         : !may ? what + " of another user, in a folder that is not a group's; name another file"
                                : what + " of another version, or cut short; remove it when no study runs")};
    }
    /// Makes the whole record under another name first, so that no process sees a part of it. Returns false and sets errno if there is a
    /// record already.
    [[nodiscard]] bool make(const Content& content) {
        static std::atomic<int> made{0};
        const std::filesystem::path draft = file_.string() + "." + std::to_string(::getpid()) + "." + std::to_string(made++);
        const int descriptor = ::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (descriptor < 0) throw cannot("be made");
        share(descriptor);
        const bool sized = ::ftruncate(descriptor, sizeof(Shared)) == 0;
        if (!sized || !map(descriptor)) {
            Error error = cannot("be made");  // now, while errno still says why
            if (!sized) ::close(descriptor);
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
