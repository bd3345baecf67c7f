import { describe, expect, test } from "vitest";
import {
  clipped,
  parseClientError,
  parseServerError,
} from "../../../engine/sinks/clickhouse/transport/request-error.ts";

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
    [
      "is read without the kind of its exception",
      "Code: 75. DB::ErrnoException: Cannot write: errno: 28. (CANNOT_WRITE) (version 26.7.2.1)",
      { code: 75, name: "CANNOT_WRITE", text: "Cannot write: errno: 28." },
    ],
    [
      "is read without the kind of an exception of Keeper",
      "Code: 999. Coordination::Exception: Connection loss. (KEEPER_EXCEPTION) (version 26.7.2.1)",
      { code: 999, name: "KEEPER_EXCEPTION", text: "Connection loss." },
    ],
    ["without a name is named by its code", "Code: 60, e.displayText() = no", { code: 60, name: "code_60" }],
  ])("%s", (_title, body, expected) => {
    expect(parseServerError(body, undefined)).toMatchObject({ from: "server", ...expected });
  });

  // Either would take minutes where each space is tried with each other one.
  test.each([
    ["before its name", `got '${" ".repeat(500_000)}'.`, " (CANNOT_PARSE) (version 26.7.2.1)"],
    ["behind what looks like its name", `got '(AB_C)${" ".repeat(500_000)}x`, " (CANNOT_PARSE)"],
    ["at its end", "no", ` (CANNOT_PARSE) (version 26.7.2.1)${" ".repeat(500_000)}`],
  ])("is read with any number of spaces %s", (_where, said, trailer) => {
    const error = parseServerError(`Code: 27. DB::Exception: ${said}${trailer}`, undefined);
    expect(error).toMatchObject({ name: "CANNOT_PARSE", text: clipped(said.replaceAll(/ +/g, " ")) });
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

/** What Node and OpenSSL say where a connection is not made, or breaks. */
const networkErrors: [title: string, error: unknown][] = [
  ["no connection", { code: "ECONNREFUSED", syscall: "connect", message: "connect ECONNREFUSED" }],
  ["no host", { code: "ENOTFOUND", syscall: "getaddrinfo", message: "getaddrinfo ENOTFOUND ch" }],
  ["no answer of the resolver", { code: "EAI_AGAIN", syscall: "getaddrinfo", message: "getaddrinfo EAI_AGAIN ch" }],
  ["no connection in time", { code: "ETIMEDOUT", syscall: "connect", message: "connect ETIMEDOUT" }],
  ["silence of an open one", { code: "ETIMEDOUT", syscall: "read", message: "read ETIMEDOUT" }],
  ["no connection to any address", { code: "ECONNREFUSED", message: "", errors: [{ message: "a" }] }],
  ["a reset", { code: "ECONNRESET", syscall: "read", message: "read ECONNRESET" }],
  ["a hang-up", { code: "ECONNRESET", message: "socket hang up" }],
  ["an abort by this machine", { code: "ECONNABORTED", syscall: "read", message: "read ECONNABORTED" }],
  ["a broken pipe", { code: "EPIPE", syscall: "write", message: "write EPIPE" }],
  ...["EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "ENETRESET", "EADDRNOTAVAIL", "EPERM", "EACCES"].flatMap(
    (code): [string, unknown][] =>
      ["connect", "read", "write"].map((syscall) => [
        `${code} of ${syscall}`,
        { code, syscall, message: `${syscall} ${code}` },
      ]),
  ),
  ["no file left", { code: "EMFILE", syscall: "connect", message: "connect EMFILE" }],
  ["no memory left", { code: "ENOBUFS", syscall: "write", message: "write ENOBUFS" }],
  ["silence", { message: "Timeout error." }],
  ["a stream that ended early", { code: "ERR_STREAM_PREMATURE_CLOSE", message: "Premature close" }],
  ["a socket that was closed", { code: "ERR_SOCKET_CLOSED", message: "Socket is closed" }],
  ["a connection that timed out", { code: "ERR_SOCKET_CONNECTION_TIMEOUT", message: "Socket connection timeout" }],
  ["an error of no kind", "broken"],
];

describe("an error of the network says nothing about what was sent", () => {
  test.each(networkErrors)("%s", (_title, error) => {
    expect(parseClientError(error, false)).toMatchObject({ from: "network", sent: false });
    expect(parseClientError(error, true)).toMatchObject({ from: "network", sent: true });
  });
});

describe("an error of TLS is one of the settings before anything was sent, and afterwards one of the network", () => {
  test.each([
    ["a bad certificate", { code: "DEPTH_ZERO_SELF_SIGNED_CERT", message: "self-signed certificate" }],
    ["a certificate that is over", { code: "CERT_HAS_EXPIRED", message: "certificate has expired" }],
    ["no issuer", { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE", message: "unable to verify" }],
    ["a wrong name in it", { code: "ERR_TLS_CERT_ALTNAME_INVALID", message: "Hostname" }],
    ["no TLS at all", { code: "ERR_SSL_WRONG_VERSION_NUMBER", message: "wrong version number" }],
    ["the same of a write", { code: "EPROTO", message: "write EPROTO: wrong version number" }],
    ["an alert", { code: "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", message: "alert handshake failure" }],
    ["a broken record", { code: "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", message: "bad record mac" }],
  ])("%s", (_title, error) => {
    expect(parseClientError(error, false).from).toBe("settings");
    expect(parseClientError(error, true)).toMatchObject({ from: "network", sent: true });
  });
});

test.each(["HPE_INVALID_CONSTANT", "HPE_HEADER_OVERFLOW", "HPE_INVALID_CHUNK_SIZE", "HPE_CLOSED_CONNECTION"])(
  "%s is an answer that is no HTTP, to a request that was sent",
  (code) => expect(parseClientError({ code, message: "Parse Error" }, true)).toMatchObject({ from: "garbled" }),
);

test.each([[new AggregateError([])], [{ errors: [null] }], [{ message: Symbol("reason") }], [null], ["refused"]])(
  "an error of the client that says nothing has no reason (%#)",
  (error) => {
    expect(parseClientError(error, true)).toEqual({ from: "network", sent: true, text: "no reason given" });
  },
);

test("too many open files of this process are named as its own, and as what to raise", () => {
  const error = { code: "EMFILE", syscall: "connect", message: "connect EMFILE 127.0.0.1:8123" };
  expect(parseClientError(error, false)).toMatchObject({
    text: expect.stringMatching(/^this process has too many files open: raise .*ulimit -n.*EMFILE/) as string,
  });
});
