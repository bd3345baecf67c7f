import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { token } from "../../support/daemon.ts";
import type { Random } from "../../support/random.ts";
import { EventMix } from "../event-mix.ts";
import { findAll } from "../found.ts";
import { Ledger } from "../ledger.ts";
import { Poster } from "../poster.ts";
import { fileOf, type Variant } from "../variants.ts";
import type { Found, Pace, PowerSubject } from "./subject.ts";

/** Connections, and milliseconds that each rests after a post. */
const paces = { dense: { connections: 4, rest: 4 }, slow: { connections: 1, rest: 150 } } as const;

export class WebhookSubject implements PowerSubject {
  readonly name: string;
  readonly pipeline_id: string;
  readonly file: string;
  readonly #variant: Variant;
  readonly #url: string;
  readonly #pace: Pace;
  readonly #mix: EventMix;
  readonly #ledger = new Ledger();
  #poster: Poster | undefined;

  /** `events`: the listener, as `HOST:PORT`. */
  constructor(variant: Variant, events: string, pace: Pace, random: Random) {
    this.name = `webhook, ${variant.name}`;
    this.pipeline_id = variant.pipeline_id;
    this.file = fileOf(variant);
    this.#variant = variant;
    this.#url = `http://${events}`;
    this.#pace = pace;
    this.#mix = new EventMix(random, { withBad: true, repeats: variant.repeats });
  }

  begin(): void {
    const { pipeline_id } = this;
    const options = { url: this.#url, pipeline_id, token, mix: this.#mix, ledger: this.#ledger };
    this.#poster = new Poster({ ...options, ...paces[this.#pace] });
  }

  async stop(): Promise<void> {
    await this.#poster?.stop();
  }

  giveUp(): Promise<void> {
    return this.stop();
  }

  async isSettled(daemon: Daemon): Promise<boolean> {
    const { stream, pending_batches } = await daemon.health(this.pipeline_id);
    return stream.messages + pending_batches === 0;
  }

  async find(daemon: Daemon): Promise<Found> {
    const found = await findAll(daemon, this.pipeline_id);
    const { accepted, rows, lost, doubled, strangers } = this.#ledger.audit(found, this.#variant.dropsRepeats);
    const named = [lost, doubled, strangers].flatMap((ids) => ids.slice(0, 5));
    return { accepted, rows, lost: lost.length, doubled: doubled.length, strangers: strangers.length, named };
  }
}
