import { getSystemErrorName } from "node:util";
import { EngineError } from "../core/errors.ts";

/** Errors of the system that pass, by themselves or when a person removes their cause, with that cause. */
const passing: Readonly<Record<string, string>> = {
  EMFILE: "this process has as many files open as it may: raise its limit (`ulimit -n`)",
  ENFILE: "this system has as many files open as it may: raise its limit (`fs.file-max`)",
  ENOMEM: "this system has no free memory: free some",
  EAGAIN: "this system lacks a resource at the moment",
  EBUSY: "another program uses a file in it",
  EIO: "its disk cannot be read or written: look for disk errors in the system log",
  ESTALE: "its network file system no longer has it: mount it again",
  EROFS: "its file system is read-only: mount it for writing",
  EACCES: "this user may not read or write it: correct owner and mode of its files",
  EPERM: "this user may not read or write it: correct owner and mode of its files",
};

/**
 * The engine's error for a call below the data dir that failed: DISK_FULL, STORAGE_UNAVAILABLE for what passes, and else
 * STORAGE_FAILED. An EngineError stays as it is. `of` names what failed where that is no part of the data dir, such as a
 * file that a source reads.
 */
export function storageError(cause: unknown, of = "the data dir"): EngineError {
  if (cause instanceof EngineError) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  const code = codeOf(cause);
  if (code === "ENOSPC" || code === "EDQUOT" || /no space left|disk quota/i.test(text)) {
    return new EngineError("DISK_FULL", `the disk of ${of} is full: make room, then it goes on`, {
      cause,
    });
  }
  const reason = passing[code];
  if (reason !== undefined) {
    return new EngineError("STORAGE_UNAVAILABLE", `${of} cannot be used: ${reason} (${text})`, { cause });
  }
  return new EngineError("STORAGE_FAILED", `${of} could not be used: ${text}`, { cause });
}

/** Whether an error is one that passes, so that the same call may be made again later. */
export function isPassing(error: unknown): error is EngineError {
  return error instanceof EngineError && (error.code === "DISK_FULL" || error.code === "STORAGE_UNAVAILABLE");
}

/** Whether an error is one of a call of the system, by its name or its number. */
export function isOfSystem(error: unknown): boolean {
  return /^E(?!RR_)[A-Z0-9]+$/.test(codeOf(error));
}

/** The system's name of an error; LMDB gives its number. */
function codeOf(cause: unknown): string {
  const code: unknown = (cause as { code?: unknown } | undefined)?.code;
  if (typeof code === "number" && Number.isInteger(code) && code > 0 && code < 4096) return getSystemErrorName(-code);
  return typeof code === "string" ? code : "";
}
