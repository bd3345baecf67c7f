import type { Answer, Probe } from "../../core/sink.ts";

/** Rows that are tried together, at most. */
const largestPiece = 1_000;
/** How much larger a piece may be than the last one, where that was good. */
const growth = 4;

/**
 * Finds the bad ones among `count` rows. `send` tries rows, given by their indexes, and is told of one bad row at most,
 * often without its number: so what fails is tried again without the row that was named, or else in halves. Pieces are
 * as small as bad rows are dense, so that each row is sent a few times even if all are bad.
 *
 * An answer that is not about rows ends the search.
 */
export async function findBadRows(
  count: number,
  send: (rows: readonly number[]) => Promise<Answer>,
): Promise<Extract<Probe, { kind: "found" | "failed" }>> {
  const bad: Extract<Probe, { kind: "found" }>["rows"] = [];
  const known = new Set<number>();
  // Before the row `suspect` there is a bad one that was not named.
  for (let at = 0, size = largestPiece, suspect = 0; ;) {
    const piece = pieceOf(at, size, count, known);
    if (piece.length === 0) break;
    const answer = await send(piece);
    if (answer.kind === "ok") {
      at = piece.at(-1)! + 1;
      size = at < suspect ? Math.ceil((suspect - at) / 2) : Math.min(largestPiece, size * growth);
      continue;
    }
    const { failure } = answer;
    if (failure.class !== "row") return { kind: "failed", failure };
    const row = piece.length === 1 ? piece[0] : piece[failure.row ?? -1];
    suspect = row === undefined ? piece.at(-1)! + 1 : 0;
    if (row !== undefined) {
      known.add(row);
      bad.push({ row, failure: { ...failure, row } });
    }
    size = Math.max(1, Math.floor(piece.length / 2));
  }
  return { kind: "found", rows: bad.toSorted((one, other) => one.row - other.row) };
}

/** Up to `size` rows from `at` on that are not known to be bad. */
function pieceOf(at: number, size: number, count: number, known: ReadonlySet<number>): number[] {
  const piece: number[] = [];
  for (let row = at; row < count && piece.length < size; row += 1) if (!known.has(row)) piece.push(row);
  return piece;
}
