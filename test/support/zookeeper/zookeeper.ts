import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { JavaProcess, type Program } from "../java.ts";
import { classPathOf } from "../maven.ts";
import { freePorts } from "../ports.ts";

const pom = fileURLToPath(new URL("pom.xml", import.meta.url));
/** A connection that it took while it started may never be answered. */
const answerMs = 5_000;
/** The unit of ZooKeeper's times, in milliseconds: a session lasts from 2 to 20 of them. */
const tick = 500;

/** The class path of ZooKeeper, whose jars are fetched at the first call on a machine: 13 MB. */
export function zooKeeperClassPath(): Promise<string> {
  return classPathOf(pom, "zookeeper", "ZooKeeper");
}

/**
 * A ZooKeeper of one node in a process of its own, which ends with this process. Its port and what it keeps stay the same
 * while it is killed and started again.
 */
export class ZooKeeper {
  readonly port: number;
  readonly #folder: string;
  readonly #program: Program;
  #java: JavaProcess | undefined;

  private constructor(port: number, folder: string, program: Program) {
    this.port = port;
    this.#folder = folder;
    this.#program = program;
  }

  /** A new one, which answers. */
  static async start(): Promise<ZooKeeper> {
    const classPath = await zooKeeperClassPath();
    const [port = 0] = await freePorts(1);
    const folder = await mkdtemp(join(tmpdir(), "sluice-zookeeper-"));
    const file = join(folder, "zoo.cfg");
    await writeFile(file, propertiesOf(port, join(folder, "data")));
    const main = "org.apache.zookeeper.server.ZooKeeperServerMain";
    const flags = ["-Dzookeeper.4lw.commands.whitelist=ruok"];
    const zooKeeper = new ZooKeeper(port, folder, { classPath, main, args: [file], heapMegabytes: 128, flags });
    try {
      await zooKeeper.restart();
      return zooKeeper;
    } catch (error) {
      await zooKeeper.stop();
      throw error;
    }
  }

  /** Starts it again after `kill`; resolves when it answers. */
  async restart(): Promise<void> {
    this.#java = new JavaProcess(this.#program, this.#folder);
    await this.#java.started("ZooKeeper", () => isServing(this.port));
  }

  /** Ends it as a crash does; what it has answered is kept. */
  async kill(): Promise<void> {
    await this.#java?.end("SIGKILL");
  }

  /** Lets it stand still: its clients' connections stay, and nothing is answered. */
  freeze(): void {
    this.#java?.freeze();
  }

  /** Lets it go on. It then ends the sessions whose time is over. */
  thaw(): void {
    this.#java?.thaw();
  }

  /** Ends it and removes what it kept. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function propertiesOf(port: number, dataDir: string): string {
  const properties = {
    tickTime: tick,
    dataDir,
    clientPort: port,
    clientPortAddress: "127.0.0.1",
    "admin.enableServer": false,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

/** Asks it whether it is well, as its operators do: it says so when it serves clients. */
async function isServing(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.setTimeout(answerMs, () => socket.destroy());
  try {
    socket.end("ruok");
    let said = "";
    for await (const text of socket) said += text as string;
    return said === "imok";
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
