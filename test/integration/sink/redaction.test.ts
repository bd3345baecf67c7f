import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { patient, sinkOn } from "./support.ts";

const password = "correct-horse-battery-staple";

test.each([0, 480, 490, 500, 510, 990])(
  "a server that repeats the password after %i characters of a long text gives no part of it away",
  async (before) => {
    const text = `${"x".repeat(before)}${password}${"y".repeat(2000)}`;
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(500, { "x-clickhouse-exception-code": "516" });
      response.end(`Code: 516. DB::Exception: ${text} (AUTHENTICATION_FAILED)`);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const sink = sinkOn({ url, username: "u", password }, { table: "t", fields: [["id", "int", "Int64"]] });
    try {
      const answer = JSON.stringify(await sink.open(patient));
      expect(answer).toContain("AUTHENTICATION_FAILED");
      for (let at = 0; at + 6 <= password.length; at += 1) expect(answer).not.toContain(password.slice(at, at + 6));
    } finally {
      await sink.close();
      server.closeAllConnections();
      server.close();
    }
  },
);
