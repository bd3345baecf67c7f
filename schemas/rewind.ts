/** Where reading begins again. Offsets are the next ones, by topic and partition; of others nothing changes. */
export type RewindTo =
  | { kind: "earliest" }
  /** The first events at or after a time, in milliseconds since the epoch. */
  | { kind: "time"; time: number }
  | { kind: "offsets"; offsets: readonly { topic: string; partition: number; offset: number }[] };

/** `earliest`, a time in ISO 8601, or offsets such as `orders/0=1200,orders/1=900`; undefined for another text. */
export function readRewind(text: string): RewindTo | undefined {
  if (text === "earliest") return { kind: "earliest" };
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return { kind: "time", time: Date.parse(text) };
  const offsets = text.split(",").map((one) => {
    const [, topic = "", partition = "", offset = ""] = /^(.+)\/(\d+)=(\d+)$/.exec(one.trim()) ?? [];
    return { topic, partition: Number(partition), offset: Number(offset) };
  });
  return offsets.every(({ topic }) => topic !== "") ? { kind: "offsets", offsets } : undefined;
}
