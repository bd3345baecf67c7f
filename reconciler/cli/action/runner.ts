import { randomUUID } from "node:crypto";
import { appendFile } from "node:fs/promises";

type Environment = Readonly<Record<string, string | undefined>>;

/** The most bytes of the summary of a step: GitHub refuses a larger one as a whole. */
const mostSummary = 1024 * 1024;

/** What a step of GitHub Actions can tell its runner, besides what it prints. */
export class Runner {
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** Sets outputs of the step. */
  async output(values: Readonly<Record<string, string | number>>): Promise<void> {
    // A value may have lines, and what looks like the next output.
    const lines = Object.entries(values).map(([name, value]) => {
      const end = `end_${randomUUID()}`;
      return `${name}<<${end}\n${value}\n${end}\n`;
    });
    await this.#append("GITHUB_OUTPUT", lines.join(""));
  }

  /** Adds Markdown to the summary of the job, as far as it has room. */
  async summarise(parts: readonly string[]): Promise<void> {
    let text = "";
    for (const part of parts) if (Buffer.byteLength(text) + Buffer.byteLength(part) < mostSummary) text += `${part}\n`;
    await this.#append("GITHUB_STEP_SUMMARY", text);
  }

  /** A folder for files of this job, which ends with it. */
  get folder(): string {
    return this.#env["RUNNER_TEMP"] || ".";
  }

  async #append(variable: string, text: string): Promise<void> {
    const file = this.#env[variable];
    if (file && text !== "") await appendFile(file, text);
  }
}

/** A workflow command that shows a message of its own beside a pull request. */
export function annotation(kind: "error" | "warning" | "notice", text: string): string {
  const escaped = text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  return `::${kind} title=sluice::${escaped}`;
}

/** The same at a line of a file. */
export function annotationAt(
  kind: "error" | "warning" | "notice",
  { file, line }: { file: string; line: number },
  text: string,
): string {
  const path = file.replaceAll(
    /[%\r\n:,]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
  return annotation(kind, text).replace(" title=", ` file=${path},line=${line},title=`);
}
