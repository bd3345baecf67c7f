import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { Answer } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import { encoded } from "../../support/encoded.ts";
import { RawServer, type Received, type Talk } from "./raw-server.ts";
import { events, patient, sinkOn, type Wish } from "./support.ts";

const fields: Wish["fields"] = [
  ["id", "int", "Int64"],
  ["text", "string", "String"],
];
/** More than the buffers of a connection hold: while it is not read, it is not sent. */
const large = "x".repeat(16 << 20);
const servers: RawServer[] = [];
const sinks: ClickHouseSink[] = [];

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

function on({ url }: { url: string }): ClickHouseSink {
  const connection = { secure: url.startsWith("https"), skip_certificate_verification: true };
  const sink = sinkOn({ url, username: "u", password: "p" }, { fields, table: "t", connection });
  sinks.push(sink);
  return sink;
}

async function serverOf(scheme: "http" | "https", talk: Talk): Promise<RawServer> {
  const server = await RawServer.start(scheme, talk);
  servers.push(server);
  return server;
}

async function inserted(scheme: "http" | "https", talk: Talk, text = "x"): Promise<Answer> {
  const sink = on(await serverOf(scheme, talk));
  return sink.insert(encoded(sink, events({ id: 1, text })), "token", patient);
}

const summary = `X-ClickHouse-Summary: {"written_rows":"1"}`;
const own = ({ id }: Received): string => `X-ClickHouse-Query-Id: ${id}`;

/** Answers with these lines, and a body as it is. */
function answer(lines: (received: Received) => readonly string[], body: string | Buffer = ""): Talk {
  return {
    onBody: (received) => {
      received.socket.write([...lines(received), "", ""].join("\r\n"));
      received.socket.write(body);
    },
  };
}

/** 200 with these headers, in one piece with its length. */
function ok(headers: (received: Received) => readonly string[], body: string | Buffer = ""): Talk {
  return answer((received) => ["HTTP/1.1 200 OK", ...headers(received), `Content-Length: ${body.length}`], body);
}

const reset = ({ wire }: Received): void => void wire.resetAndDestroy();
const hangUp = ({ socket }: Received): void => void socket.end();
const say =
  (bytes: string | Buffer) =>
  ({ socket }: Received): void =>
    void socket.write(bytes);

/** After the request, or a part of it, was taken: whatever follows says nothing about rows. */
const afterTheRequest: [title: string, talk: Talk][] = [
  ["a reset after a part of the body", { onHeaders: reset }],
  ["a reset after the body", { onBody: reset }],
  ["an end after a part of the body", { onHeaders: hangUp }],
  ["an end after the body", { onBody: hangUp }],
  ["a status line of garbage", { onBody: say("\u0002garbage\r\n\r\n") }],
  ["a half status line", { onBody: (received) => received.socket.end("HTTP/1.1 2") }],
  ["a version that is none", { onBody: say("HTTP/9.9 200 OK\r\n\r\n") }],
  ["a status that is none", { onBody: say("HTTP/1.1 XX OK\r\n\r\n") }],
  ["headers of garbage", answer(() => ["HTTP/1.1 200 OK", "a b c\u0000"])],
  [
    "two lengths",
    answer((received) => ["HTTP/1.1 200 OK", own(received), summary, "Content-Length: 0", "Content-Length: 5"]),
  ],
  ["a length that is none", answer((received) => ["HTTP/1.1 200 OK", own(received), summary, "Content-Length: x"])],
  ["more headers than are taken", ok((received) => [own(received), summary, `X-Long: ${"x".repeat(100_000)}`])],
  [
    "chunks of garbage",
    answer((received) => ["HTTP/1.1 200 OK", own(received), summary, "Transfer-Encoding: chunked"], "zz\r\nfoo"),
  ],
  [
    "chunks without their end",
    {
      onBody: (received) =>
        received.socket.end(
          ["HTTP/1.1 200 OK", own(received), summary, "Transfer-Encoding: chunked", "", "1\r\n"].join("\r\n"),
        ),
    },
  ],
  [
    "a body that is shorter than its length",
    {
      onBody: (received) =>
        received.socket.end(["HTTP/1.1 200 OK", own(received), summary, "Content-Length: 10", "", "half"].join("\r\n")),
    },
  ],
  ["100 Continue and nothing more", { onBody: (received) => received.socket.end("HTTP/1.1 100 Continue\r\n\r\n") }],
  ["an empty 200 of a proxy", ok(() => [])],
  ["an empty 204", answer((received) => ["HTTP/1.1 204 No Content", own(received), summary])],
  ["an empty 200 to another query", ok(() => ["X-ClickHouse-Query-Id: other", summary])],
  [
    "an error of another query",
    answer(() => [
      "HTTP/1.1 404 No",
      "X-ClickHouse-Query-Id: other",
      "X-ClickHouse-Exception-Code: 60",
      "Content-Length: 0",
    ]),
  ],
  ["200 without a summary", ok((received) => [own(received)])],
  ["a summary of null", ok((received) => [own(received), "X-ClickHouse-Summary: null"])],
  ["a summary that is a list", ok((received) => [own(received), "X-ClickHouse-Summary: []"])],
  ["a summary that is cut", ok((received) => [own(received), `X-ClickHouse-Summary: {"written`])],
  ["200 with a page", ok((received) => [own(received), summary], "<html>Welcome</html>")],
  [
    "gzip that is cut",
    ok(
      (received) => [own(received), summary, "Content-Encoding: gzip"],
      gzipSync("Code: 60. DB::Exception: no").subarray(0, 20),
    ),
  ],
  ["an encoding that is none", ok((received) => [own(received), summary, "Content-Encoding: rot13"], "x")],
];

