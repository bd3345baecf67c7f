import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { Random } from "../../support/random.ts";
import { OtlpLoad } from "../otlp-load.ts";
import { findRequests } from "../otlp-report.ts";
import { otlpFileOf, type OtlpVariant } from "../otlp-variants.ts";
import type { Found, Pace, PowerSubject } from "./subject.ts";

/** Exporters at once, and records of a request at the most. */
const paces = { dense: { exporters: 4, mostRecords: 50 }, slow: { exporters: 1, mostRecords: 5 } } as const;

export class OtlpSubject implements PowerSubject {
  readonly name: string;
  readonly pipeline_id: string;
  readonly file: string;
  readonly #begin: () => OtlpLoad;
  #load: OtlpLoad | undefined;

  /** `otlp`: the listeners, as `HOST:PORT`. */
  constructor(variant: OtlpVariant, otlp: { otlpGrpc: string; otlpHttp: string }, pace: Pace, random: Random) {
    this.name = `OTLP, ${variant.name}`;
    this.pipeline_id = variant.pipeline_id;
    this.file = otlpFileOf(variant);
    this.#begin = () => new OtlpLoad({ variant, otlp, random, ...paces[pace] });
  }

  begin(): void {
    this.#load = this.#begin();
  }

  async stop(): Promise<void> {
    await this.#load?.stop();
  }

  async giveUp(): Promise<void> {
    await this.#load?.giveUp();
  }

  async isSettled(daemon: Daemon): Promise<boolean> {
    const { stream, pending_batches } = await daemon.health(this.pipeline_id);
    return stream.messages + pending_batches === 0;
  }

  async find(daemon: Daemon): Promise<Found> {
    const { found, strangers: others } = await findRequests(daemon, this.pipeline_id);
    const { acknowledged: accepted, rows, broken } = this.#load!.ledger.audit(found);
    const doubled = [...found.values()].filter(({ rows: there, ids }) => there > ids).length;
    const lost = broken.filter((text) => text.endsWith("is lost")).length;
    // What is there in part is neither: it is there, and not as it was sent.
    const strangers = others + Math.max(0, broken.length - lost - doubled);
    return { accepted, rows, lost, doubled, strangers, named: broken };
  }
}
