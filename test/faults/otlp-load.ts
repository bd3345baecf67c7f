import { Random } from "../support/random.ts";
import { OtlpExporter } from "./otlp-exporter.ts";
import { overGrpc, overHttp } from "./otlp-transports.ts";
import type { OtlpVariant } from "./otlp-variants.ts";
import { RequestLedger } from "./request-ledger.ts";

export interface OtlpLoadOptions {
  variant: Pick<OtlpVariant, "pipeline_id" | "dropsRepeats">;
  /** The listeners, as `HOST:PORT`. */
  otlp: { otlpGrpc: string; otlpHttp: string };
  random: Random;
  /** Exporters at once: of both transports, with gzip and without. */
  exporters: number;
  /** Records of a request, at the most. */
  mostRecords?: number;
}

/** Exporters that send log records to one pipeline until they are stopped. */
export class OtlpLoad {
  readonly ledger = new RequestLedger();
  readonly #exporters: readonly OtlpExporter[];

  constructor({ variant, otlp, random, exporters, mostRecords }: OtlpLoadOptions) {
    const { pipeline_id, dropsRepeats: repeatsUnclear } = variant;
    const { ledger } = this;
    this.#exporters = Array.from({ length: exporters }, (_, index) => {
      const isPacked = index % 4 > 1;
      const transport =
        index % 2 === 0
          ? overGrpc(otlp.otlpGrpc, pipeline_id, isPacked)
          : overHttp(`http://${otlp.otlpHttp}`, pipeline_id, isPacked);
      const own = new Random(random.below(2 ** 31));
      return new OtlpExporter({ transport, ledger, repeatsUnclear, random: own, ...(mostRecords && { mostRecords }) });
    });
  }

  /** Resolves when the last request needs not be sent again. */
  async stop(): Promise<void> {
    await Promise.all(this.#exporters.map((exporter) => exporter.stop()));
  }

  /** Resolves when the last answers are there, whatever they are. */
  async giveUp(): Promise<void> {
    await Promise.all(this.#exporters.map((exporter) => exporter.giveUp()));
  }
}
