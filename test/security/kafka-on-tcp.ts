import { createServer, type Server, type Socket } from "node:net";
import { freePorts } from "../support/ports.ts";
import { Random } from "../support/random.ts";
import type { SimulatedSocket } from "../support/simulation/network.ts";
import { SimulatedKafka } from "../support/simulation/kafka/simulated-kafka.ts";

/** A simulated broker that other processes reach, for what no real one can be made to send. */
export interface KafkaOnTcp {
  kafka: SimulatedKafka;
  /** `HOST:PORT`. */
  address: string;
  close(): void;
}

/** `topics`: how many partitions each has. */
export async function kafkaOnTcp(topics: Readonly<Record<string, number>>): Promise<KafkaOnTcp> {
  const host = "127.0.0.1";
  const [port = 0] = await freePorts(1);
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const network = {
    listen: (_address: string, serve: (socket: SimulatedSocket) => void) => {
      const server = createServer((socket) => {
        sockets.add(socket.on("error", () => undefined));
        // Of a simulated socket a broker uses what one of the system has.
        serve(socket as unknown as SimulatedSocket);
      });
      servers.push(server.listen(port, host));
    },
    unlisten: () => undefined,
    kafkaSocket: () => {
      throw new Error("expected clients in other processes");
    },
  };
  const random = new Random(1);
  const reached = { host: () => host, port };
  const kafka = new SimulatedKafka({ network, draw: (below) => random.below(below), topics, reached });
  const close = (): void => {
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { kafka, address: `${host}:${port}`, close };
}
