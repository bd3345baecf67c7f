import type { Side } from "../../../engine/join/buffered-events.ts";

/** An event on its way into a join. */
export interface ModelArrival {
  side: Side;
  key: string;
  value: number;
}

type Waiting = ModelArrival & { time: number };

/**
 * What a temporal join means, as short as it can be said: an inner join by arrival. A left event takes the newest right one
 * of its key, or waits for the next; windows end by the clock of the steps, for good. That clock stands still while it would
 * run backwards, unless it was set back by more than an hour.
 */
export class JoinModel {
  windows: Readonly<Record<Side, number>>;
  /** All rows, in their order: `left:right`. */
  readonly rows: string[] = [];
  lefts: Waiting[] = [];
  rights = new Map<string, Waiting>();
  now = 0;

  constructor(windows: Readonly<Record<Side, number>>) {
    this.windows = windows;
  }

  /** Other windows: what waits is forgotten. */
  edit(windows: Readonly<Record<Side, number>>): void {
    this.windows = windows;
    this.lefts = [];
    this.rights.clear();
  }

  step(at: number, arrivals: readonly ModelArrival[]): void {
    const isSetBack = at < this.now - 3_600_000;
    const clock = isSetBack ? at : Math.max(at, this.now);
    this.now = clock;
    for (const event of [...this.lefts, ...this.rights.values()]) event.time = Math.min(event.time, clock);
    const isWaiting = ({ side, time }: Waiting): boolean =>
      this.windows[side] === 0 || time + this.windows[side] > clock;
    this.lefts = this.lefts.filter(isWaiting);
    this.rights = new Map([...this.rights].filter(([, right]) => isWaiting(right)));
    for (const arrival of arrivals) {
      const event = { ...arrival, time: clock };
      const right = this.rights.get(event.key);
      if (event.side === "right") {
        this.rights.set(event.key, event);
        for (const left of this.lefts) if (left.key === event.key) this.rows.push(`${left.value}:${event.value}`);
        this.lefts = this.lefts.filter(({ key }) => key !== event.key);
      } else if (right === undefined) this.lefts.push(event);
      else this.rows.push(`${event.value}:${right.value}`);
    }
  }
}
