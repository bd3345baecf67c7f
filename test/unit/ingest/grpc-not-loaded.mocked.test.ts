import { PassThrough } from "node:stream";
import type { Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { IngestEndpoints } from "../../../engine/ingest/endpoints.ts";

const accepted: unknown[] = [];
let isThere = false;

vi.mock("../../../engine/sources/otlp/receiver/grpc.ts", () => ({
  get OtlpGrpc() {
    if (!isThere) throw new Error("Cannot find module grpc.js");
    return class {
      accept(connection: unknown): void {
        accepted.push(connection);
      }
      drain(): void {}
      close(): void {}
    };
  },
}));

test("a receiver whose files are gone closes connections, says why, and tries again with the next one", async () => {
  const lines: { error: string }[] = [];
  const recorder = { grpcNotLoaded: (line: { error: string }) => void lines.push(line) };
  const endpoints = new IngestEndpoints({
    registry: {},
    streams: {},
    otlp: { maxRequests: 1, maxMemory: 1 },
    rates: {},
    recorder,
  } as never);
  const [first, second] = [new PassThrough(), new PassThrough()] as unknown as [Socket, Socket];
  endpoints.acceptOtlpGrpc(first);
  await vi.waitFor(() => expect(first.destroyed).toBe(true), 60_000);
  expect(lines).toEqual([{ error: expect.stringContaining("Cannot find module grpc.js") as string }]);
  endpoints.drainOtlpGrpc(0);
  isThere = true;
  endpoints.acceptOtlpGrpc(second);
  await vi.waitFor(() => expect(accepted).toEqual([second]), 60_000);
  expect(second.destroyed).toBe(false);
  endpoints.close();
});
