/**
 * Loaded into a ClickHouse server before its own code: ends its process with SIGKILL at an exact step of an insert of a
 * pipeline. It looks from outside, at requests and answers.
 */
import { type IncomingMessage, Server, ServerResponse } from "node:http";
import { insertsInto, isTime, kill, replace } from "../kill-orders.ts";

replace(Server.prototype, "emit", (_server, emit, values) => {
  const [event, request] = values as [string, IncomingMessage];
  if (event === "request" && isTime("before its rows", insertsInto(request.url))) kill();
  return emit(...values);
});

replace(ServerResponse.prototype, "end", (response, end, values) => {
  if (response.statusCode === 200 && isTime("before its answer", insertsInto(response.req.url))) kill();
  return end(...values);
});
