import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { EventMix, PostedEvent } from "./event-mix.ts";
import type { Ledger } from "./ledger.ts";

export interface PosterOptions {
  /** Of the events listener, as `http://HOST:PORT`. */
  url: string;
  pipeline_id: string;
  token: string;
  mix: EventMix;
  ledger: Ledger;
  connections?: number;
  /** Milliseconds that each connection rests after a post. */
  rest?: number;
}

/** Before a refused event is posted again, in milliseconds. */
const untilAgain = 50;

/**
 * Posts events without end over several connections, and notes what was answered. An event that was refused, or that
 * found no listener, is posted again until it is accepted; one whose connection broke is not, as it may be stored.
 */
export class Poster {
  readonly #options: PosterOptions;
  readonly #agent: Agent;
  readonly #senders: Promise<void>[];
  #isStopping = false;

  constructor(options: PosterOptions) {
    const { connections = 8 } = options;
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#senders = Array.from({ length: connections }, () => this.#send());
  }

  /** Resolves when the last answer is there. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#senders);
    this.#agent.destroy();
  }

  async #send(): Promise<void> {
    const { mix, rest = 0 } = this.#options;
    while (!this.#isStopping) {
      await this.#deliver(mix.next());
      if (rest > 0) await sleep(rest);
    }
  }

  async #deliver(event: PostedEvent): Promise<void> {
    for (;;) {
      const answer = await this.#post(event.body);
      if (answer !== "refused") this.#options.ledger.note(event, answer);
      if (answer === "accepted" && event.mended !== undefined) await this.#deliver(event.mended);
      if (answer !== "refused" || this.#isStopping) return;
      await sleep(untilAgain);
    }
  }

  #post(body: string): Promise<"accepted" | "refused" | "unanswered"> {
    const { url, pipeline_id, token } = this.#options;
    return new Promise((resolve) => {
      const headers = { "content-type": "application/json", "x-pipeline-access-token": token };
      const options = { method: "POST", agent: this.#agent, headers };
      const sent = request(`${url}/v1/pipelines/${pipeline_id}/topics/input/events`, options, (response) => {
        const answer = response.statusCode === 202 ? "accepted" : "refused";
        response.on("error", () => resolve(answer));
        response.resume().on("end", () => resolve(answer));
      });
      sent.on("error", (error: NodeJS.ErrnoException) =>
        resolve(error.code === "ECONNREFUSED" ? "refused" : "unanswered"),
      );
      sent.end(body);
    });
  }
}
