// SPDX-License-Identifier: MIT
#include "tune/optimize/program_connection.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "hpo/worker/descriptor.hpp"
#include "support/catch.hpp"
#include "support/json.hpp"
#include "support/temporary_directory.hpp"

using hpo::tools::Json;
using hpo::tune::ProgramConnection;

namespace {

constexpr int long_enough_ms = 60'000;  // for what has happened already

/// A process of the program.
class Client {
public:
    explicit Client(const std::filesystem::path& path) : socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        REQUIRE(path.string().size() < sizeof address.sun_path);
        std::memcpy(address.sun_path, path.c_str(), path.string().size());
        REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }
    void say(const std::string& line) const { REQUIRE(::send(socket_.get(), line.data(), line.size(), 0) == ssize_t(line.size())); }
    [[nodiscard]] std::string heard() const {
        std::array<char, 512> text{};
        const ssize_t got = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
        return got < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(got));
    }

private:
    hpo::worker::Descriptor socket_;
};

}  // namespace

TEST_CASE("program connection: a process that closes and connects anew before it is looked at is not another") {
    const hpo::tests::TemporaryDirectory folder;
    const std::filesystem::path path = folder.file("front");
    ProgramConnection connection{path};
    std::optional<Client> client{path};
    connection.accept(-1, long_enough_ms);
    REQUIRE(connection.is_open());

    client.reset();
    const Client again{path};
    again.say("{\"op\": \"optimize\"}\n");
    CHECK(!connection.hear(long_enough_ms));
    CHECK(!connection.is_open());
    connection.accept(-1, long_enough_ms);
    REQUIRE(connection.is_open());
    CHECK(connection.hear(long_enough_ms) == Json{{"op", "optimize"}});
    CHECK(again.heard() == "nothing");
}

TEST_CASE("program connection: a second process is turned away while the first is there") {
    const hpo::tests::TemporaryDirectory folder;
    const std::filesystem::path path = folder.file("front");
    ProgramConnection connection{path};
    const Client first{path};
    connection.accept(-1, long_enough_ms);
    const Client second{path};
    CHECK(!connection.hear(0));
    CHECK(Json::parse(second.heard()).at("busy") == true);
    first.say("{\"op\": \"stop\"}\n");
    CHECK(connection.hear(long_enough_ms) == Json{{"op", "stop"}});
    connection.say({{"op", "ended"}});
    CHECK(first.heard() == "{\"op\":\"ended\"}\n");
}

TEST_CASE("program connection: a line that is no message is an error") {
    const hpo::tests::TemporaryDirectory folder;
    ProgramConnection connection{folder.file("front")};
    const Client client{folder.file("front")};
    connection.accept(-1, long_enough_ms);
    client.say("[1]\n");
    CHECK_THROWS_WITH(connection.hear(long_enough_ms), Catch::Matchers::Contains("the program said what hpo cannot read: [1]"));
}
