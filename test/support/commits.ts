import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { SourceError } from "../../reconciler/git/revision.ts";
import type { Revision, RevisionSource, SkippedFile, SourceDescription } from "../../reconciler/git/revision.ts";
import { pipelineText } from "./pipeline-text.ts";
import type { PipelineText } from "./pipeline-text.ts";

/** A branch in memory: commits are pushed to it one after the other, and each can be had again. */
export class Commits implements RevisionSource {
  description: SourceDescription = { kind: "git", url: "/test", branch: "main", path: "." };
  /** How often the newest commit was asked for. */
  fetched = 0;
  /** What the next questions fail with. */
  failure: SourceError | undefined;
  /** What is not read of commits that are pushed from now on. */
  skipped: SkippedFile[] = [];
  #elsewhere: Revision | undefined;
  #held: Promise<unknown> | undefined;
  readonly #commits: Revision[] = [];

  /** The sha of the commit with this subject that is pushed after `count` others. */
  static shaOf(count: number, subject: string): string {
    return createHash("sha1").update(`${count} ${subject}`).digest("hex");
  }

  /** Pushes a commit that holds these pipelines; gives its sha. */
  push(subject: string, ...pipelines: PipelineText[]): string {
    const made = this.#commit(subject, pipelines);
    this.#commits.push(made);
    return made.sha;
  }

  /** Until it comes back, the server leads to another place, where this commit is the newest one. */
  goElsewhere(place: Pick<Revision, "redirected" | "branch">, subject: string, ...pipelines: PipelineText[]): void {
    this.#elsewhere = { ...this.#commit(subject, pipelines), ...place };
  }

  comeBack(): void {
    this.#elsewhere = undefined;
  }

  #commit(subject: string, pipelines: readonly PipelineText[]): Revision {
    const sha = Commits.shaOf(this.#commits.length, subject);
    const files = pipelines.map((one) => ({ path: `${one.id}.yaml`, bytes: Buffer.from(pipelineText(one)) }));
    const id = `main@sha1:${sha}`;
    return { id, sha, files, skipped: this.skipped, branch: "main", author: "Ada", subject };
  }

  /** Holds every fetch up until it is told to go on. */
  hold(): () => void {
    const gate = new EventEmitter();
    this.#held = once(gate, "open");
    return () => {
      this.#held = undefined;
      gate.emit("open");
    };
  }

  fetch = async (): Promise<Revision> => {
    this.fetched += 1;
    await this.#held;
    if (this.failure !== undefined) throw this.failure;
    return this.#elsewhere ?? this.#commits.at(-1)!;
  };

  at = async (commit: string): Promise<Revision> => {
    const found = this.#commits.find(({ sha }) => sha === commit);
    if (found !== undefined) return found;
    throw new SourceError("GitOperationFailed", `main: expected a commit of the branch, found ${commit}`);
  };

  close = async (): Promise<void> => undefined;
}
