import { SourceError } from "./revision.ts";

/** Bounds on what a repository can make this process read. */
export interface SourceLimits {
  files: number;
  /** A larger file is skipped and reported. */
  fileBytes: number;
  /** Of all files together. */
  bytes: number;
}

export const defaultLimits: SourceLimits = { files: 10_000, fileBytes: 4 << 20, bytes: 128 << 20 };

/** The default of `--git-max-size`, in bytes. */
export const defaultMaxSize = 1 << 30;

/** Whether a path may hold pipelines, or says which files hold none; the loader decides what is one. */
export function isCandidate(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path) || /(^|\/)\.sluiceignore$/.test(path);
}

/** Refuses a folder beyond the limits, so that a part of it is never applied as the whole. */
export function checkLimits(files: readonly { bytes: number }[], limits: SourceLimits, where: string): void {
  if (files.length > limits.files) {
    throw new SourceError(
      "TooLarge",
      `${where} holds ${files.length} YAML and JSON files, at most ${limits.files} are read: watch a folder of it with --path`,
    );
  }
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total > limits.bytes) {
    throw new SourceError(
      "TooLarge",
      `${where} holds ${total} bytes of YAML and JSON, at most ${limits.bytes} are read: watch a folder of it with --path`,
    );
  }
}