/** Of a TLS connection that was made. */
const withinTls: [title: string, talk: Talk][] = [
  [
    "a TLS record of garbage",
    { onBody: ({ wire }) => void wire.write(Buffer.from("garbage, more than a record header")) },
  ],
  ["a TLS alert", { onBody: ({ wire }) => void wire.write(Buffer.from("15030300020250", "hex")) }],
];

describe("an insert over http is unknown, and tried again, after", () => unknownAfter("http"));
describe("an insert over https is unknown, and tried again, after", { tags: ["rest"] }, () => unknownAfter("https"));

function unknownAfter(scheme: "http" | "https"): void {
  test.each([...afterTheRequest, ...(scheme === "https" ? withinTls : [])])("%s", async (_title, talk) => {
    expect(await inserted(scheme, talk)).toMatchObject({ kind: "unknown", failure: { class: "transient" } });
  });

  test("a part of a large body", async () => {
    const talk: Talk = { onHeaders: reset };
    expect(await inserted(scheme, talk, large)).toMatchObject({ kind: "unknown", failure: { class: "transient" } });
  });

  test("a reset of a connection that an earlier insert has used", async () => {
    let inserts = 0;
    const talk: Talk = {
      onBody: (received) => {
        inserts += 1;
        if (inserts === 1) ok((of) => [own(of), summary]).onBody?.(received);
        received.socket.removeAllListeners("data").once("data", () => reset(received));
      },
    };
    const sink = on(await serverOf(scheme, talk));
    const insert = (): Promise<Answer> => sink.insert(encoded(sink, events({ id: 1, text: "x" })), "token", patient);
    expect(await insert()).toEqual({ kind: "ok" });
    expect(await insert()).toMatchObject({ kind: "unknown", failure: { class: "transient" } });
  });
}

test("an insert over http that was accepted and reset at once is unknown: it may have been read", async () => {
  const talk: Talk = { onAccept: (socket) => void setImmediate(() => socket.resetAndDestroy()) };
  expect(await inserted("http", talk)).toMatchObject({ kind: "unknown", failure: { class: "transient" } });
});

