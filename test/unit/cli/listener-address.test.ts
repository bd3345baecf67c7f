import { expect, test } from "vitest";
import { formatListener, parseListener } from "../../../reconciler/cli/invocation/settings.ts";

test.each([
  ["a name and a port", "localhost:8081", { host: "localhost", port: 8081 }],
  ["an IPv4 address", "127.0.0.1:8081", { host: "127.0.0.1", port: 8081 }],
  ["all addresses", "0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
  ["a free port", "127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
  ["an IPv6 address in brackets", "[::1]:80", { host: "::1", port: 80 }],
  ["an IPv6 address with a zone", "[fe80::1%eth0]:80", { host: "fe80::1%eth0", port: 80 }],
  ["the highest port", "h:65535", { host: "h", port: 65_535 }],
  ["no listener", "off", "off"],
])("%s is read: %s", (_, text, expected) => {
  expect(parseListener(text)).toEqual(expected);
});

test.each([
  ["nothing", ""],
  ["a port alone", "8081"],
  ["a port without a host", ":8081"],
  ["a host alone", "localhost"],
  ["an IPv6 address without brackets", "::1:80"],
  ["brackets that do not end", "[::1:80"],
  ["brackets around a name", "[localhost]:80"],
  ["a port above 65535", "localhost:65536"],
  ["a port that is no number", "localhost:http"],
  ["a negative port", "localhost:-1"],
  ["a URL", "http://localhost:80"],
  ["blanks", "local host:80"],
  ["a path", "localhost:80/x"],
])("%s is refused: %s", (_, text) => {
  expect(parseListener(text)).toBeUndefined();
});

test.each(["127.0.0.1:8081", "[::1]:80", "localhost:0"])("%s is written as it was read", (text) => {
  const address = parseListener(text);
  expect(address === undefined || address === "off" ? address : formatListener(address)).toBe(text);
});
