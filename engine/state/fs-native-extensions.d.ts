/** The part of the package that is used here; it ships no types. */
declare module "fs-native-extensions" {
  /** Takes an exclusive lock on an open file; false if another open file description holds it. */
  export function tryLock(fd: number): boolean;
  /** Resolves when the lock is taken. */
  export function waitForLock(fd: number): Promise<void>;
}
