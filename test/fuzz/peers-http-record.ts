import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { RequestHead } from "../support/simulation/clickhouse/http.ts";
import type { HttpAnswer, HttpRecord } from "./peers-http.ts";

/** Stands before a true server, and records its answers by what `nameOf` calls their requests. */
export async function recordHttp(
  upstream: string,
  nameOf: (head: RequestHead, body: Buffer) => string,
): Promise<{ url: string; record: HttpRecord; close: () => void }> {
  const record: HttpRecord = {};
  const { hostname, port } = new URL(upstream);
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await bytesOf(incoming);
      const { method = "GET", url = "/", headers } = incoming;
      const asked = request({ hostname, port, method, path: url, headers, agent: false }).end(body);
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      const answer: HttpAnswer = {
        status: response.statusCode ?? 0,
        headers: pairsOf(response.rawHeaders),
        body: (await bytesOf(response)).toString("base64"),
      };
      const { pathname, searchParams: query } = new URL(url, "http://localhost");
      const of = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      (record[nameOf({ method, path: pathname, query, headers: of }, body)] ??= []).push(answer);
      outgoing.writeHead(answer.status, answer.headers.flat()).end(Buffer.from(answer.body, "base64"));
    })().catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, record, close };
}

/** Without those that are about the connection: an answer is recorded whole. */
function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs = raw.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""]] : []));
  return pairs.filter(([name]) => !/^(transfer-encoding|content-length|connection|keep-alive)$/i.test(name));
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
