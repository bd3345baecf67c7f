import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import { refusedRows } from "../core/dead-letter.ts";
import type { BatchRecord } from "../core/journal.ts";
import type { Block, Failure, Probe } from "../core/sink.ts";
import { EventList } from "../event/event.ts";
import type { BadRow, Trouble } from "./protocol.ts";
import type { Target } from "./target.ts";

/** Where the table cannot be asked whether it takes any row: in a smaller batch all rows may be bad while it is right. */
const fewestRows = 10;
/** Rows that are taken out of one batch one at a time, where a probe is not allowed. */
const mostWithoutProbe = 100;
/** Rows at the beginning of a block that are tried first: each bad row costs a request. */
const sampleRows = 100;

/** The rows that do not fit, or why none is excluded: the table is at fault. */
export type SearchResult = { kind: "rows"; rows: readonly BadRow[] } | { kind: "trouble"; trouble: Trouble };

/** The error codes of earlier attempts: of the first rows, and of all rows of a batch. */
export interface FailedCodes {
  sample?: number | undefined;
  all?: number | undefined;
}

type Probing = (block: Block) => Promise<Probe>;

interface Refused {
  record: BatchRecord;
  block: Block;
  failure: Failure;
  /** Stored here for later attempts. */
  codes: FailedCodes;
}

/**
 * Which rows of a refused block are bad (docs/delivery-protocol.md, "Bad rows"). They are found without writing to the
 * target. If no row of the batch fits, this revision has written nothing since the table was last altered, and the table
 * takes no value of the declared kinds, the table or the mapping is wrong: then no event becomes a dead letter.
 */
export async function findBadRows(refused: Refused, compiled: CompiledPipeline, target: Target): Promise<SearchResult> {
  const { record, block, failure, codes } = refused;
  const { sink, revision } = compiled;
  const probe: Probing = (rows) => target.probe(sink, rows);
  const refusedBefore = refusedRows(record.rejections);
  const total = block.events.length + refusedBefore;
  const mayBeWrong = !target.hasWritten(revision, await target.read(sink));
  if (mayBeWrong && (await isSampleBad(refused, probe))) {
    // The search through every row may take minutes, so the pause is shown once before it.
    const isKnown = codes.all === failure.code || codes.sample !== failure.code;
    codes.sample = failure.code;
    if (isKnown && (await takesNone(target, sink, total))) {
      return wrong(failure, `the first rows of a batch of ${total} do not fit`);
    }
  }
  const found = await badRows(block, failure, probe, refusedBefore);
  if (found.kind === "trouble" || !mayBeWrong || found.rows.length < block.events.length) return found;
  if (found.rows.some(({ failure: { code } }) => code !== failure.code)) return found;
  if (!(await takesNone(target, sink, total))) return stillBad(found, refused, probe);
  codes.all = failure.code;
  return wrong(failure, `no row of a batch of ${total} fits`);
}

/** Whether the table takes no row at all, whatever its values; the size of the batch decides where it cannot be asked. */
async function takesNone(target: Target, sink: CompiledPipeline["sink"], total: number): Promise<boolean> {
  const takes = await target.takesAny(sink);
  return takes === "unknown" ? total >= fewestRows : takes === "no";
}

/**
 * The table takes rows, and took none of these: it may have been mended between the two looks, and then the rows are good.
 * So they are tried once more.
 */
async function stillBad(found: SearchResult, { block, failure }: Refused, probing: Probing): Promise<SearchResult> {
  const probe = await probing(block);
  return probe.kind === "found" ? badAmong(probe.rows, failure) : found;
}

/** What a probe of a whole block says, which found these rows. */
function badAmong(rows: readonly BadRow[], failure: Failure): SearchResult {
  if (rows.length > 0) return { kind: "rows", rows };
  const text = `${failure.text}; no row is at fault: a copy of the table takes each of them`;
  return { kind: "trouble", trouble: { class: "setup", text } };
}

function wrong({ text }: Failure, what: string): SearchResult {
  return { kind: "trouble", trouble: { class: "row", text: `${what}: ${text}` } };
}

/** Whether the block is larger than a sample and its first rows all fail with the same code. */
async function isSampleBad({ block, failure }: Refused, probing: Probing): Promise<boolean> {
  if (block.events.length <= sampleRows) return false;
  const probe = await probing(firstRows(block, sampleRows));
  if (probe.kind !== "found" || probe.rows.length < sampleRows) return false;
  return probe.rows.every(({ failure: { code } }) => code === failure.code);
}

function firstRows({ events, body }: Block, count: number): Block {
  let end = 0;
  for (let row = 0; row < count; row += 1) end = body.indexOf("\n", end) + 1;
  return { events: EventList.of(events.slice(0, count)), body: body.subarray(0, end), rejected: [] };
}

async function badRows(block: Block, failure: Failure, probing: Probing, refusedBefore: number): Promise<SearchResult> {
  if (block.events.length === 1) return { kind: "rows", rows: [{ row: 0, failure }] };
  const probe = await probing(block);
  if (probe.kind === "found") return badAmong(probe.rows, failure);
  const isPassing = probe.kind === "failed" && probe.failure.class === "transient";
  // Without a probe, the rows that errors name are taken out, one at a time.
  if (!isPassing && failure.row !== undefined && refusedBefore < mostWithoutProbe) {
    return { kind: "rows", rows: [{ row: failure.row, failure }] };
  }
  if (probe.kind === "failed") return { kind: "trouble", trouble: probe.failure };
  const text = `${failure.text}; without a temporary copy of the table the bad rows cannot be found: run ${probe.grant}`;
  return { kind: "trouble", trouble: { class: "probe", text } };
}
