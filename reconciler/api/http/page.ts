import { ApiError } from "./api-error.ts";

/** The part of a list that a request asks for with `limit` and `cursor`. */
export interface Page {
  limit: number;
  /** The `next_cursor` of an earlier page. */
  cursor?: string;
}

/** The page that a query asks for. Throws ApiError 422 where limit or cursor is invalid. */
export function pageOf(query: Readonly<Record<string, unknown>>): Page {
  const limit = Number(query["limit"] ?? 100);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new ApiError(422, "unprocessable_entity", "limit: expected a whole number from 1 to 1000");
  }
  const cursor = query["cursor"];
  if (cursor === undefined) return { limit };
  if (typeof cursor === "string" && /^\d{1,20}$/.test(cursor)) return { limit, cursor };
  throw new ApiError(
    422,
    "unprocessable_entity",
    "cursor: expected the next_cursor of an earlier page, a decimal number",
  );
}
