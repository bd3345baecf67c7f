import { SourceError } from "./revision.ts";
import type { SourceDescription } from "./revision.ts";
import { isTagChoice, readTagChoice, type TagChoice } from "./tags/tag-choice.ts";

/** The followed reference. A commit never changes; a branch and a tag may move. */
export type Reference =
  | { kind: "default" }
  | { kind: "branch"; name: string }
  | { kind: "tag"; name: string }
  /** One of several tags. The name is how it is chosen, such as `v1.*`. */
  | { kind: "tags"; name: string; choice: TagChoice }
  | { kind: "commit"; sha: string };

export interface ReferenceSettings {
  branch?: string;
  tag?: string;
  /** A full hash. */
  commit?: string;
}

/** The present target of a reference at the remote. */
export interface Tip {
  /** The name at the remote, such as `refs/heads/main`. */
  ref: string;
  /** The commit, also for an annotated tag. */
  sha: string;
  /** The commit, or the annotated tag. */
  object: string;
  /** Branch or tag; absent for a commit. */
  name?: string;
}

/** Throws SourceError URLInvalid if the settings name two references, or an invalid one. */
export function readReference({ branch, tag, commit }: ReferenceSettings): Reference {
  const given = Object.entries({ branch, tag, commit }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (given.length > 1) {
    throw new SourceError("URLInvalid", `--${given.join(" and --")} exclude each other: name one thing to follow`);
  }
  if (branch !== undefined) return { kind: "branch", name: checkName("branch", branch, "main") };
  if (tag !== undefined) return tagReference(tag);
  if (commit === undefined) return { kind: "default" };
  return { kind: "commit", sha: fullHash(commit, "--commit") };
}

function tagReference(tag: string): Reference {
  if (!isTagChoice(tag)) return { kind: "tag", name: checkName("tag", tag, "v1.0") };
  const choice = readTagChoice(tag);
  if (choice !== undefined) return { kind: "tags", name: tag, choice };
  throw new SourceError(
    "URLInvalid",
    `--tag: expected the name of a tag, a range of versions such as "v1.*" or ">=1.2 <2", or a pattern such as "release-*", got ${JSON.stringify(tag.slice(0, 100))}`,
  );
}

/** A shortened hash is refused: it may become ambiguous with the next push. */
export function fullHash(text: string, subject: string): string {
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(text)) return text.toLowerCase();
  const found = JSON.stringify(text.slice(0, 100));
  throw new SourceError(
    "URLInvalid",
    `${subject}: expected the whole hash of a commit, 40 digits (64 of SHA-256), got ${found}`,
  );
}

/** Names that Git allows, without those that a shell or an option parser could misread. */
function checkName(kind: "branch" | "tag", name: string, example: string): string {
  const fits = /^[^-/.][^\s~^:?*[\\\p{Cc}]*$/u.test(name) && !/\.\.|\/\/|@\{|\/$|\.lock$|\.$/.test(name);
  if (fits) return name;
  const found = JSON.stringify(name.slice(0, 100));
  throw new SourceError("URLInvalid", `--${kind}: expected the name of a ${kind} such as "${example}", got ${found}`);
}

/** The patterns for `ls-remote`; undefined where no request is needed. */
export function patternsOf(reference: Reference): string[] | undefined {
  if (reference.kind === "default") return ["HEAD"];
  if (reference.kind === "branch") return [`refs/heads/${reference.name}`];
  if (reference.kind === "tag") return [`refs/tags/${reference.name}`, `refs/tags/${reference.name}^{}`];
  if (reference.kind === "tags") return ["refs/tags/*"];
  return undefined;
}

/** Reads the output of `ls-remote --symref`; undefined if the remote has no such reference. */
export function readTip(reference: Reference, output: string): Tip | undefined {
  if (reference.kind === "commit") return { ref: reference.sha, sha: reference.sha, object: reference.sha };
  const found = new Map(
    [...output.matchAll(/^([0-9a-f]{40,64})\t(\S+)$/gm)].map(([, sha = "", ref = ""]) => [ref, sha]),
  );
  const tag = reference.kind === "tags" ? reference.choice.newestOf(tagsAmong(found.keys())) : undefined;
  if (reference.kind === "tags" && tag === undefined) return undefined;
  const followed: Reference = tag === undefined ? reference : { kind: "tag", name: tag };
  const [ref = "", peeled = ""] = patternsOf(followed) ?? [];
  const object = found.get(ref);
  if (object === undefined) return undefined;
  const sha = found.get(peeled) ?? object;
  if (followed.kind === "branch" || followed.kind === "tag") return { ref, sha, object, name: followed.name };
  const name = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(output)?.[1];
  return name === undefined ? { ref, sha, object, name: "HEAD" } : { ref: `refs/heads/${name}`, sha, object, name };
}

/** The names of tags among references. */
export function tagsAmong(references: Iterable<string>): string[] {
  const under = "refs/tags/";
  return [...references].flatMap((ref) =>
    ref.startsWith(under) && !ref.endsWith("^{}") ? [ref.slice(under.length)] : [],
  );
}

/** The id of a revision. */
export function idOf({ name }: Pick<Tip, "name">, sha: string): string {
  const hash = `${sha.length === 64 ? "sha256" : "sha1"}:${sha}`;
  return name === undefined ? hash : `${name}@${hash}`;
}

/** The facts of a reference that a description and a revision show. */
export function shownReference(reference: Reference, name: string | undefined): Partial<SourceDescription> {
  if (reference.kind === "commit") return { commit: reference.sha };
  if (reference.kind === "tag" || reference.kind === "tags") return { tag: reference.name };
  return name === undefined ? {} : { branch: name };
}
