import type { IncomingMessage } from "node:http";
import type { Body } from "./body.ts";
import { raise } from "./exception.ts";
import { maxQuery } from "./queries.ts";

/**
 * Parameters of a request whose body is a form: clients send the statement and long query parameters so.
 *
 * @returns all parameters, those of the address included; undefined where the body is no form.
 */
export async function formOf(
  request: IncomingMessage,
  body: Body,
  parameters: URLSearchParams,
): Promise<URLSearchParams | undefined> {
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data")) return undefined;
  const limit = 64 * maxQuery;
  const { bytes, ended } = await body.head(limit);
  if (!ended) throw raise("QUERY_IS_TOO_LARGE", `The form is larger than ${limit} bytes.`);
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData().catch(() => {
    throw raise("BAD_ARGUMENTS", "The body is not the multipart/form-data that its header announces.");
  });
  const all = new URLSearchParams(parameters);
  for (const [name, value] of form) {
    if (typeof value !== "string") throw raise("NOT_IMPLEMENTED", "External tables are not supported.");
    all.append(name, value);
  }
  return all;
}
