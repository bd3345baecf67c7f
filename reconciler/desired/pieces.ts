import type { SourceFile } from "../language/source-text.ts";
import type { Variables } from "../language/variables.ts";
import { ProblemAllowance } from "./allowance.ts";
import type { RefusedDocument } from "./desired-state.ts";
import { documentsOf, idsIn, tooCostly, type ReadDocument } from "./read-file.ts";

/** A file to read. Of a hidden one, only the texts that look like a pipeline_id are. */
export interface FileToRead extends SourceFile {
  isHidden: boolean;
}

/** A file, read and checked alone. */
export interface ReadFile {
  documents: ReadDocument[];
  /** Present if it could not be read. */
  unread?: RefusedDocument;
  /** In a hidden file. */
  ids?: string[];
}

/** A part of what is read of the file with this index. Its last part is `whole`. */
export type Piece = { file: number; document: ReadDocument } | { file: number; whole: Omit<ReadFile, "documents"> };

/** Milliseconds after which the reading of a file is ended, between two of its documents. Bounds of its size come first. */
const longestFile = 30_000;

/** What files hold, in small pieces: a file may have a thousand documents, which one message should not bring. */
export function* piecesOf(
  files: readonly FileToRead[],
  variables: Variables,
  onFile: (index: number) => void = () => undefined,
): Generator<Piece, void> {
  for (const [index, file] of files.entries()) {
    onFile(index);
    if (file.isHidden) yield { file: index, whole: { ids: idsIn(Buffer.from(file.bytes).toString("utf8")) } };
    else yield* piecesOfFile(index, file, variables);
  }
}

function* piecesOfFile(index: number, file: FileToRead, variables: Variables): Generator<Piece, void> {
  const until = performance.now() + longestFile;
  const documents = documentsOf(file, variables);
  const allowance = ProblemAllowance.ofFile();
  let next = documents.next();
  for (; next.done !== true; next = documents.next()) {
    if (performance.now() > until) {
      yield { file: index, whole: { unread: tooCostly(file) } };
      return;
    }
    yield { file: index, document: { ...next.value, checked: allowance.admit(next.value.checked) } };
  }
  yield { file: index, whole: next.value === undefined ? {} : { unread: next.value } };
}

/** Puts the pieces of one file after the other together. */
export class FileAssembly {
  #documents: ReadDocument[] = [];

  /** The file, where the piece is its last one. */
  add(piece: Piece): ReadFile | undefined {
    if ("document" in piece) {
      this.#documents.push(piece.document);
      return undefined;
    }
    // A file that was given up has no documents.
    const documents = piece.whole.unread === undefined ? this.#documents : [];
    this.#documents = [];
    return { documents, ...piece.whole };
  }

  /** Forgets the pieces of a file whose reading was ended. */
  drop(): void {
    this.#documents = [];
  }
}
