import { compare, type Span } from "./spans.ts";

/** What must become of an event: a row, or a dead letter because it is bad. */
export type Fate = "row" | "letter";

export interface Audit {
  /** Posts that were answered 202. */
  accepted: number;
  /** Posts whose answer was lost with the process: they may have been stored or not. */
  unanswered: number;
  rows: number;
  deadLetters: number;
  /** Accepted, and not there as often as it must be. */
  lost: string[];
  /** There more often than it may be. */
  doubled: string[];
  /** There and never posted. */
  strangers: string[];
}

interface Posts {
  accepted: number;
  unanswered: number;
}

/** What was posted to one pipeline and how it was answered, by id; in the end what is there is held against it. */
export class Ledger {
  readonly #posts: Readonly<Record<Fate, Map<string, Posts>>> = { row: new Map(), letter: new Map() };

  note(event: { id: string; fate: Fate }, answer: keyof Posts): void {
    const posts = this.#posts[event.fate].get(event.id) ?? { accepted: 0, unanswered: 0 };
    posts[answer] += 1;
    this.#posts[event.fate].set(event.id, posts);
  }

  /**
   * Compares with the ids that are there and how often. Every accepted post must be there once, every unanswered one at
   * most once. Where repeats are dropped, all rows of one id count as one.
   */
  audit(found: Record<Fate, ReadonlyMap<string, number>>, dropsRepeats: boolean): Audit {
    const audit: Audit = {
      accepted: 0,
      unanswered: 0,
      rows: sum(found.row.values()),
      deadLetters: sum(found.letter.values()),
      lost: [],
      doubled: [],
      strangers: [],
    };
    for (const fate of ["row", "letter"] as const) {
      for (const { accepted, unanswered } of this.#posts[fate].values()) {
        audit.accepted += accepted;
        audit.unanswered += unanswered;
      }
      const { lost, doubled, strangers } = compare(this.expected(fate, dropsRepeats), found[fate]);
      const named = (id: string): string => `${fate} ${id}`;
      audit.lost.push(...lost.map(named));
      audit.doubled.push(...doubled.map(named));
      audit.strangers.push(...strangers.map(named));
    }
    return audit;
  }

  /** How often each id must and may be there. */
  expected(fate: Fate, dropsRepeats: boolean): Map<string, Span> {
    const limit = dropsRepeats && fate === "row" ? 1 : Infinity;
    const spans = new Map<string, Span>();
    for (const [id, { accepted, unanswered }] of this.#posts[fate])
      spans.set(id, { least: Math.min(limit, accepted), most: Math.min(limit, accepted + unanswered) });
    return spans;
  }
}

/** How often each of these is there. */
export function tally(ids: Iterable<string>): Map<string, number> {
  const times = new Map<string, number>();
  for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
