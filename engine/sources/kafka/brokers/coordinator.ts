import type Broker from "kafkajs/src/broker/index.js";
import { backOff } from "../../../flow/back-off.ts";
import { sleep } from "../../../flow/sleep.ts";
import type { Nodes } from "./nodes.ts";
import { ask, brokerError } from "./requests.ts";

interface FoundCoordinator {
  errorCode: number;
  coordinator: { nodeId: number; host: string; port: number };
}

/** Error codes that say that another broker coordinates the group, or that this one is about to. */
export const coordinatorMoved: ReadonlySet<number> = new Set([14, 15, 16]);
/** How often it is asked in a row, and the waits in between, in milliseconds. */
const [mostAttempts, firstWait, longestWait] = [5, 100, 1_000];
/** How long a broker may take to say who coordinates, in milliseconds: another one is asked then. */
const answerTime = 5_000;

/** The broker that coordinates a group, which is looked up where it is not known. */
export class Coordinator {
  readonly #nodes: Nodes;
  readonly #groupId: string;
  #node: number | undefined;

  constructor(nodes: Nodes, groupId: string) {
    this.#nodes = nodes;
    this.#groupId = groupId;
  }

  /**
   * Asks the coordinator. After an error it is looked up anew the next time; for a moment also where there is none yet, as
   * while a cluster makes its first group. Throws what `work` throws, with the name of the group.
   */
  async ask<Answer>(work: (broker: Broker) => Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const node = (this.#node ??= await this.#find());
        return await work(await this.#nodes.node(node));
      } catch (error) {
        this.#node = undefined;
        if (attempt === mostAttempts || !coordinatorMoved.has((error as { code?: number }).code ?? 0)) {
          throw error instanceof Error ? Object.assign(error, { group: this.#groupId }) : error;
        }
        await sleep(backOff(attempt, firstWait, longestWait));
      }
    }
  }

  async #find(): Promise<number> {
    const broker = await this.#nodes.any();
    const fields = { groupId: this.#groupId };
    const limit = { requestTimeout: answerTime };
    const { errorCode, coordinator } = await ask<FoundCoordinator>(broker, "GroupCoordinator", fields, limit);
    if (errorCode !== 0) throw brokerError(errorCode);
    const { nodeId: node, host, port } = coordinator;
    this.#nodes.learn([{ node, host, port }]);
    return node;
  }
}
