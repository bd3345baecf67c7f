import { EngineError } from "../core/errors.ts";

/** The engine's error for a failed write below the data dir. */
export function storageError(cause: unknown): EngineError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === "ENOSPC" || code === "EDQUOT" || /no space left|disk quota/i.test(text)) {
    return new EngineError("DISK_FULL", "the disk of the data dir is full: make room, and everything goes on", {
      cause,
    });
  }
  return new EngineError("STORAGE_FAILED", `the data dir could not be written: ${text}`, { cause });
}