describe("an insert is refused, since nothing of it was sent, where", () => {
  test.each(["http", "https"] as const)("nothing listens, over %s", async (scheme) => {
    const server = await RawServer.start(scheme, {});
    await server.close();
    const sink = on(server);
    const refusal = await sink.insert(encoded(sink, events({ id: 1, text: "x" })), "token", patient);
    expect(refusal).toMatchObject({ kind: "refused", failure: { class: "transient" } });
  });

  test.each<[title: string, failure: string, onAccept: (socket: Socket) => void]>([
    ["is reset", "transient", (socket) => void setImmediate(() => socket.resetAndDestroy())],
    ["ends", "transient", (socket) => void socket.end()],
    ["meets garbage", "setup", (socket) => void socket.write("garbage, more than a record header")],
    ["meets an alert", "setup", (socket) => void socket.write(Buffer.from("15030300020228", "hex"))],
    ["meets HTTP", "setup", (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ])("the TLS handshake %s", async (_title, failure, onAccept) => {
    expect(await inserted("https", { onAccept })).toMatchObject({ kind: "refused", failure: { class: failure } });
  });
});

describe("over http", () => otherAnswers("http"));
describe("over https", { tags: ["rest"] }, () => otherAnswers("https"));

function otherAnswers(scheme: "http" | "https"): void {
  test("an insert is written by ClickHouse's own answer to it", async () => {
    expect(
      await inserted(
        scheme,
        ok((received) => [own(received), summary]),
      ),
    ).toEqual({ kind: "ok" });
    const chunked = answer(
      (received) => ["HTTP/1.1 200 OK", own(received), summary, "Transfer-Encoding: chunked"],
      "0\r\n\r\n",
    );
    expect(await inserted(scheme, chunked)).toEqual({ kind: "ok" });
  });

  test.each<[title: string, talk: Talk, says: string]>([
    ["a page", ok(() => [], "<html>Welcome</html>"), "X-ClickHouse-Query-Id"],
    ["an empty 200", ok(() => []), "X-ClickHouse-Query-Id"],
    ["another query's answer", ok(() => ["X-ClickHouse-Query-Id: other"], "{}\n"), "another statement"],
    ["a page under the query's id", ok((received) => [own(received)], "<html>Welcome</html>"), "rows of JSON"],
    ["null", ok((received) => [own(received)], "null\n"), "rows of JSON"],
    ["a list", ok((received) => [own(received)], "[]\n"), "rows of JSON"],
    ["half a row", ok((received) => [own(received)], '{"version":'), "rows of JSON"],
  ])("%s is no answer to a read, and it is tried again", async (_title, talk, says) => {
    const sink = on(await serverOf(scheme, talk));
    const failure = { class: "transient", text: expect.stringContaining(says) as string };
    expect(await sink.read(true, patient)).toMatchObject({ kind: "refused", failure });
    expect(await sink.open(patient)).toMatchObject({ kind: "refused", failure });
  });

  test("a redirect is not followed", async () => {
    const asked: string[] = [];
    const other = await serverOf(scheme, { onHeaders: ({ id }) => void asked.push(id) });
    const talk = answer(() => ["HTTP/1.1 307 Elsewhere", `Location: ${other.url}/`, "Content-Length: 0"]);
    expect(await inserted(scheme, talk)).toMatchObject({ kind: "unknown" });
    expect(asked).toEqual([]);
  });
}

describe("over http a server is reachable", () => reachable("http"));
describe("over https a server is reachable", { tags: ["rest"] }, () => reachable("https"));

function reachable(scheme: "http" | "https"): void {
  test.each<[title: string, talk: Talk, isReachable: boolean]>([
    ["if it answers", ok(() => [], "Ok.\n"), true],
    ["if what stands before it does not know /ping", answer(() => ["HTTP/1.1 404 No", "Content-Length: 0"]), true],
    [
      "not if what stands before it says that it is gone",
      answer(() => ["HTTP/1.1 502 No", "Content-Length: 0"]),
      false,
    ],
    ["not if it hangs up", { onHeaders: hangUp }, false],
    ["not if it resets", { onHeaders: reset }, false],
    ["not if it says nothing", {}, false],
    ["not if it answers with garbage", { onHeaders: say("garbage\r\n\r\n") }, false],
  ])("%s", async (_title, talk, isReachable) => {
    expect(await on(await serverOf(scheme, talk)).isReachable(patient)).toBe(isReachable);
  });

  test("not if nothing listens", async () => {
    const server = await RawServer.start(scheme, {});
    await server.close();
    expect(await on(server).isReachable(patient)).toBe(false);
  });
}
