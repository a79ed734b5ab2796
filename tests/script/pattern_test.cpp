// SPDX-License-Identifier: MIT
#include "script/pattern.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "hpo/core/seed.hpp"
#include "hpo/script/lua_state.hpp"
#include "script/string_library.hpp"
#include "support/catch.hpp"

namespace {

namespace own = hpo::script::string_library;

/// One interpreter with Lua's string library as `string` and ours as `own`.
struct BothLibraries {
    hpo::script::LuaState state{{.memory_bytes = 64 << 20, .time = std::chrono::seconds{60}}, "both.lua"};

    BothLibraries() {
        state.call([](lua_State* L) {
            luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
            luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
            static constexpr luaL_Reg functions[] = {{"find", own::find}, {"match", own::match}, {"gmatch", own::gmatch},
                                                     {"gsub", own::gsub}, {"rep", own::rep},     {nullptr, nullptr}};
            luaL_newlib(L, functions);
            lua_setglobal(L, "own");
            const char* compare = R"(
                local function show(...)
                    local text = {}
                    for i = 1, select('#', ...) do text[i] = string.format('%q', (select(i, ...))) end
                    local all = ''
                    for i = 1, #text do all = all .. text[i] .. ' ' end
                    return all
                end
                local function all(library, subject, pattern, init)
                    local words = ''
                    for a, b in library.gmatch(subject, pattern) do words = words .. show(a, b) .. ';' end
                    return show(library.find(subject, pattern, init)) .. '|' .. show(library.match(subject, pattern, init)) .. '|' ..
                           show(library.gsub(subject, pattern, '<%0>')) .. '|' .. words
                end
                function compare(subject, pattern, init)
                    local fine, ours = pcall(all, own, subject, pattern, init)
                    local lua_fine, luas = pcall(all, string, subject, pattern, init)
                    if not lua_fine then return fine and 'only Lua refuses: ' .. luas or 'both refuse' end
                    if not fine then return 'only we refuse: ' .. ours end
                    return ours == luas and 'equal' or 'ours ' .. ours .. ' Lua ' .. luas
                end)";
            if (luaL_dostring(L, compare)) lua_error(L);
        });
    }

    std::string compare(const std::string& subject, const std::string& pattern, std::int64_t init) {
        std::string verdict;
        state.call([&](lua_State* L) {
            lua_getglobal(L, "compare");
            lua_pushlstring(L, subject.data(), subject.size());
            lua_pushlstring(L, pattern.data(), pattern.size());
            lua_pushinteger(L, init);
            lua_call(L, 3, 1);
            verdict = lua_tostring(L, -1);
        });
        return verdict;
    }
};

template <std::size_t N>
std::string random_text(hpo::Rng& rng, const char* const (&pieces)[N], std::size_t most) {
    std::string text;
    for (std::uint64_t count = rng.below(most + 1); count > 0; --count) text += pieces[rng.below(N)];
    return text;
}

}  // namespace

TEST_CASE("random patterns match what Lua's own library matches") {
    static constexpr const char* pieces[] = {"a",       "b",      ".",     "%a", "%d",   "%w",     "%S", "%.", "[ab]", "[^a]",
                                             "[a-c%d]", "[]]",    "[^]x]", "*",  "+",    "-",      "?",  "(",  ")",    "()",
                                             "%1",      "%2",     "^",     "$",  "%b()", "%f[%w]", "1",  " ",  "%z",   "(a*)",
                                             "(.-)",    "[%a-z]", "%",     "[",  "%b",   "%f",     "x?", "(b)"};
    static constexpr const char* letters[] = {"a", "b", "c", "1", " ", "(", ")", ".", "ab", "x", "]", "\xC3\xA4", "-"};
    BothLibraries both;
    hpo::Rng rng = hpo::Seed{20}.rng();
    int equal = 0;
    int refused = 0;
    for (int round = 0; round < 20000; ++round) {
        const std::string pattern = random_text(rng, pieces, 6);
        const std::string subject = random_text(rng, letters, 10);
        const std::string verdict = both.compare(subject, pattern, static_cast<std::int64_t>(rng.below(8)) - 3);
        if (verdict == "equal") {
            ++equal;
        } else if (verdict == "both refuse") {
            ++refused;
        } else if (verdict.find("only we refuse") == std::string::npos) {
            CAPTURE(pattern, subject);
            FAIL_CHECK(verdict);
        }
    }
    CHECK(equal > 7000);
    CHECK(refused > 1500);
}

