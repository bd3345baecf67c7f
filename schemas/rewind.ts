/** Where reading begins again. Offsets are the next ones, by topic and partition; of others nothing changes. */
export type RewindTo =
  | { kind: "earliest" }
  /** The first events at or after a time, in milliseconds since the epoch. */
  | { kind: "time"; time: number }
  | { kind: "offsets"; offsets: readonly { topic: string; partition: number; offset: number }[] };

/**
 * `earliest`, a time in ISO 8601, or offsets such as `orders/0=1200,orders/1=900`; undefined for another text. After `#` comes
 * what makes it another value.
 */
export function readRewind(value: string): RewindTo | undefined {
  const [text = ""] = value.split(" #");
  if (text === "earliest") return { kind: "earliest" };
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return { kind: "time", time: Date.parse(text) };
  const offsets = text.split(",").map((one) => {
    const [, topic = "", partition = "", offset = ""] = /^(.+)\/(\d+)=(\d+)$/.exec(one.trim()) ?? [];
    return { topic, partition: Number(partition), offset: Number(offset) };
  });
  return offsets.every(({ topic }) => topic !== "") ? { kind: "offsets", offsets } : undefined;
}

/** A value in the one spelling of its time: other words for the same are the same value. */
export function canonicalRewind(value: string): string {
  const [text = "", ...label] = value.split(" #");
  const to = readRewind(text);
  const isTime = to?.kind === "time" && !Number.isNaN(to.time);
  return [isTime ? new Date(to.time).toISOString() : text, ...label].join(" #");
}
