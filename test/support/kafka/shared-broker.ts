import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { onceForAllProjects } from "../once-for-all-projects.ts";
import type { KafkaAccess } from "./access.ts";
import { KafkaBroker } from "./broker.ts";
import { brokerObstacle } from "./obstacle.ts";

/** What a test file hears that asks for the broker of the run. */
export type SharedAnswer = { access: KafkaAccess } | { obstacle: string } | { error: string };

declare module "vitest" {
  interface ProvidedContext {
    /** Where a test file asks for the broker of the run. */
    sharedKafka: string;
  }
}

interface Shared {
  url: string;
  /** Projects that have not ended. */
  users: number;
  stop(): Promise<void>;
}

/** One Kafka for all test files of a run: started when the first one asks, ended after the last one. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = await onceForAllProjects("kafka", share);
  shared.users += 1;
  project.provide("sharedKafka", shared.url);
  return async () => {
    shared.users -= 1;
    if (shared.users === 0) await shared.stop();
  };
}

async function share(): Promise<Shared> {
  let broker: Promise<KafkaBroker> | undefined;
  const answer = async (): Promise<SharedAnswer> => {
    const obstacle = await brokerObstacle();
    if (obstacle !== undefined) return { obstacle };
    // Nobody kills it, and where it stands still for a while, as on a busy machine, its controller must not shut it out.
    broker ??= KafkaBroker.start({ properties: { "broker.session.timeout.ms": "600000" } });
    return broker.then(
      ({ access }) => ({ access }),
      (error: unknown) => ({ error: String(error) }),
    );
  };
  const server = createServer((_, response) => void answer().then((text) => response.end(JSON.stringify(text))));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    const started = await broker?.catch(() => undefined);
    await started?.stop();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, users: 0, stop };
}