TEST_CASE("the corners of the pattern language are Lua's") {
    BothLibraries both;
    const std::vector<std::pair<std::string, std::string>> cases{{"hello world", "o w"},
                                                                 {"hello world", "(o)(%s)"},
                                                                 {"key = value", "(%w+)%s*=%s*(%w+)"},
                                                                 {"THE (quick) fox", "%((%a+)%)"},
                                                                 {"f(a(b)c)d", "%b()"},
                                                                 {"THE (quick) fox", "%f[%a]%a+"},
                                                                 {"abcabc", "(a)(b)(c)%1%2%3"},
                                                                 {"x]y", "[]]"},
                                                                 {"a-b", "[a%-]+"},
                                                                 {"", ""},
                                                                 {"", "^$"},
                                                                 {"abc", ""},
                                                                 {"abc", "()"},
                                                                 {"a\0b", "a%zb"},
                                                                 {std::string{"a\0b", 3}, "%z"},
                                                                 {"a$b", "$b"},
                                                                 {"a^b", "a^b"},
                                                                 {"aaa", "a-$"},
                                                                 {"  trim  ", "^%s*(.-)%s*$"},
                                                                 {"2026-11-21", "(%d+)-(%d+)-(%d+)"}};
    for (const auto& [subject, pattern] : cases) {
        CAPTURE(subject, pattern);
        CHECK(both.compare(subject, pattern, 1) == "equal");
    }
}

TEST_CASE("gsub takes texts, tables and functions, as Lua's") {
    BothLibraries both;
    for (const char* call :
         {"gsub('hello', 'l', { l = 'L' })", "gsub('hello', '(l)(.)', function(a, b) return b .. a end)", "gsub('hello', '', '-')",
          "gsub('hello', 'l', '%%%0%1', 1)", "gsub('abc', '%w', '%0%0', 2)", "gsub('abc', 'b', false == nil and '' or 3)",
          "gsub('hello', 'x*', '.')", "gsub('abc', '()', '%1')", "gsub('abc', 'b', {})", "rep('ab', 3, ',')", "rep('x', -1)",
          "find('a.b', '.', 1, true)", "find('abc', 'b', -1)", "find('abc', '', 10)", "find('abc', '', 4)", "match('abc', '()b()')"}) {
        CAPTURE(call);
        both.state.call([&](lua_State* L) {
            const std::string code =
                std::string{"local a, b, c = own."} + call + " local x, y, z = string." + call + " return a == x and b == y and c == z";
            if (luaL_dostring(L, code.c_str())) lua_error(L);
            CHECK(lua_toboolean(L, -1) == 1);
        });
    }
}

TEST_CASE("malformed patterns say what is wrong") {
    const std::vector<std::pair<const char*, const char*>> cases{{"%", "ends with '%'"},
                                                                 {"[a", "missing ']'"},
                                                                 {"(a", "unfinished capture"},
                                                                 {"a)", "invalid pattern capture"},
                                                                 {"%1", "invalid capture index %1"},
                                                                 {"(%1)", "invalid capture index %1"},
                                                                 {"%b(", "missing arguments to '%b'"},
                                                                 {"%f", "missing '[' after '%f'"}};
    for (const auto& [text, what] : cases) {
        CAPTURE(text);
        CHECK_THROWS_WITH(hpo::script::Pattern{text}, Catch::Contains(what));
    }
}
