// SPDX-License-Identifier: MIT
#include "hpo/script/sandbox.hpp"

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using hpo::Error;
using hpo::script::LuaLimits;
using hpo::script::Sandbox;

namespace {

/// Runs `code` as the file s.lua; the error's text, or what the code returned as text.
std::string outcome(const std::string& code, LuaLimits limits = {.memory_bytes = 64 << 20, .time = std::chrono::seconds{20}}) {
    std::string result;
    try {
        Sandbox sandbox{limits, "s.lua", {}};
        sandbox.call([&](lua_State* L) {
            if (luaL_loadbufferx(L, code.data(), code.size(), "@s.lua", "t") != LUA_OK) lua_error(L);
            lua_call(L, 0, 1);
            result = luaL_tolstring(L, -1, nullptr);
        });
    } catch (const Error& error) {
        CHECK(error.code() == hpo::Errc::script);
        return error.what();
    }
    return result;
}

}  // namespace

TEST_CASE("the language and the computing parts of its library work") {
    CHECK(outcome("local t = { 3, 1, 2 } table.sort(t) return table.concat(t, ',')") == "1,2,3");
    CHECK(outcome("local t = { 3, 1, 2 } table.sort(t, function(a, b) return a > b end) return table.concat(t, ',')") == "3,2,1");
    CHECK(outcome("local t = {} table.insert(t, 'a') table.insert(t, 1, 'b') table.remove(t) return #t .. t[1]") == "1b");
    CHECK(outcome("return table.concat(table.move({ 1, 2, 3 }, 1, 3, 2, { 9 }), ' ')") == "9 1 2 3");
    CHECK(outcome("return select('#', table.unpack({ 1, 2, 3 }))") == "3");
    CHECK(outcome("return ('bert-large'):find('large', 1, true)") == "6");
    CHECK(outcome("return ('%d/%s'):format(3, 'x') .. math.floor(2.5) .. utf8.char(228)") == "3/x2\xC3\xA4");
    CHECK(outcome("local ok, what = pcall(error, 'caught') return tostring(ok) .. what") == "falsecaught");
    CHECK(outcome("return (pcall(function() return 1, 2 end))") == "true");
    CHECK(outcome("local t = setmetatable({}, { __index = function(_, k) return k .. '!' end }) return t.x") == "x!");
    CHECK(outcome("return ('ab'):rep(3, '-')") == "ab-ab-ab");
}

TEST_CASE("what reaches the machine or other code is not there") {
    for (const char* name : {"os", "io", "debug", "package", "load", "loadfile", "dofile", "coroutine", "xpcall", "collectgarbage"}) {
        CAPTURE(name);
        CHECK_THAT(outcome(std::string{"\nreturn "} + name + ".x"),
                   Catch::StartsWith("s.lua:2: '" + std::string{name} + "' is not available in a study script"));
    }
    CHECK_THAT(outcome("\x1bLua"), Catch::Contains("binary chunk"));
}

TEST_CASE("a name that was never defined is an error with a guess") {
    CHECK_THAT(outcome("local x = 1\nreturn tostrng(x)"),
               Catch::StartsWith("s.lua:2: unknown name 'tostrng'; did you mean 'tostring'?; known: "));
    CHECK(outcome("mine = 4 return mine") == "4");
    CHECK_THAT(outcome("_G[('tostrnga'):rep(100000)] = 1 return tostrng"), Catch::Contains("did you mean 'tostring'?"));
}

TEST_CASE("errors of every kind are one line with their place") {
    CHECK_THAT(outcome("local x =\n= 3"), Catch::StartsWith("s.lua:2: unexpected symbol near '='"));
    CHECK_THAT(outcome("\n\nlocal t = nil\nreturn t.x"), Catch::StartsWith("s.lua:4: attempt to index a nil value (local 't')"));
    CHECK(outcome("error('two\\nlines')") == "s.lua:1: two lines");
    CHECK(outcome("\nerror('no place', 0)") == "s.lua:2: no place");
    CHECK(outcome("\nerror({ code = 3 })") == "s.lua:2: raised a table; expected a text for error");
    CHECK(outcome("\nerror(setmetatable({}, { __tostring = function() while true do end end }))") ==
          "s.lua:2: raised a table; expected a text for error");
    CHECK(outcome("\nerror()") == "s.lua:2: raised a nil; expected a text for error");
    CHECK_THAT(outcome("\nreturn ('x'):rep('y')"), Catch::StartsWith("s.lua:2: bad argument #1 to 'rep'"));
    CHECK_THAT(outcome("return table.concat({ {} })"), Catch::StartsWith("s.lua:1: invalid value (table) at index 1"));
}

