import { isObject } from "../../schemas/index.ts";
import { type Rest, RestError } from "./rest.ts";

/** The most pages of comments that are read, of thirty comments each. */
const mostPages = 100;
export const perPage = 30;

/** All elements of a list, page by page. Throws a RestError where there are more than are read. */
export async function* elements(rest: Rest, path: string): AsyncIterable<Record<string, unknown>> {
  for (let page = 1; page <= mostPages; page += 1) {
    const { body, hasNext } = await rest.call("GET", `${path}?per_page=${perPage}&page=${page}`);
    if (!Array.isArray(body)) throw new RestError(`${path}: expected a list, found ${kindOf(body)}`);
    yield* body.map((one) => object(one, path));
    if (!hasNext) return;
  }
  throw new RestError(`${path}: expected at most ${mostPages * perPage} comments, found more`);
}

/** What an answer is, checked to be an object. */
export function object(value: unknown, path: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new RestError(`${path}: expected an object, found ${kindOf(value)}`);
}

/** The id of the account that asks; undefined where the token is of an installation and not of an account. */
export async function accountOf(rest: Rest): Promise<string | undefined> {
  try {
    const { body } = await rest.call("GET", "/user");
    return idOf(object(body, "/user"));
  } catch (error) {
    if (error instanceof RestError && (error.isForbidden || error.status === 404)) return undefined;
    throw error;
  }
}

/** The `id` of an object, as text; undefined where it has none. */
export function idOf(value: unknown): string | undefined {
  const id = isObject(value) ? value["id"] : undefined;
  return typeof id === "number" || typeof id === "string" ? String(id) : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}
