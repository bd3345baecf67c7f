import type { Answer } from "./otlp-transports.ts";
import type { Span } from "./spans.ts";

/** What is in a table of one request. */
export interface FoundRequest {
  rows: number;
  /** Different ids among them. */
  ids: number;
  /** The highest part; the lowest one is 0. */
  last: number;
}

export interface RequestAudit {
  /** Requests that were sent and, of these, those that were acknowledged in the end. */
  requests: number;
  acknowledged: number;
  /** Requests that a kill left without a clear answer; those of them that were acknowledged when they came again. */
  unclear: number;
  repeated: number;
  /** Unclear ones, not acknowledged later, that are stored all the same. */
  unclearStored: number;
  records: number;
  rows: number;
  /** What is wrong, a sentence each. */
  broken: string[];
}

interface Sent {
  records: number;
  isAnswered: boolean;
  isAcknowledged: boolean;
  isUnclear: boolean;
}

/** Sentences about what is wrong, at the most. */
const mostBroken = 20;

/** What was sent to one pipeline and how it was answered, by the number of the request. */
export class RequestLedger {
  readonly #sent: Sent[] = [];
  readonly #wrong = new Set<string>();

  /** The number of a new request, from 1 on. */
  open(records: number): number {
    return this.#sent.push({ records, isAnswered: false, isAcknowledged: false, isUnclear: false });
  }

  note(request: number, answer: Answer): void {
    const sent = this.#sent[request - 1]!;
    sent.isAnswered = true;
    if (answer === "acknowledged") sent.isAcknowledged = true;
    else if (answer === "unclear") sent.isUnclear = true;
    else if (answer !== "refused") this.#wrong.add(`a good request was answered ${answer.wrong}`);
  }

  /** How many requests have no answer of any kind yet. */
  get waiting(): number {
    return this.#sent.filter(({ isAnswered }) => !isAnswered).length;
  }

  /** How many requests were left without a clear answer so far. */
  get unclear(): number {
    return this.#sent.filter(({ isUnclear }) => isUnclear).length;
  }

  /** How often each record must and may be there, by its id: `<request>-<part>`. */
  expected(): Map<string, Span> {
    const spans = new Map<string, Span>();
    for (const [index, { records, isAcknowledged, isUnclear }] of this.#sent.entries()) {
      const span = { least: isAcknowledged ? 1 : 0, most: isAcknowledged || isUnclear ? 1 : 0 };
      for (let part = 0; part < records; part += 1) spans.set(`${index + 1}-${part}`, span);
    }
    return spans;
  }

  /** Each acknowledged request must be there whole and once, an unclear one whole and once or not at all. */
  audit(found: ReadonlyMap<number, FoundRequest>): RequestAudit {
    const broken = [...this.#wrong];
    const audit = { requests: this.#sent.length, acknowledged: 0, unclear: 0, repeated: 0, unclearStored: 0 };
    let [records, rows] = [0, 0];
    for (const [index, { records: count, isAcknowledged, isUnclear }] of this.#sent.entries()) {
      const here = found.get(index + 1);
      const isWhole = here?.rows === count && here.ids === count && here.last === count - 1;
      const what = `${isAcknowledged ? "acknowledged" : isUnclear ? "unclear" : "refused"} request ${index + 1}`;
      if (here !== undefined && !isWhole)
        broken.push(`${what} of ${count} records is there as ${JSON.stringify(here)}`);
      if (here === undefined && isAcknowledged) broken.push(`${what} of ${count} records is lost`);
      if (here !== undefined && !isAcknowledged && !isUnclear) broken.push(`${what} is there`);
      if (isAcknowledged) audit.acknowledged += 1;
      if (isUnclear) audit.unclear += 1;
      if (isAcknowledged && isUnclear) audit.repeated += 1;
      if (!isAcknowledged && isUnclear && here !== undefined) audit.unclearStored += 1;
      records += count;
    }
    for (const [request, { rows: count }] of found) {
      rows += count;
      if (this.#sent[request - 1] === undefined) broken.push(`request ${request} is there and was never sent`);
    }
    return { ...audit, records, rows, broken: broken.slice(0, mostBroken) };
  }
}
