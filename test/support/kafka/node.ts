import { rm } from "node:fs/promises";
import { JavaProcess } from "../java.ts";
import type { Installation } from "./installation.ts";

/** A broker or a controller as a process of its own, which ends with this process; its files stay until `remove`. */
export class KafkaNode {
  readonly #installation: Installation;
  #java: JavaProcess | undefined;

  constructor(installation: Installation) {
    this.#installation = installation;
  }

  /** Of the process that runs, or ran last. */
  get pid(): number {
    return this.#java?.pid ?? 0;
  }

  /** Where it keeps everything. */
  get folder(): string {
    return this.#installation.folder;
  }

  get isRunning(): boolean {
    return this.#java?.isRunning === true;
  }

  /** Starts it, or starts it again. Resolves when `answers` says that it is there. */
  async start(answers: () => Promise<boolean>): Promise<void> {
    const { program, folder } = this.#installation;
    this.#java = new JavaProcess(program, folder);
    await this.#java.started("a node of Kafka", answers);
  }

  /** Ends it as an operator does. */
  async end(): Promise<void> {
    await this.#java?.end("SIGTERM");
  }

  /** Ends it as a crash does; what it has answered is kept. */
  async kill(): Promise<void> {
    await this.#java?.end("SIGKILL");
  }

  /** Lets it stand still. */
  freeze(): void {
    this.#java?.freeze();
  }

  /** Lets it go on. */
  thaw(): void {
    this.#java?.thaw();
  }

  /** Ends it and removes what it kept. */
  async remove(): Promise<void> {
    // One that stands still would not end until it is made to.
    this.thaw();
    await this.end();
    await rm(this.#installation.folder, { recursive: true, force: true });
  }
}
