import { Event } from "../../../engine/core/batch.ts";
import type { Source } from "../../../engine/core/source.ts";

/** What becomes of a model's event: a row, or dead at one of the places where events die; `even` ones are filtered out by even revisions. */
export type Fate = "row" | "transform" | "encoder" | "server" | "even";

export interface ModelEvent {
  /** Its position, from 1. */
  id: number;
  key: string;
  fate: Fate;
  /** The partition of the table that its row belongs to. */
  partition: number;
}

export function modelEvent(event: Event): ModelEvent {
  return event.value as unknown as ModelEvent;
}

/** A source in memory: its events stay, but for those that a termination dropped. */
export class ModelSource implements Source {
  readonly events: (Event | undefined)[] = [];
  readonly #wakes = new Set<() => void>();

  get end(): number {
    return this.events.length;
  }

  push(list: readonly Omit<ModelEvent, "id">[]): void {
    for (const one of list) {
      const id = this.events.length + 1;
      this.events.push(new Event(id, 0, Buffer.from(JSON.stringify({ id, ...one }))));
    }
    for (const wake of this.#wakes) wake();
  }

  /** Forgets the events behind a position. */
  drop(position: number): void {
    this.events.fill(undefined, position);
  }

  read(position: number, limit: number): Promise<Event[]> {
    const found = this.events.slice(position - 1).filter((event) => event !== undefined);
    return Promise.resolve(found.slice(0, limit));
  }

  wait(position: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    if (position <= this.end || until !== undefined || signal.aborted) {
      return new Promise((resolve) => setImmediate(resolve));
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
