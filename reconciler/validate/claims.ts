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
 * What other documents may say too, or must: enough to judge many of them together when only one was read again, so
 * without the document itself.
 */
export interface Claims {
  /** Every pipeline that the document speaks of, whether or not the rest of it is valid; more than one where the key stands twice. */
  pipeline_ids: string[];
  /** What stands under pipeline_id, of whatever kind. */
  written: unknown;
  id: Claim;
  /** `key` is what makes it one table; undefined where the document does not say it all. */
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

/** Host, port, database and table: what makes it one table. Two names of one host are two. */
function tableKey(root: View): string | undefined {
  const sink = root.get("sink");
  const connection = sink.get("connection_params");
  const [host, table] = [connection.get("host").text?.trim().toLowerCase(), sink.get("table").text?.trim()];
  if (host === undefined || host === "" || table === undefined || table === "") return undefined;
  const database = connection.get("database").text ?? "default";
  const port = host === "embedded" ? "" : (connection.get("port").text ?? "");
  return JSON.stringify([host, port, database, table]);
}