TEST_CASE("a long file name is given in full") {
    const std::string name = std::string(200, 'd') + "/study.lua";
    for (const char* code : {"\n=", "\nerror('x')"}) {
        Sandbox sandbox{{}, name, {}};
        CHECK_THROWS_WITH(sandbox.call([&](lua_State* L) {
            if (luaL_loadbufferx(L, code, std::string_view{code}.size(), ("@" + name).c_str(), "t") != LUA_OK) lua_error(L);
            lua_call(L, 0, 0);
        }),
                          Catch::StartsWith(name + ":2: "));
    }
}

TEST_CASE("whatever runs on is ended in time, with its place") {
    // Each of these would run for minutes or for ever; several of them in one C function.
    const std::vector<std::string> endless{
        "while true do end",
        "repeat local ok = pcall(function() while true do end end) until false",
        "local function again() return again() end again()",
        "string.find(('a'):rep(100000), ('.-'):rep(20) .. 'b')",
        "string.match(('a'):rep(50000), '(.*)(.*)(.*)(.*)b')",
        "string.gsub(('a'):rep(50000), '.-.-.-b', '')",
        "for w in string.gmatch(('a'):rep(50000), '.-.-.-b') do end",
        "string.find(('a'):rep(1000000), ('a'):rep(500000) .. 'b', 1, true)",
        "('x'):find(('%b()'):rep(500)) while true do local s = ('('):rep(1000000) s:find('%b()') end",
        "local t = {} for i = 1, 200000 do t[i] = ('a'):rep(10) end while true do table.sort(t) end",
        "local s = ('a'):rep(4000000) local t = {} for i = 1, 100000 do t[i] = s end table.sort(t)",
        "local t = setmetatable({}, { __index = function() return 1 end, __len = function() return 1 << 60 end }) for i = 1, #t do local x "
        "= t[i] end",
        "local a, b = ('x'):rep(4000000) .. '1', ('x'):rep(4000000) .. '2' while true do local c = a < b end",
        "while true do local s = ('x'):rep(4000000) .. 'y' end",
        "local t <close> = setmetatable({}, { __close = function() while true do end end })",
        "local t <close> = setmetatable({}, { __close = function() while true do end end }) while true do end",
        "local m = {} m.__eq = function() while true do end end return setmetatable({}, m) == setmetatable({}, m)",
        "local m = { __tostring = function() while true do end end } print(setmetatable({}, m))",
        "while true do print('x') end",
        "while true do pcall(error) end",
        "local function f() pcall(f) while true do end end f()",
    };
    for (const std::string& code : endless) {
        CAPTURE(code);
        const std::clock_t begin = std::clock();  // processor time, as the limit is
        const std::string text = outcome("\n" + code, {.memory_bytes = 64 << 20, .time = std::chrono::milliseconds{300}});
        const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        CHECK_THAT(text, Catch::StartsWith("s.lua:2: ran longer than the 300 ms"));
        CHECK(taken < 1.5);
    }
}

