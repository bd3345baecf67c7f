import { parentPort } from "node:worker_threads";
import { serve } from "../../engine/language.ts";
import type { FileAnswer, FileQuestion } from "./file-thread.ts";
import { pathsIgnoredBy } from "./ignore.ts";
import { piecesOf, type Piece } from "./pieces.ts";

/** The entry of the thread that reads files. Between two calls it holds the files whose pieces it was not asked for yet. */

/** Values, and milliseconds of reading, after which an answer is sent: the process takes it in one go. */
const [mostValues, longestTurn] = [20_000, 50];

let pieces: Generator<Piece, void> | undefined;

serve<FileQuestion, FileAnswer>(parentPort!, (question) => {
  if (question.type === "ignored") {
    const { rule, paths } = question;
    return { answer: { pieces: [], isLast: true, ignored: pathsIgnoredBy(rule, paths) } };
  }
  if (question.type === "read") {
    const { files, variables, at } = question;
    pieces = piecesOf(files, variables, (index) => void (at[0] = index));
  }
  const answer = nextOf(pieces!);
  const tables = answer.pieces.flatMap((piece) => ("document" in piece ? (piece.document.pipeline?.places ?? []) : []));
  return { answer, transfer: tables.map(({ numbers }) => numbers.buffer) };
});

function nextOf(from: Generator<Piece, void>): FileAnswer {
  const some: Piece[] = [];
  const until = performance.now() + longestTurn;
  let values = 0;
  while (values < mostValues && performance.now() < until) {
    const next = from.next();
    if (next.done === true) return { pieces: some, isLast: true };
    some.push(next.value);
    values += weightOf(next.value);
  }
  return { pieces: some, isLast: false };
}

/** About how many values a piece has. */
function weightOf(piece: Piece): number {
  if (!("document" in piece)) return 10;
  const { checked, pipeline } = piece.document;
  const problems = checked.reading.length + checked.content.length;
  return 30 + 8 * problems + (pipeline === undefined ? 0 : pipeline.places.numbers.length / 2);
}
