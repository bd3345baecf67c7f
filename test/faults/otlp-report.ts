import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { Control } from "./control.ts";
import type { CounterSums } from "./counter-sums.ts";
import { idAttribute, type OtlpVariant } from "./otlp-variants.ts";
import type { FoundRequest, RequestAudit, RequestLedger } from "./request-ledger.ts";

/** What came of one pipeline. */
export interface OtlpKillReport extends RequestAudit {
  variant: OtlpVariant["name"];
  /** Batches taken from the journal after a kill, and inserts sent again with their token. */
  replayed: number;
  repeatedInserts: number;
  /** Records that dedup dropped. */
  duplicates: number;
}

/** What one pipeline wrote, held against what was sent to it. */
export async function reportOf(
  { variant, ledger }: { variant: OtlpVariant; ledger: RequestLedger },
  daemon: Daemon,
  counters: CounterSums,
): Promise<OtlpKillReport> {
  const { pipeline_id, name } = variant;
  const { found, strangers } = await findRequests(daemon, pipeline_id);
  const audit = ledger.audit(found);
  const { total_messages: letters } = (await daemon.health(pipeline_id)).dead_letters;
  if (letters > 0) audit.broken.push(`${letters} good records are dead letters`);
  if (strangers > 0) audit.broken.push(`${strangers} rows have ids that were never sent`);
  const { batches_replayed = 0, inserts_repeated = 0, duplicates_dropped = 0 } = counters.of(pipeline_id);
  const seen = { replayed: batches_replayed, repeatedInserts: inserts_repeated, duplicates: duplicates_dropped };
  return { variant: name, ...audit, ...seen };
}

/** The requests that are in a table, and how many rows there are besides. */
export async function findRequests(
  daemon: Daemon,
  pipeline_id: string,
): Promise<{ found: Map<number, FoundRequest>; strangers: number }> {
  const [id, table] = [`attributes['${idAttribute}']`, pipeline_id.replaceAll("-", "_")];
  const rows = await new Control(daemon).query(
    `SELECT if(match(${id}, '^[1-9][0-9]*-(0|[1-9][0-9]*)$'), toUInt32(splitByChar('-', ${id})[1]), 0) AS request,
       count(), uniqExact(${id}), max(toUInt32OrZero(splitByChar('-', ${id})[2]))
     FROM ${table} GROUP BY request`,
  );
  const found = new Map<number, FoundRequest>();
  let strangers = 0;
  for (const [request = 0, count = 0, ids = 0, last = 0] of rows.map((row) => row.map(Number))) {
    if (request === 0) strangers = count;
    else found.set(request, { rows: count, ids, last });
  }
  return { found, strangers };
}

/** What must not be, a sentence each; and what the kills of a long run must have hit, and did not. */
export function brokenByKills(reports: readonly OtlpKillReport[]): string[] {
  const problems = reports.flatMap(({ variant, broken, replayed, repeatedInserts, unclear }) => [
    ...broken.map((what) => `${variant}: ${what}`),
    ...(replayed + repeatedInserts > 0 ? [] : [`${variant}: expected batches replayed or inserts repeated, saw none`]),
    ...(unclear > 0 ? [] : [`${variant}: expected requests without an answer, saw none`]),
  ]);
  const isDropped = reports.some(({ duplicates }) => duplicates > 0);
  return isDropped ? problems : [...problems, "expected records that dedup dropped, saw none"];
}
