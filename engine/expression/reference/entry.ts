/** What the reference says of one operator, function or method: how it is written, a sentence, and an example. */
export type Entry = readonly [written: string, says: string, example: string];

/** Entries by name. Every example is evaluated on the sample below, as a stateless transform would. */
export type Entries = Readonly<Record<string, Entry>>;

/** The record that the examples are evaluated on, as an event would bring it. */
export const sample = `{
  "name": "Ann Lee",
  "level": "ERROR",
  "status": 503,
  "ratio": 2.5,
  "ok": true,
  "tags": ["b", "a", "b"],
  "user": { "id": 7, "team": "core" },
  "items": [{ "sku": "x", "n": 2 }, { "sku": "y", "n": 5 }],
  "ts": "2024-03-01T10:20:30Z",
  "query": "utm_source=news&id=1&id=2",
  "agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1",
  "big": 9007199254740993,
  "nothing": null
}`;

/** The time of the batch in the examples: 2024-05-06 07:08:09 UTC. */
export const clock = Date.UTC(2024, 4, 6, 7, 8, 9);
