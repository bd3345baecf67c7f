import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Printed, runCommand } from "./command.ts";
import { sluice } from "./daemon.ts";

/** The exit code where a command could not be run; none of Sluice's. */
const noAnswer = 70;

/** What a script called: its environment, its working directory, and the words after `sluice`. */
interface Call {
  env: Record<string, string>;
  cwd: string;
  argv: string[];
}

/**
 * A program `sluice` for scripts of bash, which runs commands in this process: a process for each would spend most of its
 * time on loading Sluice. It has no standard input. `sluice run` is the built program.
 */
export class ShellSluice {
  readonly #server: Server;
  readonly #secret = randomUUID();
  /** Commands run one after another: the working directory and the environment belong to the process. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor() {
    this.#server = createServer((socket) => {
      // A script that was ended reads no answer.
      socket.on("error", () => socket.destroy());
      void this.#answer(socket);
    });
  }

  /** Writes the program `sluice` into a folder. */
  static async start(folder: string): Promise<ShellSluice> {
    const made = new ShellSluice();
    made.#server.listen(0, "127.0.0.1");
    await once(made.#server, "listening");
    const { port } = made.#server.address() as AddressInfo;
    await writeFile(join(folder, "sluice"), programOf(port, made.#secret), { mode: 0o700 });
    return made;
  }

  async stop(): Promise<void> {
    await new Promise((done) => this.#server.close(done));
  }

  /** The exit code, the length of what the command printed on its standard output, and what it printed there and as errors. */
  async #answer(socket: Socket): Promise<void> {
    const call = await callFrom(socket, this.#secret);
    if (call === undefined) return void socket.destroy();
    const stop = new AbortController();
    // A script that was ended waits for nothing.
    socket.once("close", () => stop.abort()).resume();
    const { code, out, err } = await this.#inTurn(call, stop.signal);
    const [printed, said] = [out, err].map((text) => Buffer.from(text === "" ? "" : `${text}\n`)) as [Buffer, Buffer];
    socket.end(Buffer.concat([Buffer.from(`${code} ${printed.length}\n`), printed, said]));
  }

  #inTurn(call: Call, signal: AbortSignal): Promise<Printed> {
    const printed = this.#last.then(() => runCall(call, signal)).catch(failed);
    this.#last = printed;
    return printed;
  }
}

/** Says what it was called with, and prints what comes back. */
function programOf(port: number, secret: string): string {
  return `#!/bin/bash
for word in "$@"; do [ "$word" != run ] || exec "${process.execPath}" "${sluice}" "$@"; done
exec 3<>/dev/tcp/127.0.0.1/${port}
{ printf '%s\\0' ${secret}; env -0; printf '%s\\0' "" "$PWD" "$#" "$@"; } >&3
read -r code length <&3 || exit ${noAnswer}
head -c "$length" <&3
cat <&3 >&2
exit "$code"
`;
}

/** Reads a call from a script that knows the secret; undefined from anyone else. */
async function callFrom(socket: Socket, secret: string): Promise<Call | undefined> {
  let text = "";
  socket.setEncoding("utf8");
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    text += piece as string;
    const [said, ...words] = text.split("\0").slice(0, -1);
    if (said !== undefined && said !== secret) return undefined;
    const call = callOf(words);
    if (call !== undefined) return call;
  }
  return undefined;
}

/** The call that the words are, or undefined while some are missing: an empty one ends the environment. */
function callOf(words: string[]): Call | undefined {
  const end = words.indexOf("");
  const [cwd, count, ...argv] = end === -1 ? [] : words.slice(end + 1);
  if (cwd === undefined || count === undefined || argv.length < Number(count)) return undefined;
  const env = words.slice(0, end).map((variable) => variable.split(/=(.*)/s, 2) as [string, string]);
  return { env: Object.fromEntries(env), cwd, argv };
}

/** Runs a command with this process where and as the script is: Git is started with its environment. */
async function runCall({ cwd, argv, env }: Call, signal: AbortSignal): Promise<Printed> {
  const before = { cwd: process.cwd(), env: process.env };
  process.chdir(cwd);
  process.env = env;
  try {
    return await runCommand(argv, { env, signal });
  } finally {
    process.chdir(before.cwd);
    process.env = before.env;
  }
}

function failed(error: unknown): Printed {
  return { code: noAnswer, out: "", err: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
