import { describe, expect, test } from "vitest";
import { passedSockets } from "../../../reconciler/cli/daemon/passed-sockets.ts";

const env = { LISTEN_PID: "7", LISTEN_FDS: "2", LISTEN_FDNAMES: "events:otlp-http" };

describe("sockets that a service manager passes", () => {
  test("have the names of their listeners, from descriptor 3 on", () => {
    expect([...passedSockets(env, 7)]).toEqual([
      ["events", 3],
      ["otlp_http", 4],
    ]);
  });

  test.each([
    ["without any", {}],
    ["of another process", { ...env, LISTEN_PID: "8" }],
  ])("%s, there are none", (_title, given) => {
    expect([...passedSockets(given, 7)]).toEqual([]);
  });

  test.each([
    [
      "the name of its unit",
      "events:sluice.socket",
      "socket 2: expected one of api, events, otlp_grpc, otlp_http, hook, each once",
    ],
    ["no name", "events", 'found ""'],
    ["a name that another one has", "events:events", 'found "events"'],
  ])("with %s are refused, with the setting of their unit", (_title, LISTEN_FDNAMES, text) => {
    const given = { ...env, LISTEN_FDNAMES };
    expect(() => passedSockets(given, 7)).toThrow(text);
    expect(() => passedSockets(given, 7)).toThrow("FileDescriptorName=");
  });
});
