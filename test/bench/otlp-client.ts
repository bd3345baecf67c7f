import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { once } from "node:events";
import { join } from "node:path";

/**
 * A program of its own: says that it is ready, waits for a word, and sends the requests in a folder again and again, some
 * at a time. Over gRPC it writes the frames itself: a client library would cost more than what it asks for.
 */
const [, , transport, address = "", pipeline_id = "", folder = "", encoding = "identity", requests, atOnce] =
  process.argv;

const pipeline = { "x-sluice-pipeline-id": pipeline_id };
const bodies = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
const sending = transport === "gRPC" ? overGrpc() : overHttp();

process.stdout.write("ready\n");
await once(process.stdin, "data");
let next = 0;
await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (next < Number(requests)) await sending.send(next++ % bodies.length);
  }),
);
sending.close();
process.stdin.destroy();

interface Sending {
  /** Sends a body, and resolves when it was taken. */
  send: (body: number) => Promise<void>;
  close: () => void;
}

function overGrpc(): Sending {
  const session = connect(`http://${address}`);
  const framed = bodies.map((body) => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]);
  });
  const headers = {
    ":method": "POST",
    ":path": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "content-type": "application/grpc",
    te: "trailers",
    ...pipeline,
  };
  const send = (body: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = session.request(headers);
      const take = (found: IncomingHttpHeaders): void => {
        const status = found["grpc-status"];
        if (status === undefined) return;
        if (status === "0") resolve();
        else
          reject(new Error(`expected grpc-status 0, got ${status.toString()}: ${found["grpc-message"]?.toString()}`));
      };
      stream.on("response", take).on("trailers", take).on("error", reject).resume();
      stream.end(framed[body]);
    });
  return { send, close: () => session.close() };
}

function overHttp(): Sending {
  const agent = new Agent({ keepAlive: true });
  const headers = { "content-type": "application/x-protobuf", "content-encoding": encoding, ...pipeline };
  const send = (body: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const bytes = bodies[body]!;
      const options = { method: "POST", agent, headers: { ...headers, "content-length": bytes.length } };
      const sent = request(`http://${address}/v1/logs`, options, (response) => {
        response.resume().on("end", () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`expected status 200, got ${response.statusCode}`));
        });
      });
      sent.on("error", reject).end(bytes);
    });
  return { send, close: () => agent.destroy() };
}
