import type { Engine } from "../../../engine/index.ts";
import type { AppliedEngine } from "../../../reconciler/apply/carry-out.ts";
import { lifecycleCalls, type Call } from "../../../reconciler/plan/calls.ts";

/** A lifecycle call that was made, and when: milliseconds since the epoch. */
export interface Witnessed {
  call: Call;
  pipeline_id: string;
  at: number;
  /** Whether it had its effect. */
  result: "under way" | "success" | "error";
}

/** Is asked before a call, or after it had its effect; throws to make it fail, waits to hold it up. */
export type Intervention = (call: Call, pipeline_id: string) => Promise<void> | void;

const lifecycle: ReadonlySet<unknown> = new Set(lifecycleCalls);

/** A real engine whose lifecycle calls are noted, and may be disturbed. */
export class WitnessedEngine {
  readonly calls: Witnessed[] = [];
  before: Intervention = () => undefined;
  after: Intervention = () => undefined;
  readonly engine: AppliedEngine;

  constructor(engine: Engine) {
    this.engine = new Proxy(engine, {
      get: (real, name) => {
        const member: unknown = Reflect.get(real, name, real);
        if (typeof member !== "function") return member;
        if (!lifecycle.has(name)) return member.bind(real) as unknown;
        return (...given: unknown[]) =>
          this.#make(name as Call, given, () => Reflect.apply(member, real, given) as Promise<unknown>);
      },
    });
  }

  /** Lets everything pass again. */
  calm(): void {
    this.before = this.after = () => undefined;
  }

  async #make(call: Call, [first]: unknown[], make: () => Promise<unknown>): Promise<unknown> {
    const pipeline_id = typeof first === "string" ? first : (first as { pipeline_id: string }).pipeline_id;
    await this.before(call, pipeline_id);
    const witnessed: Witnessed = { call, pipeline_id, at: Date.now(), result: "under way" };
    this.calls.push(witnessed);
    try {
      const answer = await make();
      witnessed.result = "success";
      await this.after(call, pipeline_id);
      return answer;
    } catch (error) {
      if (witnessed.result === "under way") witnessed.result = "error";
      throw error;
    }
  }
}
