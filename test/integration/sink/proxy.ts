import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a server would say instead: an error with its code, in ClickHouse's own form. */
export interface Said {
  status: number;
  code: number;
  text: string;
}

export interface Proxy {
  url: string;
  /** The statements that came, in their order. */
  statements: string[];
  stop(): Promise<void>;
}

/**
 * Passes requests on to the server at `url`, but for those that `instead` has another answer for. `reworded`: their bodies,
 * which keep their length.
 */
export async function proxyTo(
  url: string,
  instead: (statement: string) => Said | undefined,
  reworded: (body: string) => string = (body) => body,
): Promise<Proxy> {
  const statements: string[] = [];
  const server = createServer((request, response) => {
    const statement = new URL(request.url ?? "/", url).searchParams.get("query") ?? "";
    request.setEncoding("latin1");
    let body = "";
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      // A SELECT comes as the body, an INSERT in the address with its rows as the body.
      const said = statement === "" ? body : statement;
      statements.push(said);
      const other = instead(said);
      if (other === undefined) passOn(url, request, reworded(body), response);
      else response.writeHead(other.status, { "X-ClickHouse-Exception-Code": String(other.code) }).end(other.text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    statements,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function passOn(url: string, request: IncomingMessage, body: string, response: ServerResponse): void {
  const { method, headers, url: path } = request;
  const onward = send(new URL(path ?? "/", url), { method: method ?? "POST", headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  onward.end(Buffer.from(body, "latin1"));
}

/** What a server says where `select_from_system_db_requires_grant` holds and this right is missing. */
export function denied(right: string): Said {
  const text = `Code: 497. DB::Exception: u: Not enough privileges. To execute this query, it's necessary to have the grant ${right}. (ACCESS_DENIED) (version 25.8.1.1 (official build))`;
  return { status: 403, code: 497, text };
}