TEST_CASE("what a library function could be told to do without end is refused") {
    CHECK_THAT(outcome("return ('x'):rep(10 * 1024 ^ 3 // 1 | 0)"),
               Catch::StartsWith("s.lua:1: string.rep: a text of 10.00 GiB; at most 4.00 MiB"));
    CHECK(outcome("return #(''):rep(1 << 62)") == "0");
    CHECK_THAT(outcome("return ('xy'):rep(math.maxinteger)"), Catch::Contains("string.rep: a text of"));
    CHECK_THAT(outcome("return ('%99999d'):format(1)"), Catch::StartsWith("s.lua:1: invalid conversion"));
    CHECK_THAT(outcome("return table.concat({}, 'x', 1, 1 << 60)"), Catch::StartsWith("s.lua:1: invalid value"));
    CHECK_THAT(outcome("table.move({}, 1, 1 << 60, 1, {})"), Catch::StartsWith("s.lua:1: the range is too long"));
    CHECK_THAT(outcome("table.move({}, math.mininteger, math.maxinteger, 1)"), Catch::StartsWith("s.lua:1: the range is too long"));
    CHECK_THAT(outcome("table.unpack({}, 1, 1 << 40)"), Catch::StartsWith("s.lua:1: too many results"));
    CHECK_THAT(outcome("table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 2)"),
               Catch::Contains("without a metatable"));
    std::string sparse = "local t = {";  // all in the hash part, so that its length is about 2^62
    for (int i = 0; i < 63; ++i) sparse += "[1 << " + std::to_string(i) + "] = 1,";
    CHECK_THAT(outcome(sparse + "} table.insert(t, 1, 2)"), Catch::Contains("too long"));
    CHECK_THAT(outcome("setmetatable({}, { __gc = function() while true do end end })"),
               Catch::StartsWith("s.lua:1: setmetatable: '__gc'"));
    CHECK_THAT(outcome("local m = setmetatable({}, { __gc = 1 })"), Catch::Contains("'__gc'"));
    CHECK(outcome("return getmetatable('')") == "false");
    CHECK(outcome("return getmetatable(_G)") == "false");
}

TEST_CASE("memory runs out as an error with its place") {
    const auto text = outcome("local t = {}\nfor i = 1, 1 << 40 do\n  t[i] = ('x'):rep(100000) .. i\nend");
    CHECK_THAT(text, Catch::StartsWith("s.lua:3: out of memory: "));
    CHECK_THAT(text, Catch::Contains("a script may use 64.00 MiB in all, 4.00 MiB at once"));
    CHECK_THAT(outcome("local s = 'x'\nwhile true do s = s .. s end"), Catch::StartsWith("s.lua:2: out of memory: "));
    CHECK_THAT(outcome("return (('x'):rep(1000000)):gsub('x', ('y'):rep(1000))"), Catch::StartsWith("s.lua:1: resulting string too large"));
    CHECK(outcome("local ok = pcall(string.rep, 'x', 1 << 30) return ok") == "false");
    CHECK(outcome("local s = ('x'):rep(1000) for i = 1, 100000 do local t = { s .. i } end return 'garbage is collected'") ==
          "garbage is collected");
}

TEST_CASE("deep recursion is an error with its place") {
    CHECK_THAT(outcome("local function f(n) return 1 + f(n + 1) end\nreturn f(1)"),
               Catch::StartsWith("s.lua:1: ") && (Catch::Contains("stack overflow") || Catch::Contains("out of memory")));
    CHECK_THAT(outcome("local s = ('('):rep(1000) return s:gsub('.', function(c) return (s:gsub('.', function() error('deep') end)) end)"),
               Catch::Contains("deep"));
    CHECK_THAT(outcome("local function f(s) return s:gsub('.', f) end return f('x')"),
               Catch::EndsWith("stack overflow, which looks like endless recursion"));
    CHECK_THAT(outcome("return " + std::string(100000, '(') + "1" + std::string(100000, ')')),
               Catch::StartsWith("s.lua: C stack overflow"));
    CHECK_THAT(outcome("local m = {} m.__index = function(t, k) return t[k .. 'x'] end return setmetatable({}, m).a"),
               Catch::Contains("s.lua:1: "));
}

TEST_CASE("the interpreter is usable after every error") {
    Sandbox sandbox{{.memory_bytes = 8 << 20, .time = std::chrono::milliseconds{100}}, "s.lua", {}};
    const auto run = [&](const char* code) {
        sandbox.call([&](lua_State* L) {
            if (luaL_loadstring(L, code) != LUA_OK) lua_error(L);
            lua_call(L, 0, 0);
        });
    };
    CHECK_THROWS_AS(run("while true do end"), Error);
    CHECK_THROWS_AS(run("local s = 'x' while true do s = s .. s end"), Error);
    CHECK_THROWS_AS(run("local function f() return 1 + f() end f()"), Error);
    CHECK_THROWS_AS(run("error({})"), Error);
    CHECK_NOTHROW(run("x = 1"));
    CHECK_NOTHROW(run("assert(x == 1)"));
}

