import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { Frames } from "../support/kafka/frames.ts";
import { AnswerWriter, RequestReader } from "../support/simulation/kafka/wire.ts";

/** A broker of an attacker: what it advertises, and what it says of a login. */
export interface Hostility {
  /** Brokers that its metadata names instead of itself. */
  advertised?: { host: string; port: number }[];
  /** Its answer to a login, made of what it got. */
  refusal?: (login: string) => string;
}

export interface HostileBroker {
  address: string;
  port: number;
  /** Connections that it took. */
  connections: () => number;
  close(): void;
}

const keys = { metadata: 3, handshake: 17, versions: 18, authenticate: 36 };

/** Speaks as much of Kafka as a client needs until it knows the brokers of a topic. */
export async function hostileBroker(hostility: Hostility = {}): Promise<HostileBroker> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    const frames = new Frames();
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      for (const frame of frames.take(chunk)) socket.write(answerTo(new RequestReader(frame), port, hostility));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { address: `127.0.0.1:${port}`, port, connections: () => connections, close };
}

function answerTo(read: RequestReader, port: number, { advertised, refusal }: Hostility): Buffer {
  const [key, version, correlation] = [read.int16(), read.int16(), read.int32()];
  read.text();
  const write = new AnswerWriter();
  write.int32(0).int32(correlation);
  if (key === keys.versions) answerVersions(write, version);
  if (key === keys.handshake) write.int16(0).list(["PLAIN"], (name) => void write.text(name));
  if (key === keys.authenticate) answerLogin(write, read, refusal);
  if (key === keys.metadata) answerMetadata(write, advertised ?? [{ host: "127.0.0.1", port }]);
  const bytes = write.end();
  bytes.writeInt32BE(bytes.length - 4);
  return bytes;
}

function answerVersions(write: AnswerWriter, version: number): void {
  const offered = [
    [keys.metadata, 5, 5],
    [keys.handshake, 1, 1],
    [keys.versions, 0, 0],
    [keys.authenticate, 0, 0],
  ];
  // A version that is not offered is answered in the oldest form.
  write.int16(version === 0 ? 0 : 35);
  write.list(offered, (of) => {
    for (const value of of) write.int16(value);
  });
}

function answerLogin(write: AnswerWriter, read: RequestReader, refusal: Hostility["refusal"]): void {
  const login = read.bytes().toString();
  write.int16(refusal === undefined ? 0 : 58).text(refusal?.(login) ?? null);
  write.bytes(Buffer.alloc(0));
}

/** One topic, `t`, with one partition that the first broker leads. */
function answerMetadata(write: AnswerWriter, brokers: readonly { host: string; port: number }[]): void {
  const numbered = brokers.map((of, index) => ({ ...of, node: index + 1 }));
  write.int32(0);
  write.list(numbered, ({ node, host, port }) => void write.int32(node).text(host).int32(port).text(null));
  write.text("c-of-the-attacker").int32(1);
  const node = (one: number): void => void write.int32(one);
  write.list(["t"], (topic) => {
    write.int16(0).text(topic).int8(0);
    write.list([0], (number) => {
      write.int16(0).int32(number).int32(1);
      write.list([1], node).list([1], node).list([], node);
    });
  });
}
