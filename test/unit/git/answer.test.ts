import { expect, test } from "vitest";
import { connectionTrouble, lastAnswer, withoutTrace } from "../../../reconciler/git/failure.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const trace = (...headers: string[]) =>
  headers.map((header) => `05:23:38.787689 http.c:684              <= Recv header: ${header}`).join("\n");

test.each([
  ["the last of several", ["HTTP/1.1 401 Unauthorized", "Retry-After: 5", "HTTP/1.1 200 OK"], { status: 200 }],
  ["HTTP/2 in small letters", ["HTTP/2 429", "retry-after: 120"], { status: 429, limited: true, retryAfter: 120_000 }],
  ["a date", ["HTTP/2 503", "retry-after: Thu, 01 Jan 2026 00:01:00 GMT"], { status: 503, retryAfter: 60_000 }],
  ["a date that is over", ["HTTP/2 503", "retry-after: Thu, 01 Jan 2025 00:01:00 GMT"], { retryAfter: 0 }],
  ["nonsense", ["HTTP/2 503", "retry-after: soon"], { status: 503, limited: false }],
  [
    "a limit that is used up, with the time of its end",
    ["HTTP/2 403", "x-ratelimit-remaining: 0", `x-ratelimit-reset: ${now / 1000 + 30}`],
    { status: 403, limited: true, retryAfter: 30_000 },
  ],
  ["a 403 for another reason", ["HTTP/2 403", "x-ratelimit-remaining: 12"], { status: 403, limited: false }],
])("reads %s", (_title, headers, expected) => {
  expect(lastAnswer(trace(...headers), now)).toMatchObject(expected);
});

test("what a server or a file says is taken for no header", () => {
  const output = "remote: <= Recv header: HTTP/1.1 429 Too Many\nfatal: <= Recv header: Retry-After: 9";
  expect(lastAnswer(output, now)).toBeUndefined();
  expect(withoutTrace(`${output}\n${trace("HTTP/2 200")}`)).toBe(output);
});

test("why a connection failed is what git's trace says itself, in a time that grows with the output", () => {
  const line =
    "02:33:51.231752 http.c:725              == Info: connect to 127.0.0.1 port 1 failed: Connection refused";
  const header = trace(`x: ${"== Info: connect to ".repeat(50_000)}`);
  expect(connectionTrouble(`${header}\n${line}\nremote: == Info: connect to a failed: nonsense`)).toBe(
    "Connection refused",
  );
});
