import type { Document } from "../../desired/document.ts";
import type { Problem } from "../problem.ts";
import { View } from "../view.ts";

/** Documents by the table that they write to, as far as they say it. */
export function documentsByTable(documents: readonly Document[]): Map<string | undefined, Document[]> {
  const byTable = new Map<string | undefined, Document[]>();
  for (const document of documents) {
    const table = tableOf(document);
    const same = byTable.get(table);
    if (same === undefined) byTable.set(table, [document]);
    else same.push(document);
  }
  return byTable;
}

/** Host, port, database and table: what makes it one table. Two names of one host are two. */
function tableOf(document: Document): string | undefined {
  const sink = View.of(document).get("sink");
  const connection = sink.get("connection_params");
  const [host, table] = [connection.get("host").text?.trim().toLowerCase(), sink.get("table").text?.trim()];
  if (host === undefined || host === "" || table === undefined || table === "") return undefined;
  const database = connection.get("database").text ?? "default";
  const port = host === "embedded" ? "" : (connection.get("port").text ?? "");
  return JSON.stringify([host, port, database, table]);
}

function idOf(document: Document): unknown {
  return View.of(document).get("pipeline_id").value;
}

/** One table for two pipelines is sometimes meant, and often a copied file. Said of each. */
export function sharedTable(document: Document, byTable: ReadonlyMap<string | undefined, Document[]>): Problem[] {
  const key = tableOf(document);
  const same = key === undefined ? [] : (byTable.get(key) ?? []);
  // A copy with the same pipeline_id is refused as such.
  const own = idOf(document);
  const other = same.find((one) => one !== document && idOf(one) !== own);
  if (other === undefined) return [];
  const { file, line } = other.place(["sink", "table"]);
  const more = same.length > 2 ? `, and ${same.length - 2} more` : "";
  return [
    View.of(document)
      .get("sink", "table")
      .problem("SHARED_TABLE", {
        expected: "a table that no other pipeline writes to",
        found: `the one of ${file}:${line}${more}`,
      }),
  ];
}
