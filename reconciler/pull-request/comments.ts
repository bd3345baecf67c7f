/** A comment on a pull request. */
export interface Comment {
  id: string;
  body: string;
  /** Whether the account that asks wrote it: everyone else may have copied the line by which it is found. */
  isOwn: boolean;
  /** Its address for people, where the host tells. */
  address?: string;
}

/** The comments of one pull request, on whatever host it is. All calls throw RestError. */
export interface Comments {
  /** The oldest first. */
  list(): AsyncIterable<Comment>;
  create(body: string): Promise<Comment>;
  replace(id: string, body: string): Promise<Comment>;
  remove(id: string): Promise<void>;
}

export type Placed = { kind: "created" | "replaced" | "same" | "none"; address?: string };

/**
 * Makes `body` the one comment whose first line is the marker that `body` begins with: the one that is there is replaced, and
 * further ones, which two jobs at the same time may have left, are removed. `isNews` says whether a pull request without
 * such a comment gets one.
 */
export async function placeComment(comments: Comments, body: string, isNews: boolean): Promise<Placed> {
  const marker = firstLine(body);
  const found: Comment[] = [];
  for await (const one of comments.list()) if (one.isOwn && firstLine(one.body) === marker) found.push(one);
  const [first, ...further] = found;
  for (const { id } of further) await comments.remove(id);
  if (first === undefined) return isNews ? placed("created", await comments.create(body)) : { kind: "none" };
  // Hosts may end lines in their own way, and leave out the last end.
  if (normalised(first.body) === normalised(body)) return placed("same", first);
  return placed("replaced", await comments.replace(first.id, body));
}

function placed(kind: Placed["kind"], { address }: Comment): Placed {
  return { kind, ...(address !== undefined && { address }) };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]!.trim();
}

function normalised(text: string): string {
  return text.replaceAll("\r\n", "\n").trim();
}