TEST_CASE("what the host throws reaches the host, past every pcall") {
    struct Stop {
        int code;
    };
    Sandbox sandbox{{}, "s.lua", {}};
    const auto run = [&] {
        sandbox.call([&](lua_State* L) {
            lua_pushcfunction(L, [](lua_State* S) {
                Sandbox::outside(S, [] { throw Stop{7}; });
                return 0;
            });
            lua_setglobal(L, "stop");
            luaL_loadstring(L, "pcall(pcall, function() pcall(stop) end) while true do end");
            lua_call(L, 0, 0);
        });
    };
    try {
        run();
        FAIL("nothing was thrown");
    } catch (const Stop& stop) {
        CHECK(stop.code == 7);
    }
}

TEST_CASE("print goes to the host, up to a limit") {
    std::vector<std::string> lines;
    Sandbox sandbox{{}, "s.lua", [&](std::string_view line) { lines.emplace_back(line); }};
    sandbox.call([](lua_State* L) {
        luaL_loadstring(L, "print('a', 1, true, nil) for i = 1, 10000 do print(('x'):rep(100)) end");
        lua_call(L, 0, 0);
    });
    sandbox.call([](lua_State* L) {
        luaL_loadstring(L, "local s, t = ('x'):rep(60000), {} for i = 1, 50000 do t[i] = s end print(table.unpack(t))");
        lua_call(L, 0, 0);
    });
    REQUIRE(lines.size() > 2);
    CHECK(lines[0] == "a\t1\ttrue\tnil");
    CHECK(lines.size() < 700);
    CHECK_THAT(lines.back(), Catch::Contains("the rest is left out"));
}

TEST_CASE("recursion without end is told as such, with its place and its depth") {
    for (const char* code : {"\nlocal function f(n)\n  return 1 + f(n + 1)\nend\nreturn f(0)",
                             "\nlocal function f(n)\n  local a, b, c, d, e, g, h, i, j, k = f(n + 1)\n  return a\nend\nreturn f(0)"}) {
        CAPTURE(code);
        const std::string text = outcome(code);
        CHECK_THAT(text,
                   Catch::StartsWith("s.lua:3: stack overflow: ") && Catch::Contains(" calls deep, which looks like endless recursion"));
        const int depth = std::stoi(text.substr(text.find("overflow: ") + 10));
        CHECK(depth > 1000);
        CHECK(depth < 10'000'000);
    }
    CHECK_THAT(outcome("\nlocal m = {}\nm.__index = function(t, k) return t[k] end\nreturn setmetatable({}, m).x"),
               Catch::StartsWith("s.lua:3: ") && Catch::Contains("stack overflow"));
    CHECK_THAT(outcome("\nlocal s = ('x'):rep(3000000)\nreturn s .. s"), Catch::StartsWith("s.lua:3: out of memory: "));
    CHECK(outcome("local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(50000)") == "50000");
}

TEST_CASE("a member that a library lacks is an error that says what there is, or why not") {
    CHECK(outcome("\nreturn math.random()") ==
          "s.lua:2: math.random is not available: a space depends on its trial only, and a sampler draws its values");
    CHECK_THAT(outcome("math.randomseed(1)"), Catch::StartsWith("s.lua:1: math.randomseed is not available"));
    CHECK_THAT(outcome("return math.pow(2, 3)"),
               Catch::StartsWith("s.lua:1: math: unknown function 'pow'; ") && Catch::EndsWith(", and 16 more"));
    CHECK_THAT(outcome("return math.flor(2.5)"), Catch::Contains("did you mean 'floor'?"));
    CHECK(outcome("return string.dump(print)") == "s.lua:1: string.dump is not available in a study script");
    CHECK_THAT(outcome("return ('x'):uper()"), Catch::Contains("unknown function of a string 'uper'; did you mean 'upper'?"));
    CHECK_THAT(outcome("return table.insrt"), Catch::Contains("did you mean 'insert'?"));
    CHECK_THAT(outcome("math = nil return ('x').y"), Catch::StartsWith("s.lua:1: string: unknown function of a string 'y'"));
    CHECK(outcome("local n = 0 for _ in pairs(math) do n = n + 1 end return n") == "24");
    CHECK_THAT(outcome("return os.time()"), Catch::EndsWith("clocks or other code: a space depends on its trial only"));
}
