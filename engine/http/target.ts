import type { IncomingMessage } from "node:http";

/** What comes before the path where a target has the absolute form, as proxies send it: `http://HOST:PORT`. */
const authority = /^https?:\/\/[^/?#]*/i;

/** The path that a request asks for, without its query. */
export function pathOf({ url = "" }: Pick<IncomingMessage, "url">): string {
  const target = url.startsWith("/") ? url : url.replace(authority, "");
  return target.split("?", 1)[0] ?? "";
}
