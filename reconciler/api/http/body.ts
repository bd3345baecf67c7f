import type { IncomingMessage } from "node:http";
import { type BodyLimits, BodyRefused, discardBody, readBody as readWithin, Room } from "../../../engine/index.ts";
import { ApiError } from "./api-error.ts";

/** The most bytes of all bodies that are arriving. */
const arrivingBytes = 16 * 1024 * 1024;
/** The largest body, in bytes (docs/api.md, Calls that compute), and how long it may take to arrive, in milliseconds. */
const limits = { most: 1024 * 1024, arriving: new Room(arrivingBytes), timeout: 5_000 } satisfies BodyLimits;

/**
 * The bytes of a JSON body. Throws ApiError 415 for another content type, 413 for one too large, 408 for one too slow, 503
 * where too many arrive at once.
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  try {
    refuseOtherTypes(request);
    return await readWithin(request, limits);
  } catch (error) {
    await discardBody(request, limits);
    throw error instanceof BodyRefused ? refusalOf(error) : error;
  }
}

function refuseOtherTypes({ headers }: IncomingMessage): void {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ApiError(415, "unsupported_media_type", "expected Content-Type application/json");
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new ApiError(415, "unsupported_media_type", "expected a body without Content-Encoding");
  }
}

function refusalOf({ problem, message }: BodyRefused): ApiError {
  switch (problem) {
    case "too large":
      return new ApiError(413, "payload_too_large", message);
    case "slow":
      return new ApiError(408, "request_timeout", `the body did not arrive within ${limits.timeout / 1000} seconds`);
    case "no room":
      return new ApiError(503, "service_unavailable", `${message}: try again in a few seconds`);
    default:
      return new ApiError(400, "bad_request", "the body ended early");
  }
}
