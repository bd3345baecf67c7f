import { request } from "node:http";
import { join } from "node:path";
import type { Daemon } from "../../examples/quickstart/daemon.ts";

/** Asks a daemon over its control socket, as the commands do, without the cost of a process for each question. */
export class Control {
  readonly #socketPath: string;

  constructor({ dataDir }: Pick<Daemon, "dataDir">) {
    this.#socketPath = join(dataDir, "control.sock");
  }

  /** Lines of a query's answer, each as its columns. */
  async query(query: string): Promise<string[][]> {
    const text = await this.#ask("POST", "/control/v1/sql", { query, format: "TSV" });
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t"));
  }

  /** Rows of a query's answer, as objects. */
  async rows<Row>(query: string): Promise<Row[]> {
    const text = await this.#ask("POST", "/control/v1/sql", { query, format: "JSONEachRow" });
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Row);
  }

  /** The dead letters of a pipeline, as they were received. */
  async letters(pipeline_id: string): Promise<string[]> {
    const letters: string[] = [];
    for (let cursor: string | undefined; ;) {
      const query = new URLSearchParams({ limit: "1000", ...(cursor === undefined ? {} : { cursor }) });
      const text = await this.#ask("GET", `/control/v1/pipeline/${pipeline_id}/dlq/list?${query.toString()}`);
      const page = JSON.parse(text) as { messages: { original_message: string }[]; next_cursor?: string };
      letters.push(...page.messages.map(({ original_message }) => original_message));
      cursor = page.next_cursor;
      if (cursor === undefined) return letters;
    }
  }

  #ask(method: string, path: string, body?: unknown): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      const asked = request({ socketPath: this.#socketPath, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`${method} ${path} was answered ${response.statusCode}: ${text}`));
        });
      });
      asked.on("error", reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
