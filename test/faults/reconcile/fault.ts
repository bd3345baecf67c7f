import type { Call } from "../../../reconciler/plan/calls.ts";
import type { Scene } from "./scene.ts";

/** Ends a fault. */
export type Remedy = () => Promise<void> | void;

/** Something that goes wrong around the reconciler. */
export interface Fault {
  name: string;
  /** Begins it, and gives what ends it. It pushes what it has to push; else the matrix pushes an edit of `edited`. */
  begin(scene: Scene): Promise<Remedy> | Remedy;
  /**
   * The reason that a condition gives meanwhile, or one of them: of the source, or of the pipeline `of`. Absent where it
   * heals at once.
   */
  told?: string | readonly string[];
  of?: string;
  /** A file under the watched path that is named as not read. */
  skipped?: string;
  /** It pushes by itself. */
  pushes?: true;
  /** Whether the revision that is pushed is applied although the fault lasts. */
  isHarmless?: true;
  /** Lifecycle calls that it may cause besides `tag edited`, such as `resume kept-1`. */
  calls?: readonly `${Call} ${string}`[];
  /** It asks for a terminate by a commit. */
  terminates?: true;
  /** Pipelines that it takes from their senders for a while. */
  interrupts?: readonly string[];
}
