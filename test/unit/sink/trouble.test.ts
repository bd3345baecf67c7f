import { describe, expect, test } from "vitest";
import { clipped, parseClientError, parseServerError } from "../../../engine/sinks/clickhouse/trouble.ts";

describe("a server's error", () => {
  test.each([
    [
      "is read without code and version",
      "Code: 60. DB::Exception: Table d.t does not exist. (UNKNOWN_TABLE) (version 24.8.1.2684 (official build))\n",
      { code: 60, name: "UNKNOWN_TABLE", text: "Table d.t does not exist." },
    ],
    [
      "is read once where it is repeated",
      "Code: 27. DB::Exception: Code: 27. DB::Exception: Bad: (at row 2)\n: While executing X. (CANNOT_PARSE) (version 26.7.2.1). (CANNOT_PARSE)",
      { code: 27, name: "CANNOT_PARSE", text: "Bad: (at row 2) : While executing X." },
    ],
    [
      "takes its name from the end, whatever it quotes",
      "Code: 27. DB::Exception: got '(UNKNOWN_TABLE) (version 1)' here. (CANNOT_PARSE) (version 26.7.2.1)",
      { code: 27, name: "CANNOT_PARSE", text: "got '(UNKNOWN_TABLE) (version 1)' here." },
    ],
    ["without a name is named by its code", "Code: 60, e.displayText() = no", { code: 60, name: "code_60" }],
  ])("%s", (_title, body, expected) => {
    expect(parseServerError(body, undefined)).toMatchObject({ from: "server", ...expected });
  });

  test("has the code of its header", () => {
    expect(parseServerError("odd text (NETWORK_ERROR)", "210")).toMatchObject({ code: 210, name: "NETWORK_ERROR" });
  });

  test("is none without a code", () => {
    expect(parseServerError("<html>502 Bad Gateway</html>", undefined)).toBeUndefined();
  });

  test("is cut in the middle, where the row stands at the end", () => {
    const text = clipped(`start ${"x".repeat(5000)} (at row 3)`);
    expect(text).toHaveLength(1003);
    expect(text).toMatch(/^start .*\(at row 3\)$/);
  });
});

describe("an error of the client means", () => {
  test.each([
    ["no connection", { code: "ECONNREFUSED", syscall: "connect", message: "connect ECONNREFUSED" }, "network", false],
    ["no host", { code: "ENOTFOUND", syscall: "getaddrinfo", message: "getaddrinfo ENOTFOUND ch" }, "network", false],
    [
      "no connection in time",
      { code: "ETIMEDOUT", syscall: "connect", message: "connect ETIMEDOUT" },
      "network",
      false,
    ],
    [
      "no connection to any address",
      { code: "ECONNREFUSED", message: "", errors: [{ message: "a" }] },
      "network",
      false,
    ],
    ["a loss after sending", { code: "ECONNRESET", syscall: "read", message: "read ECONNRESET" }, "network", true],
    ["a hang-up", { code: "ECONNRESET", message: "socket hang up" }, "network", true],
    ["silence", { message: "Timeout error." }, "network", true],
    ["a broken pipe", { code: "EPIPE", syscall: "write", message: "write EPIPE" }, "network", true],
  ])("%s", (_title, error, from, sent) => {
    expect(parseClientError(error)).toMatchObject({ from, sent });
  });

  test.each([
    ["no HTTP", { code: "HPE_INVALID_CONSTANT", message: "Parse Error: Expected HTTP/" }, "protocol"],
    ["a bad certificate", { code: "DEPTH_ZERO_SELF_SIGNED_CERT", message: "self-signed certificate" }, "settings"],
    ["a wrong name in it", { code: "ERR_TLS_CERT_ALTNAME_INVALID", message: "Hostname" }, "settings"],
    ["no TLS at all", { code: "EPROTO", message: "write EPROTO: wrong version number" }, "settings"],
  ])("%s", (_title, error, from) => {
    expect(parseClientError(error).from).toBe(from);
  });
});
