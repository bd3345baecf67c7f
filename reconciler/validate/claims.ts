import type { Path } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import type { Place } from "../language/problem.ts";
import { View } from "../language/view.ts";

/** Dependencies of a document at most; the schema says the same. */
const mostDependencies = 100;

const pattern = /^[a-z](?:[a-z0-9]|-(?!-))*[a-z0-9]$/;

/** A text of a document, and where it is written. */
export interface Claim {
  text: string | undefined;
  path: Path;
  place: Place;
}

/**
 * The values of a document that checks between documents need, without the document itself: so a changed file does not
 * require reading the others again.
 */
export interface Claims {
  /** Every pipeline_id of the document, whether or not the rest is valid; more than one if the key is duplicate. */
  pipeline_ids: string[];
  /** The value under pipeline_id, of any kind. */
  written: unknown;
  id: Claim;
  /** `key` identifies the table; undefined if the document does not name it completely. */
  table: Claim & { key: string | undefined };
  depends_on: Claim[];
}

export function claimsOf(document: Document): Claims {
  const root = View.of(document);
  const id = root.get("pipeline_id");
  return {
    pipeline_ids: document.texts("pipeline_id").filter((text) => pattern.test(text)),
    written: id.value,
    id: claimOf(id),
    table: { ...claimOf(root.get("sink", "table")), key: tableKey(root) },
    depends_on: root.get("x-sluice", "depends_on").items(mostDependencies).map(claimOf),
  };
}

function claimOf({ document, path, text }: View): Claim {
  return { text, path, place: document.place(path) };
}

/** Host, port, database and table: what identifies a table. Two names of one host count as two. */
function tableKey(root: View): string | undefined {
  const sink = root.get("sink");
  const connection = sink.get("connection_params");
  const [host, table] = [connection.get("host").text?.trim().toLowerCase(), sink.get("table").text?.trim()];
  if (host === undefined || host === "" || table === undefined || table === "") return undefined;
  const database = connection.get("database").text ?? "default";
  const port = host === "embedded" ? "" : (connection.get("port").text ?? "");
  return JSON.stringify([host, port, database, table]);
}
