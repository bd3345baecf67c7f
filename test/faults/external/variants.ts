/** A pipeline into the external ClickHouse, whose delivery is put to the test. */
export interface ExternalVariant {
  source: "webhook" | "otlp" | "kafka";
  /** It drops the later ones of events with one id. */
  dropsRepeats: boolean;
  on_uncertain: "insert" | "skip";
}

const sources = ["webhook", "otlp", "kafka"] as const;

/** Each source with and without dedup, and with both answers to a batch that may have been written. */
export const externalVariants: readonly ExternalVariant[] = sources.flatMap((source) =>
  [false, true].flatMap((dropsRepeats) =>
    (["insert", "skip"] as const).map((on_uncertain) => ({ source, dropsRepeats, on_uncertain })),
  ),
);

/** The short form: no Kafka, each of the four behaviours once. */
export const fewVariants: readonly ExternalVariant[] = [
  { source: "webhook", dropsRepeats: false, on_uncertain: "insert" },
  { source: "webhook", dropsRepeats: true, on_uncertain: "skip" },
  { source: "otlp", dropsRepeats: true, on_uncertain: "insert" },
  { source: "otlp", dropsRepeats: false, on_uncertain: "skip" },
];

export function nameOf({ source, dropsRepeats, on_uncertain }: ExternalVariant): string {
  return `${source}-${dropsRepeats ? "dedup" : "plain"}-${on_uncertain}`;
}
