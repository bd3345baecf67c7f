import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** Posts events with unique ids without a pause, over several connections, and keeps what was answered. */
export class Poster {
  /** Ids of events that were answered 202. */
  readonly accepted = new Set<string>();
  /** Ids of events of which nothing is known: the connection broke before an answer came. */
  readonly unanswered = new Set<string>();
  readonly #url: string;
  readonly #token: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  readonly #senders: Promise<void>[];
  #next = 0;
  #isStopping = false;

  constructor(url: string, token: string, connections = 8) {
    this.#url = url;
    this.#token = token;
    this.#senders = Array.from({ length: connections }, () => this.#send());
  }

  /** Resolves when the last answer is there. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#senders);
    this.#agent.destroy();
  }

  async #send(): Promise<void> {
    while (!this.#isStopping) {
      const n = this.#next++;
      const id = `event-${n}`;
      const status = await this.#post(JSON.stringify({ id, n: n % 10 === 0 ? "ten" : n }));
      if (status === 202) this.accepted.add(id);
      else if (status === undefined) this.unanswered.add(id);
      if (status !== 202) await sleep(10);
    }
  }

  #post(body: string): Promise<number | undefined> {
    return new Promise((resolve) => {
      const headers = { "content-type": "application/json", "x-pipeline-access-token": this.#token };
      const options = { method: "POST", agent: this.#agent, headers };
      const sent = request(this.#url, options, (response) => {
        response.on("error", () => resolve(response.statusCode));
        response.resume().on("end", () => resolve(response.statusCode));
      });
      sent.on("error", () => resolve(undefined));
      sent.end(body);
    });
  }
}
