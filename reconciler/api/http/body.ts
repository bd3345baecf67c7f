import type { IncomingMessage } from "node:http";
import { BodyRefused, discardBody, receiveBody } from "../../../engine/index.ts";
import { ApiError } from "./api-error.ts";

/** The largest body, in bytes (docs/api.md, Calls that compute), and how long it may take to arrive, in milliseconds. */
const limits = { most: 1024 * 1024, timeout: 5_000 };

/** The bytes of a JSON body. Throws ApiError 415 for another content type, 413 for one too large, 408 for one too slow. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    refuseOtherTypes(request);
    await receiveBody(request, limits, (chunk) => void chunks.push(chunk));
    return Buffer.concat(chunks);
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
    default:
      return new ApiError(400, "bad_request", "the body ended early");
  }
}
